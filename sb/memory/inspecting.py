"""What is there to know of one record: what it was made from, what it stands beside, what became of it, who read it?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from sb.errors import NotFoundError
from sb.memory.neighbourhood import Neighbour, neighbourhood
from sb.memory.space import Space
from sb.store.records.edges import LINEAGE
from sb.store.records.places import Place
from sb.store.records.store import Row

DEEPEST = 6  # generations
MOST_RELATIVES = 100


@dataclass(frozen=True)
class Relative:
    """A record that another was made from, or the other way round.

    Args:
        depth: generations between them, from 1. relation: what the younger one says of the older one.
    """

    row: Row
    relation: str
    depth: int


@dataclass(frozen=True)
class Done:
    """Something that was done with a record.

    Args:
        at: seconds since the epoch. changes: field to what it was and what it was made.
    """

    at: float
    actor: str
    operation: str
    reason: str
    changes: dict[str, tuple[Any, Any]]


@dataclass(frozen=True)
class Inspection:
    """One record and what is around it.

    Args:
        session: its name, or "". ancestors, descendants: each below the one that leads to it.
        neighbours: of other relations than lineage, as far as they are active. done: oldest first.
        reads: newest first, as `ReadLog.of` gives them. read: how often in all, and when last.
    """

    row: Row
    place: Place
    session: str
    ancestors: Sequence[Relative]
    descendants: Sequence[Relative]
    neighbours: Sequence[Neighbour]
    done: Sequence[Done]
    reads: Sequence[dict[str, Any]]
    read: tuple[int, float] | None


def inspect(space: Space, number: int) -> Inspection:
    """One record as operators see it: everything, whatever its place and state.

    Raises:
        NotFoundError: there is none of that number.
    """
    row = space.records.row(number)
    if row is None:
        raise NotFoundError(f"no record {number}")
    beside = neighbourhood(space, row, tuple(space.places.all())).neighbours
    return Inspection(
        row,
        space.places.numbered(row["place"]),
        space.session_name(row["session"]) or "",
        _relatives(space, number, older=True),
        _relatives(space, number, older=False),
        [one for one in beside if one.relation not in LINEAGE],
        _done(space, row),
        space.reads.of(number),
        space.reads.stats([number]).get(number),
    )


def _relatives(space: Space, number: int, *, older: bool) -> list[Relative]:
    """Depth first; each once, so that a circle ends."""
    seen = {number}
    found: list[tuple[int, str, int]] = []

    def walk(one: int, depth: int) -> None:
        for edge in space.edges.lineage(one):
            near, far = (edge.source, edge.target) if older else (edge.target, edge.source)
            if near == one and far not in seen and len(found) < MOST_RELATIVES:
                seen.add(far)
                found.append((far, edge.relation, depth))
                if depth < DEEPEST:
                    walk(far, depth + 1)

    walk(number, 1)
    rows = {row["id"]: row for row in space.records.rows([far for far, _, _ in found])}
    return [Relative(rows[far], relation, depth) for far, relation, depth in found]


def _done(space: Space, row: Row) -> list[Done]:
    """What was done with a record; each change replaced what the next change of the same column, or the record, has."""
    later = dict(row)
    done: list[Done] = []
    for one in reversed(space.records.history(row["id"])):
        former = one["former"] or {}
        changes = {name: (before, later.get(name)) for name, before in former.items()}
        if "fields" in changes:
            changes.pop("fields")
            changes |= _inner(former["fields"], later["fields"])
        later |= former
        done.append(Done(one["at"], one["actor"], one["operation"], one["reason"], changes))
    return done[::-1]


def _inner(before: str, after: str) -> dict[str, tuple[Any, Any]]:
    """What differs between two sets of the fields that have no column."""
    former, later = orjson.loads(before), orjson.loads(after)
    names = [name for name in {**former, **later} if former.get(name) != later.get(name)]
    return {name: (former.get(name), later.get(name)) for name in names}
