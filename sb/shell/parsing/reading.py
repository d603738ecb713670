"""Parser of one word of a command line: quotes, escapes, expansions."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod

from sb.shell.parsing.computed import alternatives, one_of
from sb.shell.parsing.nodes import Script, Unparsed, Word
from sb.shell.parsing.outputs import output
from sb.shell.parsing.words import (
    BRACKET,
    CLOSE,
    COMMA,
    END_VARIABLE,
    OPEN,
    OPERAND,
    QUESTION,
    SPLIT_VARIABLE,
    STAR,
    UNKNOWN,
    VARIABLE,
    compiled,
    display,
)

_DEEPEST = 24
_MOST_PARTS = 10_000
ASSIGNED = re.compile(r"([A-Za-z_]\w*)(?:\[[\w@*]{1,60}\])?\+?=", re.ASCII)
NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_FORBIDDEN = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
_BLANKS = re.compile(r"(?:[ \t]|\\\n|(?:(?<=[ \t\n;&|()])|\A)#[^\n]*)*")
_ORDINARY = re.compile(r"[^ \t\n|&;<>()'\"\\$`*?\[{},]+")
_IN_QUOTES = r"[^\"\\$`]+"
_IN_BODY = r"[^\\$`]+"
_IN_ARITHMETIC = r"[^\"'\\$`()*?\[{},]+"
_IN_BRACES = r"[^\"'\\$`}]+"
_INVISIBLE = "[\u00a0\u00ad\u034f\u115f\u1160\u1680\u180e\u2000-\u200d\u2028\u2029\u202f\u205f-\u2064\u3000\u3164\ufeff\uffa0]"
_LIKE_AN_OPTION = "[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]+\\w"
_SPECIAL = {"{": OPEN, ",": COMMA, "}": CLOSE, "*": STAR, "?": QUESTION, "[": BRACKET}
_PARAMETERS = tuple("0123456789@*#?$!-")
_ANSI = r"\$'([^'\\]*(?:\\.[^'\\]*)*)'"
_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", "'": "'", '"': '"', "?": "?"}
_ESCAPE = r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|c(.)|(.))"
# A command in a text that arithmetic reads: it runs it to find an element of a list.
RUN_BY_ARITHMETIC = r"\[[^\]]*(?:\$\(|`)"
_UNSEEN = "\ufffd"


def forbidden(text: str) -> str:
    """The first character that no command line needs: a control, a direction mark, half a character."""
    if text.replace("\n", "").replace("\t", "").isprintable():
        return ""
    found = compiled(_FORBIDDEN).search(text)
    return found[0] if found else ""


class WordReader(ABC):
    """Reads from `at` on; each method moves `at` past what it has read."""

    def __init__(self, text: str, depth: int) -> None:
        self.text = text
        self.at = 0
        self.depth = depth
        self._parts = 0

    @abstractmethod
    def script(self, closer: str) -> Script:
        """The commands of a substitution, up to `closer`."""

    @abstractmethod
    def value(self) -> Word:
        """The assigned value, with the parentheses of a list."""

    @abstractmethod
    def nested(self, text: str) -> Script:
        """The commands of a text of its own, such as that of backticks."""

    def deeper(self) -> None:
        """Count one more level.

        Raises:
            Unparsed: there are too many.
        """
        self.count()
        self.depth += 1
        if self.depth > _DEEPEST:
            raise Unparsed("nested too deeply")

    # --- words

    def count(self) -> None:
        """Count one more part.

        Raises:
            Unparsed: there are too many.
        """
        self._parts += 1
        if self._parts > _MOST_PARTS:
            raise Unparsed("too many parts to check")

    def _word(self, *, may_be_empty: bool = False) -> Word:
        text: list[str] = []
        scripts: list[Script] = []
        self.count()
        start = self.at
        while self.at < len(self.text):
            found = _ORDINARY.match(self.text, self.at)
            if found:
                if not found[0].isascii() and (
                    compiled(_INVISIBLE).search(found[0])
                    or (not text and compiled(_LIKE_AN_OPTION).match(found[0]))
                ):
                    raise Unparsed("a look-alike of a blank or dash, or an invisible character")
                text.append(found[0])
                self.at = found.end()
                continue
            char = self.text[self.at]
            if char in "<>" and self.text.startswith("(", self.at + 1):
                self.at += 2
                scripts.append(self.script(")"))
                self._take(")")
                text.append(OPERAND)
            elif char == "(" and ASSIGNED.fullmatch(self.text, start, self.at):
                value = self.value()
                text.append(value.text)
                scripts += value.scripts
            elif char in " \t\n|&;<>()":
                break
            else:
                self._piece(char, text, scripts)
        if self.at == start and not may_be_empty:
            raise Unparsed(f"{display(self.text[start : start + 10]) or 'a word'!r} is unexpected")
        raw = self.text[start : self.at].replace("\\\n", "")
        return Word("".join(text), tuple(scripts), raw)

    def _piece(self, char: str, text: list[str], scripts: list[Script]) -> None:
        """A part that a quote, backslash, dollar sign, pattern character or brace begins."""
        if char == "'":
            text.append(self._until("'"))
        elif char == '"':
            self.at += 1
            word = self.quoted('"')
            text.append(word.text)
            scripts += word.scripts
        elif char == "\\":
            following = self.text[self.at + 1 : self.at + 2]
            if not following:
                raise Unparsed("ends in a backslash")
            text.append("" if following == "\n" else following)
            self.at += 2
        elif char in "$`":
            self._dollar(text, scripts, SPLIT_VARIABLE)
        else:
            text.append(_SPECIAL[char])
            self.at += 1

    def _until(self, quote: str) -> str:
        end = self.text.find(quote, self.at + 1)
        if end < 0:
            raise Unparsed("a quote is not closed")
        inner = self.text[self.at + 1 : end]
        self.at = end + 1
        return inner

    def quoted(self, closer: str) -> Word:
        """The text between double quotes, or of a here-document (an empty closer)."""
        text: list[str] = []
        scripts: list[Script] = []
        run = compiled(_IN_QUOTES if closer else _IN_BODY)
        escapable = '$`"\\' if closer else "$`\\"
        while self.at < len(self.text):
            found = run.match(self.text, self.at)
            if found:
                text.append(found[0])
                self.at = found.end()
                continue
            char = self.text[self.at]
            if char == '"':
                self.at += 1
                return Word("".join(text), tuple(scripts))
            if char == "\\":
                following = self.text[self.at + 1 : self.at + 2]
                text.append(
                    "" if following == "\n" else following if following in escapable else char + following
                )
                self.at += 2
            else:
                self._dollar(text, scripts, VARIABLE)
        if closer:
            raise Unparsed("a double quote is not closed")
        return Word("".join(text), tuple(scripts))

    def _dollar(self, text: list[str], scripts: list[Script], variable: str) -> None:
        """An expansion: of a command, of arithmetic, of a variable; or a string with escapes."""
        self.count()
        rest = self.text[self.at : self.at + 3]
        if rest[0] == "`":
            scripts.append(self._backticks(in_quotes=variable == VARIABLE))
            text.append(alternatives(scripts[-1]) or UNKNOWN)
        elif rest == "$((":
            self.at += 3
            scripts += self._arithmetic()
            text.append(UNKNOWN)
        elif rest.startswith("$("):
            self.at += 2
            scripts.append(self.script(")"))
            self._take(")")
            text.append(output(scripts[-1]))
        elif rest.startswith("${"):
            self._parameter(text, scripts, variable)
        elif rest.startswith(("$[", "$=", "$^")):
            raise Unparsed(f"{rest[:2]} is not supported")
        elif rest.startswith("$'") and variable == SPLIT_VARIABLE:
            text.append(self._ansi())
        elif rest.startswith('$"') and variable == SPLIT_VARIABLE:
            self.at += 1
        else:
            self._variable(text, variable)

    def _variable(self, text: list[str], variable: str) -> None:
        name = NAME.match(self.text, self.at + 1)
        if name:
            text.append(variable + name[0] + END_VARIABLE)
            self.at = name.end()
        elif self.text[self.at + 1 : self.at + 2] in _PARAMETERS:
            text.append(f"{variable}{self.text[self.at + 1]}{END_VARIABLE}")
            self.at += 2
        else:
            text.append("$")
            self.at += 1

    def _parameter(self, text: list[str], scripts: list[Script], variable: str) -> None:
        """`${…}`: a variable, or something made of one."""
        self.deeper()
        self.at += 2
        name = NAME.match(self.text, self.at)
        if name:
            self.at = name.end()
            if self._char() == "}":
                text.append(variable + name[0] + END_VARIABLE)
                self.at += 1
                self.depth -= 1
                return
        elif self._char() not in _PARAMETERS:
            raise Unparsed("${ is not supported")
        start = self.at
        inner: list[str] = []
        while self._char() != "}":
            # Whether a single quote quotes there depends on what the expansion does.
            if variable == VARIABLE and self.text.startswith(("'", "$'"), self.at):
                raise Unparsed("${ has a single quote between double quotes")
            self._inside(_IN_BRACES, inner, scripts)
        if self.text.startswith("@P", start):
            raise Unparsed("${…@P} runs the value of a variable")
        self.at += 1
        self.depth -= 1
        operation = "".join(inner)
        if (
            operation[:1] == ":"
            and operation[1:2] not in ("-", "=", "+", "?")
            and compiled(RUN_BY_ARITHMETIC).search(operation)
        ):
            raise Unparsed("${ may run a quoted command")
        default = operation.lstrip(":")[1:] if operation.lstrip(":")[:1] in ("-", "=", "+") else ""
        from sb.shell.parsing.derived import operation as followed  # few lines need it

        done = followed(operation) if name and not default else None
        if name and done is not None:
            default = variable + name[0] + done + END_VARIABLE
        text.append(one_of([default]) if default else UNKNOWN)

    def _inside(self, pattern: str, text: list[str], scripts: list[Script]) -> None:
        """A part inside `${…}` or arithmetic."""
        found = compiled(pattern).match(self.text, self.at)
        if found:
            text.append(found[0])
            self.at = found.end()
        elif not self._char():
            raise Unparsed("'$' is not closed")
        else:
            self._piece(self._char(), text, scripts)

    def _arithmetic(self, *, semicolons: bool = False) -> list[Script]:
        """Up to `))`; what it calculates does not matter, the commands in it do."""
        scripts: list[Script] = []
        text: list[str] = []
        open_parentheses = 0
        self.deeper()
        while True:
            char = self._char()
            if char == ")" and not open_parentheses:
                break
            if self.text.startswith(("'", "$'"), self.at):
                raise Unparsed("(( has a single quote, which does not quote there")
            if char in ("(", ")"):
                open_parentheses += 1 if char == "(" else -1
                self.at += 1
            else:
                self._inside(_IN_ARITHMETIC, text, scripts)
        if not self.text.startswith("))", self.at):
            raise Unparsed("(( is not closed by ))")
        if not semicolons and (";" in "".join(text) or "\n" in "".join(text)):
            raise Unparsed("(( contains commands")
        if compiled(RUN_BY_ARITHMETIC).search("".join(text)):
            raise Unparsed("(( runs a quoted command")
        self.at += 2
        self.depth -= 1
        return scripts

    def _backticks(self, *, in_quotes: bool) -> Script:
        at = self.at + 1
        end = -1
        inner: list[str] = []
        while True:
            end = end if end >= at else self.text.find("`", at)
            if end < 0:
                raise Unparsed("a backtick is not closed")
            slash = self.text.find("\\", at, end)
            if slash < 0:
                inner.append(self.text[at:end])
                break
            following = self.text[slash + 1]
            inner.append(self.text[at:slash])
            inner.append(following if following in ('$`\\"' if in_quotes else "$`\\") else "\\" + following)
            at = slash + 2
        self.at = end + 1
        return self.nested("".join(inner))

    def _ansi(self) -> str:
        """`$'…'`, with its escapes decoded."""
        found = compiled(_ANSI, re.DOTALL).match(self.text, self.at)
        if not found:
            raise Unparsed("a quote is not closed")
        self.at = found.end()
        return compiled(_ESCAPE, re.DOTALL).sub(_escaped, found[1])

    # --- characters

    def _char(self) -> str:
        return self.text[self.at : self.at + 1]

    def _take(self, char: str) -> None:
        self._blanks()
        if self._char() != char:
            raise Unparsed(f"{char!r} is missing")
        self.at += 1

    def _blanks(self) -> None:
        """Over blanks, joined lines, and a comment."""
        if found := _BLANKS.match(self.text, self.at):
            self.at = found.end()


def _escaped(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    number = int(code, 16) if code else int(match[4], 8) & 0xFF if match[4] else -1
    if number == 0:
        raise Unparsed("has the control character U+0000")
    if number > 0:
        char = chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else _UNSEEN
        return char if char in "\n\t" or not forbidden(char) else _UNSEEN
    if match[5]:
        return _UNSEEN
    return _ESCAPES.get(match[6], _UNSEEN if match[6] in "abeEfrv" else "\\" + match[6])
