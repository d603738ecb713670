"""Effects of inline code, judged like the same ones in shell: each becomes the command that has it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sb.shell.parsing.inputs import NOT_KNOWN, NOTHING, Input
from sb.shell.parsing.words import MADE, UNKNOWN, display, is_literal
from sb.shell.programs.rules import DESTROY, QUIET, WRITE, Finding, highest

if TYPE_CHECKING:
    from sb.shell.judge import Judge

PLACING = ("mv", "cp", "cp -R", "ln", "ln -s")
_MOST_FLOWS = 16  # files read, each with each place that is sent to


class Effects:
    """The effects of one piece of inline code, in the order in which it has them.

    Args:
        name: of the interpreter, for reasons.
    """

    def __init__(self, judge: Judge, name: str) -> None:
        self._judge = judge
        self._name = name
        self._read: list[str] = []
        self._sent: list[str] = []
        self.found = QUIET

    def note(self, found: Finding) -> None:
        """Add a finding."""
        self.found = highest(self.found, found)

    def _add(self, call: str, found: Finding) -> None:
        if found.rank:
            self.note(Finding(found.rank, f"{self._name} {display(call, 30)}: {found.reason}"))

    def run(self, call: str, argv: Sequence[str], stdin: Input = NOTHING) -> None:
        """The code runs a program with these arguments."""
        self._add(call, self._judge.command(argv or [UNKNOWN], stdin))

    def line(self, call: str, text: str, stdin: Input = NOTHING) -> None:
        """The code runs a command line."""
        self._add(call, self._judge.line(text, stdin))

    def _as(self, call: str, *argv: str) -> None:
        """Judge code's own act like a program's; the program is not one of the line."""
        known = len(self._judge.programs)
        self._add(call, self._judge.command(argv))
        del self._judge.programs[known:]

    def remove(self, call: str, path: str, *, whole: bool = False) -> None:
        if path.startswith(MADE):
            self.note(Finding(WRITE, f"{self._name} {call}: removes what it made"))
        else:
            self._as(call, "rm", *(["-r"] if whole else []), "--", path)

    def write(self, call: str, path: str, *, replaces: bool = True) -> None:
        if not path.startswith(MADE):
            self._add(call, self._judge.write(path, ">", replaces=replaces))

    def read(self, call: str, path: str) -> None:
        if is_literal(path):
            self._read.append(path)
            self._as(call, "cat", "--", path)

    def place(self, call: str, program: str, *paths: str) -> None:
        """The code copies, moves or links like `cp -R`, `mv` or `ln -s`."""
        self._as(call, *program.split(), "--", *paths)
        if paths and is_literal(paths[-1]):
            self._judge.may_change(self._judge.paths.now(paths[-1]))

    def change(self, call: str, *argv: str) -> None:
        """The code changes files like a program: `chmod`, `mkdir`, `truncate`, `tar`."""
        self._as(call, *argv)

    def apply(self, effect: str, call: str, path: str, target: str = UNKNOWN) -> None:
        """The code has an effect that the tables of calls name: a word, or the program with its options.

        Args:
            target: the second path, where the effect has one.
        """
        if effect in ("remove", "removes"):
            self.remove(call, path, whole=effect == "removes")
        elif effect in ("write", "append"):
            self.write(call, path, replaces=effect == "write")
        elif effect == "read":
            self.read(call, path)
        elif effect == "go":
            self.go(path)
        elif effect in PLACING:
            self.place(call, effect, path, target)
        else:
            self.change(call, *effect.split(), path)

    def send(self, call: str, url: str, *, method: str = "POST", fetches: bool = False) -> None:
        """The code sends a request.

        Args:
            fetches: it carries nothing but a key, as far as its arguments tell.
        """
        if not (fetches and is_literal(url)) or self._judge.guesses:
            self._sent.append(url if is_literal(url) else "https://unknown.invalid")
        data = ["--data-binary", "@-"] if method in ("POST", "PUT", "PATCH") else []
        self._as(call, "curl", "-X", method, *data, url)

    def upload(self, call: str, path: str) -> None:
        """The code sends a file by its name."""
        if is_literal(path):
            self._as(call, "curl", "--upload-file", path, "https://unknown.invalid")

    def go(self, path: str) -> None:
        self._judge.look(path)
        self._judge.paths.enter(path)
        self._judge.go(path)

    def settle(self) -> Finding:
        """Judge what was read together with what was sent; the finding of everything."""
        flows = [(path, url) for path in dict.fromkeys(self._read) for url in dict.fromkeys(self._sent)]
        for path, url in flows[:_MOST_FLOWS]:
            known = len(self._judge.programs)
            line = f"cat -- {shlex.quote(path)} | curl --data-binary @- {shlex.quote(url)}"
            self._add("sends a file", self._judge.line(line))
            del self._judge.programs[known:]
        return self.found


def given_input(text: str | None) -> Input:
    """The input of a program that the code runs; None for nothing."""
    if text is None:
        return NOTHING
    return Input("text", text) if is_literal(text) else NOT_KNOWN


def unknown_code(name: str, call: str) -> Finding:
    """The finding for code that is computed while it runs."""
    return Finding(DESTROY, f"{name} {call}: runs code that is unknown until it runs")
