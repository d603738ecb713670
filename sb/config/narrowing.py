"""Narrow settings; what would widen one is left out.

A narrowing takes the value in force and the one that an untrusted project file asks for, or the value of the
organization and the one of anybody else. It gives the value that now counts,
never wider than the one in force, and names what was asked for in vain.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from sb.config.host_patterns import HostPattern

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


def larger() -> Narrow[N]:
    """The larger number counts."""

    def apply(ours: N, theirs: N) -> tuple[N, tuple[str, ...]]:
        return (ours, (str(theirs),)) if theirs < ours else (theirs, ())

    return Narrow("a larger value", apply)


def lower_than_set(none: N) -> Narrow[N]:
    """The smaller number counts where one is in force; where none is, none can be set.

    A limit that stands for something else, such as the question whether there is one at all, is no tighter than none.

    Args:
        none: the value that stands for no limit.
    """

    def apply(ours: N, theirs: N) -> tuple[N, tuple[str, ...]]:
        return (theirs, ()) if theirs <= ours < none else (ours, () if theirs == ours else (str(theirs),))

    return Narrow("a smaller value than a limit that is set", apply)


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


def only_on() -> Narrow[bool]:
    """It can be switched on, not off."""

    def apply(ours: bool, theirs: bool) -> tuple[bool, tuple[str, ...]]:
        return ours or theirs, ("false",) if ours and not theirs else ()

    return Narrow("true", apply)


def only_longer() -> Narrow[tuple[T, ...]]:
    """Entries can be added, none taken away."""

    def apply(ours: tuple[T, ...], theirs: tuple[T, ...]) -> tuple[tuple[T, ...], tuple[str, ...]]:
        return tuple(dict.fromkeys((*ours, *theirs))), ()

    return Narrow("more entries", apply)


Overlap = tuple[T, bool]  # what two entries have in common, and whether that is all of the second


def shared(
    label: str, meet: Callable[[T, T], Overlap[T] | None], *, fixed: tuple[T, ...] = ()
) -> Narrow[tuple[T, ...]]:
    """The values that both lists allow.

    Args:
        meet: the overlap of an entry in force and one that was asked for, or None.
        fixed: entries that stay if they are in force: without one a call would not be less, but another.
    """

    def apply(ours: tuple[T, ...], theirs: tuple[T, ...]) -> tuple[tuple[T, ...], tuple[str, ...]]:
        accepted: dict[T, None] = dict.fromkeys(entry for entry in ours if entry in fixed)
        refused = []
        for asked in theirs:
            overlaps = [overlap for entry in ours if (overlap := meet(entry, asked)) is not None]
            accepted.update(dict.fromkeys(part for part, _ in overlaps))
            if not any(whole for _, whole in overlaps):
                refused.append(str(asked))
        return tuple(accepted), tuple(refused)

    return Narrow(label, apply)


def same(ours: T, theirs: T) -> Overlap[T] | None:
    return (ours, True) if ours == theirs else None


def shared_hosts(ours: HostPattern, theirs: HostPattern) -> Overlap[HostPattern] | None:
    part = ours.meet(theirs)
    return None if part is None else (part, part == theirs)


def registered() -> Narrow[tuple[str, ...]]:
    """Some of the names in force; where none is, any, since none means that every name is fine.

    No project may leave nothing of a list: an empty one would register everything.
    """

    def apply(ours: tuple[str, ...], theirs: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        if not ours:
            return theirs, ()
        both = tuple(name for name in ours if name in theirs)
        return both or ours, tuple(name for name in theirs if name not in ours)

    return Narrow("some of the configured ones", apply)


def inner_folders() -> Narrow[tuple[Path, ...]]:
    """The folders that lie in one of those in force.

    A folder asked for comes back without links: whoever may write the project could turn them later.
    """
    label = "folders inside the configured ones"

    def apply(ours: tuple[Path, ...], theirs: tuple[Path, ...]) -> tuple[tuple[Path, ...], tuple[str, ...]]:
        real = cache(
            lambda path: Path(os.path.realpath(path))
        )  # of each once, however many it is compared with

        def inner(entry: Path, wanted: Path) -> Overlap[Path] | None:
            mine, asked = real(entry), real(wanted)
            if asked != mine and asked.is_relative_to(mine):
                return asked, True
            return (entry, asked == mine) if mine.is_relative_to(asked) else None

        return shared(label, inner).apply(ours, theirs)

    return Narrow(label, apply)
