"""Judge a command line: the worst of its parts, in the order in which they run."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from functools import partial

from sb.shell.command_judging import CommandJudge
from sb.shell.parsing.inputs import NOT_KNOWN, NOTHING, Input, piped_input, redirected_input, text_of
from sb.shell.parsing.nodes import Compound, Node, Pipeline, Redirect, Script, Simple, Word
from sb.shell.parsing.outputs import file_of, is_made, program_of, sets_up
from sb.shell.parsing.syntax import parse
from sb.shell.parsing.words import (
    BRACKET,
    MADE,
    OPERAND,
    SPLIT_VARIABLE,
    VARIABLE,
    compiled,
    display,
    is_literal,
)
from sb.shell.places.moving import known_folder
from sb.shell.programs.facts import having
from sb.shell.programs.rules import (
    DESTROY,
    NETWORK,
    QUIET,
    WRITE,
    Finding,
    highest,
    subscripts,
)
from sb.shell.programs.targets import unresolved_target

_APPENDING = (">>", "&>>", "<>")
# Options that name a file with names of files.
_FILES_OF_NAMES = ("-a", "--arg-file", "--arg-file=", "-T", "--files-from", "--files-from=")
_OTHER_SHELLS = ("(", "&", "coproc")
_EXISTS = ("-e", "-f", "-s")


class LineJudge(CommandJudge):
    """Judges one command line in the order in which it is written."""

    def line(self, text: str, stdin: Input = NOTHING) -> Finding:
        if not is_literal(text):
            self.commands.understood = False
            return Finding(DESTROY, f"{display(text, 40)}: the commands are unknown until they run")
        self.depth += 1
        found = self.script(parse(text, self.depth), stdin)
        self.depth -= 1
        return found

    def script(self, script: Script, stdin: Input = NOTHING) -> Finding:
        found: list[Finding] = []
        for node in script:
            found.append(self._node(node, stdin))
            self._arrived()
        return highest(*found)

    def again(self, script: Script) -> Finding:
        """Judge the line again with the values that it set: a loop may use first what it sets last."""
        self.keeping.end()
        self.paths.here = self.paths.here if len(self.paths.folders) == 1 else ""
        self.paths.lost = self._lost_again
        return self.script(script)

    def _arrived(self) -> None:
        if self._doubtful:
            self.paths.here, self._doubtful = "", False

    def _apart(self, nodes: Sequence[Node], stdin: Input, *, comes_back: bool) -> Finding:
        """Judge commands that may not all run, or run in a subshell, which `comes_back` by itself."""
        here, lost, _ = before = self.paths.position
        found: list[Finding] = []
        self._doubtful = self._doubtful and not comes_back  # it begins where the line surely is
        for node in nodes:
            found.append(self._node(node, stdin))
            if comes_back:
                self._arrived()
            elif self.paths.here != here:
                self.paths.here, self.paths.lost = "", lost or self.paths.lost
        self.paths.position = before if comes_back else self.paths.position
        self._doubtful = False
        return highest(*found)

    def _scripts(self, words: Sequence[Word]) -> Finding:
        position, changed = self.paths.position, self.keeping.begin_pipe()
        found = QUIET
        for word in words:
            as_file = word.raw.startswith(("<(", ">("))
            for script in word.scripts:
                run = partial(self.script, script)
                found = highest(found, self.trail.substituted(run, as_file=as_file))
        self.paths.position = position
        self.keeping.end_pipe(changed, 2)
        return found

    def _node(self, node: Node, stdin: Input) -> Finding:
        self._count(1)
        if isinstance(node, Pipeline):
            return self.trail.piped(lambda: self._piped(node, stdin))
        if isinstance(node, Compound):
            self.keeping.enter(self, node)
            spared, absent = self.spared, _only_if_absent(node)
            self.spared = {*spared, *self.paths.now(absent)} if absent else spared
            found = self.trail.within(node.redirects, lambda: self._compound(node, stdin))
            self.spared = spared
            self.keeping.leave(node)
            return found
        writes, replaced = len(self.writes), len(self.replaced)
        self._ran, self._replaces_more = QUIET, False
        found = self.trail.simple(node, lambda: self._simple(node, stdin))
        landed = None if self._replaces_more else list(itertools.islice(self.replaced, replaced, None))
        self.keeping.simple(self, node, self._ran, self.writes[writes:], landed)
        return found

    def _piped(self, node: Pipeline, stdin: Input) -> Finding:
        found = QUIET
        changed = self.keeping.begin_pipe()
        for part in node.parts:  # each is a shell of its own; in zsh the last one is not
            found = highest(found, self._apart((part,), stdin, comes_back=False))
            stdin = piped_input(part, self.expand, self._of_processes, stdin)
            self.trail.pass_on()
        self.keeping.end_pipe(changed, len(node.parts))
        return found

    def _compound(self, node: Compound, stdin: Input) -> Finding:
        if node.kind == "function":
            self.functions.add(node.name)
            self.repeats = True
            self._inside.append(node.name)
            position, moves = self.paths.position, self.moves
            found = self._apart(node.bodies, stdin, comes_back=False)
            if self.moves != moves:
                self._goes[node.name] = self.paths.lost
            self.paths.position = position
            self._inside.pop()
            return found
        elif node.kind in ("for", "while"):
            self.repeats = True
        found = self._scripts(node.words)
        if node.kind == "[[":
            found = highest(found, subscripts("[[", [word.text for word in node.words]))
        self.keeping.beside(found)
        if node.kind == "for" and node.words:
            texts = [text for word in node.words for text in self._texts(word)]
            self._count(len(texts))
            for text in texts:
                self.look(text)
            if node.name:
                self._set(node.name, texts)
                self.trail.loop(node)
        for redirect in node.redirects:
            found = highest(found, self._redirect(redirect))
            stdin = redirected_input(redirect, stdin, self.expand)
        self._writes_scripts(node.redirects, NOT_KNOWN)
        if node.kind == "{":
            return highest(self.script(node.bodies, stdin), found)
        if node.kind in ("&&", "||"):
            return highest(self._joined(node, stdin), found)
        lost = self.paths.lost
        found = highest(self._apart(node.bodies, stdin, comes_back=node.kind in _OTHER_SHELLS), found)
        self._lost_again |= node.kind in ("for", "while") and self.paths.lost and not lost
        return found

    def _joined(self, node: Compound, stdin: Input) -> Finding:
        """Judge commands of a list, where only the first surely runs; after `&&` those before have succeeded."""
        found = self._node(node.bodies[0], stdin)
        surely = "" if self._doubtful else self.paths.here
        for body in node.bodies[1:]:
            before = self.paths.here = "" if node.kind == "||" else self.paths.here
            moves = self.moves
            found = highest(found, self._node(body, stdin))
            surely = surely if self.paths.here == before and self.moves == moves else ""
        self.paths.here, self._doubtful = surely, False
        return found

    def _simple(self, node: Simple, stdin: Input) -> Finding:
        found = self._scripts([word for _, word in node.assigned])
        for name, word in node.assigned:
            made = is_made(word) and (not node.words or name not in self.values)
            assigned = self.assign(name, word.text, made=made)
            self.keeping.beside(assigned)
            found = highest(found, assigned)
            if listed := self._listed(word):
                self._set(name, listed)
        self.trail.assign(node)
        if not node.words and any(name == "IFS" for name, _ in node.assigned):
            self._splits_elsewhere = True
        found = highest(found, self._scripts(node.words))
        for redirect in node.redirects:
            found = highest(found, self._redirect(redirect))
            stdin = redirected_input(redirect, stdin, self.expand)
        self._writes_scripts(node.redirects, self._output_of(node))
        if not node.words:
            return found
        self._count(len(node.words))
        if self._removes_made(node.words):
            self.commands.add_effect(*(self.expand(word.text)[0] for word in node.words))
            self._ran = Finding(WRITE, "rm: removes files that the same line made")
            return highest(found, self._ran)
        if (
            not self.renames
            and [word.text for word in node.words[:-1]] == ["eval"]
            and sets_up(node.words[1])
        ):
            self.commands.understood = False
            self._ran = Finding(NETWORK, "eval: sets up the shell with a known program's output")
            return highest(found, self._ran)
        asked = "" if self.renames else program_of(node.words[0])
        first = [asked] if asked else self.expand(node.words[0].text)
        rest = [text for word in node.words[1:] for text in self._texts(word)]
        varying = [word for word in node.words[1:] if VARIABLE in word.text or SPLIT_VARIABLE in word.text]
        vague = [texts for word in varying if len(texts := self.expand(word.text)) > 1]
        self.several = bool(vague)
        self.commands.vague = frozenset(text for texts in vague for text in texts)
        if first[:1] in (["cd"], ["pushd"]) and (folder := known_folder(node.words[-1], self.paths.here)):
            rest = [folder]
        if first == ["kill"]:
            rest = [
                text
                for word in node.words[1:]
                for text in ([OPERAND] if self._of_processes(file_of(word)) else self.expand(word.text))
            ]
        if first and first[0] in having("takes_names"):
            stdin = self._argument_file(node.words) or stdin
        if not first and not rest:
            self._ran = Finding(NETWORK, "runs an unknown program")
            return found
        varies = VARIABLE in node.words[0].text or SPLIT_VARIABLE in node.words[0].text
        choices = range(len(first)) if first and varies else (0,)
        if len(choices) > 1:  # which of them is the program is not told
            self.commands.understood = False
        self._ran = highest(*(self.command([*first[at:], *rest], stdin) for at in choices))
        return highest(self._ran, found)

    @staticmethod
    def _argument_file(words: Sequence[Word]) -> Input | None:
        """The input that `xargs -a <(…)` and `tar -T <(…)` read in place of their own."""
        for before, word in itertools.pairwise(words):
            option, _, value = word.raw.partition("<(")
            if value and (option or before.text) in _FILES_OF_NAMES:
                return text_of(word._replace(raw=f"<({value}"))
        return None

    def _texts(self, word: Word) -> list[str]:
        """The texts that a word can become, and the protected names in a file whose content it is."""
        texts = self.expand(word.text)
        names = self._listed(word)
        return [*texts, *names, *texts[-1:]] if names else texts

    def _listed(self, word: Word) -> list[str]:
        """The protected names in the file whose content a word is."""
        path = file_of(word) if word.scripts else ""
        return self.names_in(path) if path else []

    def _output_of(self, node: Simple) -> Input:
        """The output of a command, as far as the line tells."""
        return piped_input(node, self.expand, self._of_processes) if node.redirects else NOT_KNOWN

    def _writes_scripts(self, redirects: Sequence[Redirect], content: Input) -> None:
        """Note what redirections write to files that the line may run."""
        for redirect in redirects:
            if redirect.operator in (">", ">|", "&>", ">>", "&>>"):
                for target in filter(is_literal, self.expand(redirect.target.text)):
                    places = self.paths.now(target)
                    self.scripts.write(places, content, append=redirect.operator in _APPENDING)

    def _of_processes(self, word: str) -> bool:
        """True if a file in the session's folder holds process ids only, or does not exist."""
        from sb.shell.destinations.listing import holds_processes

        places = self.paths.now(word) if word and is_literal(word) else []
        project = os.path.realpath(self.paths.folders[0]) + "/"
        inside = all(os.path.realpath(place).startswith(project) for place in places)
        return bool(places) and inside and all(map(self.stays, places)) and all(map(holds_processes, places))

    def _removes_made(self, words: Sequence[Word]) -> bool:
        """True if a command removes only files and folders that this line made with `mktemp`."""
        moved = any(program.rpartition("/")[2] == "mv" for program in self.programs)
        if words[0].text != "rm" or moved or self.renames:  # what was moved there is not new
            return False
        named = [word for word in words[1:] if not compiled("-[rf]+").fullmatch(word.text)]
        return bool(named) and all(self._is_made(word) for word in named)

    def _is_made(self, word: Word) -> bool:
        name = word.text[1:-1]
        return word.raw == f'"${name}"' and name in self._made and self.values.get(name) == [MADE]

    def _redirect(self, redirect: Redirect) -> Finding:
        found = self._scripts([redirect.target, *([redirect.body] if redirect.body else [])])
        target = self._redirected(redirect)
        self.keeping.redirect(self, redirect, target)
        return highest(found, target)

    def _redirected(self, redirect: Redirect) -> Finding:
        found = QUIET
        if redirect.operator in ("<<", "<<-", "<<<"):
            return found
        self._count(1)
        targets = self._texts(redirect.target)
        if redirect.operator not in ("<", "<&") and not redirect.target.raw.startswith((">(", "<(")):
            found = unresolved_target(self.paths, targets, redirect.operator)
        for target in targets:
            self.look(target)
            self.settled = self.settled and (target == "/dev/null" or target.isdigit())
            if target.startswith(("/dev/tcp/", "/dev/udp/")) and redirect.operator in (">&", "&>"):
                found = highest(
                    found, Finding(DESTROY, f"{display(target)}: connects a program to the network")
                )
            elif target.startswith(("/dev/tcp/", "/dev/udp/")):
                found = highest(
                    found, Finding(NETWORK, f"{redirect.operator} {display(target)}: talks to the network")
                )
            elif redirect.operator in (">&", "<&") and (
                target.isdigit() or target.rstrip("-").isdigit() or target == "-"
            ):
                continue
            elif redirect.operator not in ("<", "<&") and not redirect.target.raw.startswith((">(", "<(")):
                replaces = redirect.operator not in _APPENDING
                found = highest(found, self.write(target, redirect.operator, replaces=replaces))
                self.commands.add_effect(">", target)
        return found


def _only_if_absent(node: Compound) -> str:
    """The file that is not there when the later commands of a compound run, as of `[ -f x ] || …`; or ""."""
    first = _tested(node.bodies[0]) if node.bodies else []
    if node.kind == "&&" or (node.kind == "if" and not node.name):
        return first[2] if len(first) == 3 and first[0] == "!" and first[1] in _EXISTS else ""
    if node.kind == "||" and len(node.bodies) == 2:
        return first[1] if len(first) == 2 and first[0] in _EXISTS else ""
    return ""


def _tested(node: Node) -> list[str]:
    """The words of a test."""
    if isinstance(node, Compound) and node.kind == "[[":
        words = [word.text for word in node.words]
    elif isinstance(node, Simple) and node.words and node.words[0].text in (BRACKET, "[", "test"):
        words = [word.text for word in node.words[1:]]
        words = words if node.words[0].text == "test" else words[:-1]
    else:
        return []
    return words if all(map(is_literal, words)) else []
