"""How may a file that nobody has trusted make a setting tighter, and what of it is left out?

A narrowing takes the value in force and the one the project file asks for. It gives the value that now counts,
never wider than the one in force, and names what was asked for in vain.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from sb.config.hosts import HostPattern

T = TypeVar("T")
N = TypeVar("N", bound=float)


class Narrow(NamedTuple, Generic[T]):
    """One way to narrow; `label` says it in the reference."""

    label: str
    apply: Callable[[T, T], tuple[T, tuple[str, ...]]]


def smaller() -> Narrow[N]:
    """The smaller number counts."""

    def apply(ours: N, theirs: N) -> tuple[N, tuple[str, ...]]:
        return (ours, (str(theirs),)) if theirs > ours else (theirs, ())

    return Narrow("a smaller value", apply)


def stricter(*names: str) -> Narrow[str]:
    """The later of `names` counts: they are given from loose to strict."""

    def apply(ours: str, theirs: str) -> tuple[str, tuple[str, ...]]:
        return (ours, (theirs,)) if names.index(theirs) < names.index(ours) else (theirs, ())

    return Narrow("a stricter value", apply)


def only_off() -> Narrow[bool]:
    """It can be switched off, not on."""

    def apply(ours: bool, theirs: bool) -> tuple[bool, tuple[str, ...]]:
        return ours and theirs, ("true",) if theirs and not ours else ()

    return Narrow("false", apply)


Overlap = tuple[T, bool]  # what two entries have in common, and whether that is all of the second


def shared(label: str, meet: Callable[[T, T], Overlap[T] | None]) -> Narrow[tuple[T, ...]]:
    """What both lists allow.

    Args:
        meet: the overlap of an entry in force and one that was asked for, or None.
    """

    def apply(ours: tuple[T, ...], theirs: tuple[T, ...]) -> tuple[tuple[T, ...], tuple[str, ...]]:
        kept: dict[T, None] = {}
        refused = []
        for asked in theirs:
            met = [overlap for entry in ours if (overlap := meet(entry, asked)) is not None]
            kept.update(dict.fromkeys(part for part, _ in met))
            if not any(whole for _, whole in met):
                refused.append(str(asked))
        return tuple(kept), tuple(refused)

    return Narrow(label, apply)


def same(ours: T, theirs: T) -> Overlap[T] | None:
    return (ours, True) if ours == theirs else None


def shared_hosts(ours: HostPattern, theirs: HostPattern) -> Overlap[HostPattern] | None:
    part = ours.meet(theirs)
    return None if part is None else (part, part == theirs)


def inner_folder(ours: Path, theirs: Path) -> Overlap[Path] | None:
    """The folder that lies in the other one.

    The folder asked for comes back without links: whoever may write the project could turn them later.
    """
    mine, asked = Path(os.path.realpath(ours)), Path(os.path.realpath(theirs))
    if asked != mine and asked.is_relative_to(mine):
        return asked, True
    return (ours, asked == mine) if mine.is_relative_to(asked) else None
