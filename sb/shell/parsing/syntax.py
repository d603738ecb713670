"""Parse a command line.

It reads what bash, and sh, read. What it does not understand it refuses with `Unparsed`, so that nobody takes it for harmless.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from sb.shell.parsing.computed import one_of
from sb.shell.parsing.nodes import Compound, Node, Pipeline, Redirect, Script, Simple, Unparsed, Word
from sb.shell.parsing.reading import ASSIGNED, NAME, WordReader, forbidden
from sb.shell.parsing.words import BRACKET, CLOSE, COMMA, OPEN, QUESTION, STAR, UNKNOWN, compiled, display

# What bash -c takes on Linux in one argument; what is longer could not be run.
LONGEST = 128 * 1024
_REDIRECT = re.compile(r"(?:\d+|\{[A-Za-z_]\w*\})?(<<<|<<-|<<|<>|<&|<|>>|>\||>&|>)|&>>|&>", re.ASCII)
_COPROCESS = r"([A-Za-z_]\w*)[ \t]+[{(]"
_CLOSERS = frozenset(("then", "elif", "else", "fi", "do", "done", "esac", "}"))
_RESERVED = re.compile(r"(?:[a-z!{}\[\]-]|\\\n){1,64}(?![^ \t\n|&;<>()])")
_ELEMENT = f"^{BRACKET}[^]]{{0,60}}]="  # `[0]=` before an item of a list
_RAW = str.maketrans({OPEN: "{", COMMA: ",", CLOSE: "}", STAR: "*", QUESTION: "?", BRACKET: "["})


def parse(text: str, depth: int = 0) -> Script:
    """The commands of a line, or of several.

    Args:
        depth: how many command lines this one is inside of.

    Raises:
        Unparsed: it is too long, too deep, or not what bash would read.
    """
    if len(text) > LONGEST:
        raise Unparsed(f"longer than {LONGEST // 1024} KiB")
    if char := forbidden(text):
        raise Unparsed(f"has the control character U+{ord(char):04X}")
    parser = Parser(text, depth)
    script = parser.script("")
    if parser.at < len(text):
        raise Unparsed(f"{display(text[parser.at :], 20)!r} is unexpected")
    return script


class _Heredoc(NamedTuple):
    delimiter: str
    quoted: bool
    strips_tabs: bool
    redirect: Redirect


class Parser(WordReader):
    """Reads from `at` on; each method moves `at` past what it has read."""

    def __init__(self, text: str, depth: int) -> None:
        super().__init__(text, depth)
        self.heredocs: list[_Heredoc] = []

    def nested(self, text: str) -> Script:
        return parse(text, self.depth)

    # --- lists and pipelines

    def script(self, closer: str) -> Script:
        """Commands up to the end, to `closer` or to a reserved word that closes."""
        self.deeper()
        nodes: list[Node] = []
        waits = len(self.heredocs)
        while True:
            self._lines()
            if self._ends(closer):
                break
            nodes.append(self._list(closer))
            if self._char() in ("&", ";") and not self.text.startswith((";;", ";&"), self.at):
                if self._char() == "&":
                    nodes[-1] = Compound("&", "", (), (nodes[-1],), ())
                self.at += 1
            elif self._char() != "\n":
                break
        if closer in (")", "") and len(self.heredocs) > waits:
            raise Unparsed("a here-document has no text")
        self.depth -= 1
        return tuple(nodes)

    def _ends(self, closer: str) -> bool:
        char = self._char()
        if not char or (closer == ")" and char == ")") or self.text.startswith((";;", ";&"), self.at):
            return True
        return closer not in ("", ")") and self._peek() in _CLOSERS

    def _list(self, closer: str) -> Node:
        """Commands that `&&` and `||` join; its kind is `&&` if each runs only when the one before it has succeeded."""
        nodes = [self._pipeline()]
        kind = "&&"
        while self.text.startswith(("&&", "||"), self.at):
            kind = "||" if self._char() == "|" else kind
            self.at += 2
            self._lines()
            if self._ends(closer):
                raise Unparsed("a command is missing after && or ||")
            nodes.append(self._pipeline())
        return nodes[0] if len(nodes) == 1 else Compound(kind, "", (), tuple(nodes), ())

    def _pipeline(self) -> Node:
        parts = [self._command()]
        while True:
            self._blanks()
            if self._char() != "|" or self.text.startswith("||", self.at):
                break
            self.at += 2 if self.text.startswith("|&", self.at) else 1
            self._lines()
            parts.append(self._command())
        return parts[0] if len(parts) == 1 else Pipeline(tuple(parts))

    def _command(self) -> Node:
        self._blanks()
        char = self._char()
        if char == "(":
            return self._parenthesis()
        word = self._peek()
        if word in ("!", "time"):
            self._expect(word)
            self.count()
            if self._peek() in ("!", "time"):
                raise Unparsed(f"{word} stands before {self._peek()}")
            if word == "time" and self._peek() == "-p":
                self._expect("-p")
            node = (
                self._command() if self._char() not in ("", "\n", ";", "&", "|", ")") else Simple((), (), ())
            )
            # What `!` stands before says the opposite of a test.
            return Compound("{", "", (), (node,), ()) if word == "!" else node
        compound = _COMPOUNDS.get(word)
        if compound is None:
            if word in _CLOSERS:
                raise Unparsed(f"{word!r} is unexpected")
            return self._simple()
        self.deeper()
        node = compound(self, word)
        self.depth -= 1
        return node

    def _simple(self) -> Node:
        assigned: list[tuple[str, Word]] = []
        words: list[Word] = []
        redirects: list[Redirect] = []
        while True:
            self._blanks()
            if self._redirect(redirects):
                continue
            if self._char() in ("", "\n", ";", "&", "|", ")"):
                break
            if self._char() == "(":
                if len(words) == 1 and not assigned and not redirects:
                    return self._function(words[0].raw)
                raise Unparsed("'(' is unexpected")
            name = ASSIGNED.match(self.text, self.at) if not words else None
            if name:
                self.at = name.end()
                assigned.append((name[1], self.value()))
            else:
                words.append(self._word())
        if not (assigned or words or redirects):
            raise Unparsed("a command is missing")
        return Simple(tuple(assigned), tuple(words), tuple(redirects))

    def value(self) -> Word:
        """The assigned value: a word, nothing, or a list in parentheses."""
        if self._char() != "(":
            return self._word(may_be_empty=True)
        self.deeper()
        self.at += 1
        scripts: list[Node] = []
        items: list[str] = []
        while True:
            self._lines()
            if self._char() == ")":
                self.at += 1
                self.depth -= 1
                return Word(one_of(items), (tuple(scripts),) if scripts else ())
            word = self._word()
            items.append(compiled(_ELEMENT).sub("", word.text, count=1))
            for script in word.scripts:
                scripts += script

    # --- compounds

    def _parenthesis(self) -> Node:
        self.deeper()
        if self.text.startswith("((", self.at):
            self.at += 2
            word = Word("", tuple(self._arithmetic()))
            node = Compound("((", "", (word,), (), self._redirects())
        else:
            self.at += 1
            body = self._filled(self.script(")"))
            self._take(")")
            node = Compound("(", "", (), body, self._redirects())
        self.depth -= 1
        return node

    def _group(self, word: str) -> Node:
        self._expect("{")
        body = self._filled(self.script("}"))
        self._expect("}")
        return Compound("{", "", (), body, self._redirects())

    def _condition(self, word: str) -> Node:
        self._expect("if")
        bodies = [*self._filled(self.script("then"))]
        tested = len(bodies)
        self._expect("then")
        bodies += self._filled(self.script("fi"))
        otherwise = "else" if tested > 1 else ""
        first = len(bodies)
        while self._peek() == "elif":
            self._expect("elif")
            bodies += self._filled(self.script("then"))
            self._expect("then")
            bodies += self._filled(self.script("fi"))
        otherwise = "else" if len(bodies) > first else otherwise
        if self._peek() == "else":
            self._expect("else")
            bodies += self._filled(self.script("fi"))
            otherwise = "else"
        self._expect("fi")
        return Compound("if", otherwise, (), tuple(bodies), self._redirects())

    def _while(self, word: str) -> Node:
        self._expect(word)
        bodies = self._filled(self.script("do")) + self._do()
        return Compound("while", "", (), bodies, self._redirects())

    def _do(self) -> Script:
        self._expect("do")
        body = self._filled(self.script("done"))
        self._expect("done")
        return body

    def _for(self, word: str) -> Node:
        self._expect(word)
        self._blanks()
        words: list[Word] = []
        name = ""
        if self.text.startswith("((", self.at):
            self.at += 2
            words.append(Word("", tuple(self._arithmetic(semicolons=True))))
        else:
            found = NAME.match(self.text, self.at)
            if not found:
                raise Unparsed(f"{word} has no variable")
            name = found[0]
            self.at = found.end()
            self._lines()
            if self._peek() == "in":
                self._expect("in")
                self._blanks()
                while self._char() not in ("", "\n", ";"):
                    words.append(self._word())
                    self._blanks()
            else:
                words.append(Word(UNKNOWN))
        self._blanks()
        if self._char() == ";":
            self.at += 1
        self._lines()
        return Compound("for", name, tuple(words), self._do(), self._redirects())

    def _case(self, word: str) -> Node:
        self._expect("case")
        self._blanks()
        words = [self._word()]
        self._lines()
        self._expect("in")
        bodies: list[Node] = []
        self._lines()
        while self._peek() != "esac":
            if self._char() == "(":
                self.at += 1
            while True:
                self._blanks()
                words.append(self._word())
                self._blanks()
                if self._char() != "|":
                    break
                self.at += 1
            self._take(")")
            bodies += self.script("esac")
            self._blanks()
            if self.text.startswith((";;", ";&"), self.at):
                self.at += 3 if self.text.startswith(";;&", self.at) else 2
                self._lines()
            elif self._peek() != "esac":
                raise Unparsed("case is not closed")
        self._expect("esac")
        return Compound("case", "", tuple(words), tuple(bodies), self._redirects())

    def _function_word(self, word: str) -> Node:
        self._expect("function")
        self._blanks()
        name = self._word().raw
        return self._function(name, parentheses_optional=True)

    def _function(self, name: str, *, parentheses_optional: bool = False) -> Node:
        self._blanks()
        if self._char() == "(" or not parentheses_optional:
            self._take("(")
            self._blanks()
            self._take(")")
        self._lines()
        body = self._command()
        if not isinstance(body, Compound):
            raise Unparsed(f"the function {display(name, 20)!r} has no body")
        return Compound("function", name, (), (body,), ())

    def _test(self, word: str) -> Node:
        self._expect("[[")
        words: list[Word] = []
        while self._peek() != "]]":
            char = self._char()
            if not char or char == ";" or (char == "&" and not self.text.startswith("&&", self.at)):
                raise Unparsed("[[ is not closed")
            if char == "&":
                self.at += 2
            elif char in "()|<>" and not self.text.startswith(("<(", ">("), self.at):
                self.at += 1
            else:
                words.append(self._word())
            self._lines(comments=False)
        self._expect("]]")
        return Compound("[[", "", tuple(words), (), self._redirects())

    def _coprocess(self, word: str) -> Node:
        self._expect("coproc")
        self._blanks()
        name = compiled(_COPROCESS, re.ASCII).match(self.text, self.at)
        if name:
            self.at = name.end(1)
        return Compound("coproc", "", (), (self._command(),), ())

    @staticmethod
    def _filled(body: Script) -> Script:
        if not body:
            raise Unparsed("a command is missing")
        return body

    # --- redirections

    def _redirects(self) -> tuple[Redirect, ...]:
        redirects: list[Redirect] = []
        self._blanks()
        while self._redirect(redirects):
            self._blanks()
        return tuple(redirects)

    def _redirect(self, redirects: list[Redirect]) -> bool:
        found = _REDIRECT.match(self.text, self.at)
        operator = (found[1] or found[0]) if found else ""
        if not found or (operator in "<>" and self.text.startswith("(", found.end())):
            return False
        self.at = found.end()
        if operator != "<" and self._char() == "!":
            raise Unparsed(f"{operator}! is unexpected")
        self._blanks()
        target = self._word()
        redirect = Redirect(operator, target)
        redirects.append(redirect)
        if operator in ("<<", "<<-"):
            quoted = any(quote in target.raw for quote in "'\"\\")
            if quoted and "$" in target.raw:
                raise Unparsed("the end of a here-document is quoted or expanded")
            delimiter = target.text if quoted else target.raw
            delimiter = delimiter.translate(_RAW)
            self.heredocs.append(_Heredoc(delimiter, quoted, operator == "<<-", redirect))
        return True

    def _bodies(self) -> None:
        """Read the texts of the pending here-documents after a line break."""
        waiting, self.heredocs = self.heredocs, []
        for heredoc in waiting:
            body = self._body(heredoc)
            heredoc.redirect.body = Word(body) if heredoc.quoted else Parser(body, self.depth).quoted("")

    def _body(self, heredoc: _Heredoc) -> str:
        lines: list[str] = []
        while self.at < len(self.text):
            pieces = [self._text_line(heredoc)]
            # bash joins a line that ends in a backslash with the next one before it looks for the end.
            while not heredoc.quoted and _joins(pieces[-1]) and self.at < len(self.text):
                pieces[-1] = pieces[-1][:-1]
                pieces.append(self._text_line(heredoc))
            line = "".join(pieces)
            if line == heredoc.delimiter:
                return "\n".join(lines)
            lines.append(line)
        raise Unparsed("a here-document has no end")

    def _text_line(self, heredoc: _Heredoc) -> str:
        end = self.text.find("\n", self.at)
        end = len(self.text) if end < 0 else end
        line = self.text[self.at : end]
        self.at = min(end + 1, len(self.text))
        return line.lstrip("\t") if heredoc.strips_tabs else line

    # --- between commands

    def _lines(self, *, comments: bool = True) -> None:
        """Over blanks and line breaks; the texts of here-documents stand behind the first one."""
        while True:
            if comments or self._char() != "#":
                self._blanks()
            if self._char() != "\n":
                return
            self.at += 1
            if self.heredocs:
                self._bodies()

    def _peek(self) -> str:
        """The next word as it is written, if it may be a reserved word."""
        self._blanks()
        found = _RESERVED.match(self.text, self.at)
        return found[0].replace("\\\n", "") if found else ""

    def _expect(self, word: str) -> None:
        if self._peek() != word:
            raise Unparsed(f"{word!r} is missing")
        found = _RESERVED.match(self.text, self.at)
        self.at = found.end() if found else self.at


_COMPOUNDS = {
    "{": Parser._group,
    "if": Parser._condition,
    "while": Parser._while,
    "until": Parser._while,
    "for": Parser._for,
    "select": Parser._for,
    "case": Parser._case,
    "function": Parser._function_word,
    "[[": Parser._test,
    "coproc": Parser._coprocess,
}


def _joins(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1
