"""Toolsets for clients: a few tools by default, since each costs every request of its model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any, NamedTuple

from sb.base.text import nearest
from sb.errors import UsageError


class Toolset(StrEnum):
    """A group of tools, switched together."""

    CORE = "core"  # a session's memory: orient, search, remember, decide, log, wrap up
    MEMORY = "memory"  # what else one does with memories
    GRAPH = "graph"  # things and their relations
    BELIEFS = "beliefs"  # what is believed, how firmly, and why
    KERNEL = "kernel"  # governed calls, requests and undo
    ADMIN = "admin"  # an agent's own standing


ALL = "all"
OF_ALL = tuple(
    toolset for toolset in Toolset if toolset is not Toolset.ADMIN
)  # few agents act on what it tells
DEFAULT = (Toolset.CORE,)


class Offer(NamedTuple):
    """One tool as clients see it.

    Args:
        function: its parameters and docstring are what a model reads.
        reads: it changes nothing. removes: it takes something away. again: a second equal call changes nothing more.
    """

    toolset: Toolset
    title: str
    function: Callable[..., Any]
    reads: bool = False
    removes: bool = False
    again: bool = False


def toolsets(names: Iterable[str]) -> tuple[Toolset, ...]:
    """The toolsets of these names; `all` stands for every one but `admin`.

    Raises:
        UsageError: there is no such toolset.
    """
    chosen: set[Toolset] = set()
    for name in names:
        if name == ALL:
            chosen.update(OF_ALL)
            continue
        try:
            chosen.add(Toolset(name))
        except ValueError:
            known = [*map(str, Toolset), ALL]
            guess = nearest(name, known)
            meant = f"did you mean {guess}?" if guess else f"there are {', '.join(known)}"
            raise UsageError(f"no toolset {name!r}", meant) from None
    return tuple(toolset for toolset in Toolset if toolset in chosen) or DEFAULT
