"""A kill: its scope and target, and the calls that it stops."""

from __future__ import annotations

import shlex
from enum import StrEnum
from typing import NamedTuple

from sb.base.secrets.redaction import one_line
from sb.base.text import nearest, plain, revealed_line
from sb.errors import UsageError
from sb.kernel.contracts import SafetyClass

LONGEST_TARGET = 300  # characters


class KillScope(StrEnum):
    """Scope of a kill: everything, or the calls of one agent, tool, safety class or run."""

    GLOBAL = "global"
    AGENT = "agent"
    TOOL = "tool"
    CLASS = "class"
    RUN = "run"


def parse_scope(scope: str, target: str = "") -> tuple[KillScope, str]:
    """Scope and target of what a person typed: ("agent", "clerk") or ("agent:clerk", "").

    Raises:
        UsageError: there is no such scope or class, or the target is missing or one too many.
    """
    word, colon, rest = scope.partition(":")
    if colon and target:
        raise UsageError("the target is given twice", f"{word}:{rest}")
    target = target or rest
    try:
        known = KillScope(word)
    except ValueError:
        shown, near = one_line(word, 40), nearest(word, list(KillScope))
        as_agent = "" if near or colon or target else f"sb kill agent:{quoted(shown)} --reason WHY; or "
        raise UsageError(f"no scope {shown!r}{near}", f"{as_agent}one of {', '.join(KillScope)}") from None
    if (known is KillScope.GLOBAL) == bool(target.strip()):
        hint = "sb kill global" if known is KillScope.GLOBAL else f"such as {known}:NAME"
        raise UsageError(f"{known} {'has no' if target else 'needs a'} target", hint)
    if known is KillScope.CLASS and target not in list(SafetyClass):
        shown, near = one_line(target, 40), nearest(target, list(SafetyClass))
        raise UsageError(f"no safety class {shown!r}{near}", "one of " + ", ".join(SafetyClass))
    if len(target) > LONGEST_TARGET:
        raise UsageError(f"the target has more than {LONGEST_TARGET} characters")
    return known, target


def name_of(scope: str, target: str) -> str:
    """As it is typed: `global`, or `agent:clerk`."""
    return f"{scope}:{target}" if target else str(scope)


def quoted(name: str) -> str:
    """The name of a kill as it is typed in a shell, on one line: what cannot be seen or printed stands escaped."""
    if revealed_line(name) == name:
        return shlex.quote(name)
    escaped = "".join(
        char if char.isascii() and char.isprintable() and char not in "'\\" else f"\\U{ord(char):08x}"
        for char in name
    )
    return f"$'{escaped}'"


class Kill(NamedTuple):
    """One kill in force.

    Args:
        number: of the log's row that says so. at: in ISO 8601.
        signed: whether an operator's key proves who threw it; anybody may.
        people: how many operators have to lift it. lifted_by: those who have agreed to that so far.
        rejected: why attempts to lift it do not count.
        lost: whether its row is gone from the log; it is on record outside the database.
    """

    number: int
    scope: KillScope
    target: str
    by: str
    signed: bool
    reason: str
    at: str
    people: int = 1
    lifted_by: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    lost: bool = False

    @property
    def name(self) -> str:
        """As it is typed: `global`, or `agent:clerk`."""
        return name_of(self.scope, self.target)

    @property
    def sentence(self) -> str:
        """One line: the scope stopped, by whom and why."""
        what = f"{self.scope} {self.target}" if self.target else "every agent"
        return plain(f"{what} was killed by {self.by}: {self.reason}", one_line=True)

    @property
    def lift_command(self) -> str:
        """The command with which an operator lifts it."""
        return f"sb kill --lift {quoted(self.name)} --reason WHY"
