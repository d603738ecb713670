"""Nodes of a parsed command line."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias


class Unparsed(Exception):
    """A command line that cannot be parsed; the message says why."""


class Word(NamedTuple):
    """A word, as `sb.shell.parsing.words` marks it, and the command substitutions in it."""

    text: str
    scripts: tuple[Script, ...] = ()
    raw: str = ""


class Redirect:
    """A redirection: its operator, its target, and the text of a here-document."""

    __slots__ = ("body", "operator", "target")

    def __init__(self, operator: str, target: Word) -> None:
        self.operator = operator
        self.target = target
        self.body: Word | None = None


class Simple(NamedTuple):
    """Assignments, a program with its arguments, redirections."""

    assigned: tuple[tuple[str, Word], ...]
    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...]


class Compound(NamedTuple):
    """A loop, condition, group, list or function: the commands it may run, in order.

    Args:
        kind: its first word; `&&` or `||` for commands that these join, `&` for what runs in the background. name: of a loop's variable or a function; of `if`, "else" unless one command decides about all that follow. words: that it looks at.
    """

    kind: str
    name: str
    words: tuple[Word, ...]
    bodies: tuple[Node, ...]
    redirects: tuple[Redirect, ...]


class Pipeline(NamedTuple):
    """Commands joined by pipes."""

    parts: tuple[Node, ...]


Node: TypeAlias = Simple | Compound | Pipeline
Script: TypeAlias = tuple[Node, ...]
