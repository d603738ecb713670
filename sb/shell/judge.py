"""The judge of one command line, as the handlers of programs see it; `judging.LineJudge` implements it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from sb.shell.handlers.script_files import ScriptFiles
from sb.shell.parsing.inputs import NOTHING, Input
from sb.shell.parsing.nodes import Script
from sb.shell.places.paths import Paths
from sb.shell.programs.rules import Finding


class Judge(Protocol):
    """The judge of one line: its state, and what a handler may ask of it and report to it.

    Attributes:
        repeats: whether the line may run a part of itself again, as loops, functions and traps do.
        writes: the absolute paths that the line writes, as far as they are known.
        asked: why a person has to agree to the line, whatever comes back of what it changes, or "".
        guesses: whether code counts that reads credentials and uses the network, wherever it sends what.
        inline: whether a part of it is code in another language, of which some effects may not be seen.
        given_variables: follows a program that is given secrets as variables; see `secret_texts.TextTrail`.
        values: the values that each variable may have by now.
        programs: those that the line calls, for display.
        touched: absolute paths that the line has written so far, as far as they are known.
        links: links that the line makes to folders which hold a protected place.
        settled: whether no command so far changed a file or took a while.
        comes_back: whether what a command harms does, so that it counts as if it wrote files.
        several: whether a word of the current command stands for several values of a variable.
        depth: how many lines this one lies in.
    """

    repeats: bool
    guesses: bool
    inline: bool
    writes: list[str]
    asked: str
    given_variables: Callable[..., AbstractContextManager[bool]]
    paths: Paths
    scripts: ScriptFiles
    values: dict[str, list[str]]
    functions: set[str]
    aliases: set[str]
    programs: list[str]
    touched: set[str]
    links: list[str]
    settled: bool
    comes_back: Callable[[Sequence[str]], bool]
    several: bool
    depth: int

    @property
    def renames(self) -> bool:
        """True if the line gives names of programs another meaning."""
        ...

    def expand(self, text: str) -> list[str]:
        """The texts that a word can become by now."""
        ...

    def line(self, text: str, stdin: Input = NOTHING) -> Finding:
        """Judge a command line inside of this one.

        Raises:
            Unparsed: it, or one inside of it, cannot be parsed.
        """
        ...

    def script(self, script: Script, stdin: Input = NOTHING) -> Finding:
        """Judge parsed commands, one after the other."""
        ...

    def command(self, argv: Sequence[str], stdin: Input = NOTHING) -> Finding:
        """Judge a program with its arguments, given as expanded words."""
        ...

    def assign(self, name: str, text: str, *, made: bool = False) -> Finding:
        """Give a variable one more value; `made`: a file or folder that the line itself makes."""
        ...

    def go(self, word: str) -> None:
        """Enter another folder."""
        ...

    def write(self, target: str, by: str, *, whole: bool = True, replaces: bool = True) -> Finding:
        """Judge a write to a path.

        Args:
            whole: not if it is a folder that only gets entries. replaces: what the file holds is gone afterwards.
        """
        ...

    def may_change(self, places: Iterable[str]) -> None:
        """Note absolute paths that something which is not followed may change."""
        ...

    def replace(self, places: Iterable[str] | None, *, deletes: bool = False) -> None:
        """Note absolute paths whose content may be gone afterwards; None if not all are known."""
        ...

    def look(self, word: str) -> None:
        """Refuse the line if a word names a protected path."""
        ...

    def refuse(self, why: str) -> None:
        """Refuse the whole line; the first reason stays."""
        ...

    def downloaded(self, word: str) -> None:
        """Note a file that the line has from the network."""
        ...

    def written_script(self, word: str, by: str = "") -> Input | None:
        """The text that the line has written to a script which it runs; None if it has not written it."""
        ...

    def names_in(self, word: str) -> list[str]:
        """The names of credentials and of protected places that a file lists, as far as it is known."""
        ...

    def stays(self, place: str) -> bool:
        """True if no command of the line so far is known to have written to a path."""
        ...
