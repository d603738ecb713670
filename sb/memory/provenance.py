"""Provenance and history of a memory: its sources, its changes, its readers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

import orjson

from sb.base.values.frozen import frozen
from sb.memory.neighbourhood import Neighbour, neighbourhood
from sb.memory.space import Space
from sb.memory.views import Memory, View
from sb.store.records.columns import ERASED, Row
from sb.store.records.descriptors import DESCRIPTORS
from sb.store.records.edges import DERIVED_FROM, Edge

MOST_ORIGINS = 200
DEEPEST = 20  # steps back; whoever wants to know more asks about one of the last
MOST_LISTED = 20  # readers, and restatements and outcomes, of one memory
_CALL = "call_"
_UNSAID = frozenset({"id", "version", "updated_at", "local_updated_at", "agent_id"})


@frozen
class Origin(View):
    """A memory, and what it was made from.

    Args:
        reference: an id, or what stands in its place.
        memory: None unless it is known and in view.
        standing: the state of a record (active, forgotten, superseded, quarantined, erased), or `call` for a call that
            `sb log show` tells of, `hidden` for what others keep for themselves, `unknown` for what is not here.
        relation: what the memory above has to do with it: `derived_from` or `supersedes`; "" for the first.
        again: whether it stands elsewhere in the tree, with its own origins.
        left_out: how many origins more it has, beyond `MOST_ORIGINS` in all and `DEEPEST` steps.
    """

    reference: str
    memory: Memory | None
    standing: str
    relation: str = ""
    origins: tuple[Origin, ...] = ()
    again: bool = False
    left_out: int = 0

    def memories(self) -> Iterator[Memory]:
        """All that are in the tree and in view."""
        if self.memory is not None:
            yield self.memory
        for origin in self.origins:
            yield from origin.memories()


@frozen
class Change(View):
    """Something that was done with a memory.

    Args:
        at: seconds since the epoch. version: of the memory afterwards.
        changed: field to what it said before, and since; empty once the memory was erased.
    """

    at: float
    actor: str
    operation: str
    reason: str
    version: int
    changed: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)


@frozen
class Dossier(View):
    """Everything that is known of a memory.

    Args:
        before: the texts before it in its session, by which it is found too, the nearest first.
        neighbours: what it is related to. made_of_it: ids of what was derived from it.
        evidence_n: observations behind its confidence. evidence_count: restatements and outcomes that are on record.
        restatements: the texts that were merged into it, oldest first, and how many these are.
        evidence: the latest of these first: when, whose, from which source, and how much it counted.
        read: how often it reached an agent's context. reads: when, whose and for which question, the latest first.
    """

    memory: Memory
    stack: str
    state: str
    version: int
    protected: bool
    evidence_n: float
    updated_at: float
    before: tuple[str, ...]
    neighbours: tuple[Neighbour, ...]
    made_of_it: tuple[str, ...]
    evidence_count: int
    restatements: tuple[Memory, ...]
    restatement_count: int
    evidence: tuple[Mapping[str, Any], ...]
    read: int
    reads: tuple[Mapping[str, Any], ...]
    changes: tuple[Change, ...]


def why(space: Space, row: Row, places: Collection[int]) -> Origin:
    """Returns the provenance of a memory as a tree: each source once, nearest to the memory.

    Args:
        row: a record that may be seen. places: the places in view.
    """
    below: dict[int, list[tuple[Edge, bool]]] = {row["id"]: []}  # each edge with whether it came there first
    left_out: dict[int, int] = {}
    frontier = [row["id"]]
    for _ in range(DEEPEST):
        frontier = [
            edge.target
            for number in frontier
            for edge, first in _edges_from(space, number, below, left_out)
            if first
        ]
    for number in frontier:
        left_out[number] = len(_origins(space, number))
    rows = {item["id"]: item for item in space.records.rows(list(below))}

    def grown(number: int, relation: str, first: bool) -> Origin:
        found = rows[number]
        if found["place"] not in places:
            return Origin("", None, "hidden", relation)
        memory = space.memory(found)
        if not first:
            return Origin(found["uid"], memory, found["state"], relation, again=True)
        origins = [grown(edge.target, edge.relation, new) for edge, new in below[number]]
        more = left_out.get(number, 0)
        if not more:
            here = {rows[edge.target]["uid"] for edge, _ in below[number]}
            origins += _elsewhere(space, found, here, places)
        return Origin(found["uid"], memory, found["state"], relation, tuple(origins), left_out=more)

    return grown(row["id"], "", True)


def _origins(space: Space, number: int) -> list[Edge]:
    return [edge for edge in space.edges.lineage(number) if edge.source == number]


def _edges_from(
    space: Space, number: int, below: dict[int, list[tuple[Edge, bool]]], left_out: dict[int, int]
) -> list[tuple[Edge, bool]]:
    """Hang what a record was made from below it."""
    for edge in _origins(space, number):
        first = edge.target not in below
        if first and len(below) >= MOST_ORIGINS:
            left_out[number] = left_out.get(number, 0) + 1
            continue
        below[number].append((edge, first))
        below.setdefault(edge.target, [])
    return below[number]


def _elsewhere(space: Space, row: Row, here: Collection[str], places: Collection[int]) -> Iterator[Origin]:
    """Yields sources that are no related records: calls, erased records, and unknown ones."""
    for reference in orjson.loads(row["fields"]).get("derived_from") or ():
        name = reference.rpartition(":")[2]
        if name in here:
            continue
        found = space.records.find(name)
        if found is not None and found["place"] not in places:
            yield Origin("", None, "hidden", DERIVED_FROM)
        elif found is not None:
            memory = None if found["state"] == ERASED else space.memory(found)
            yield Origin(name, memory, found["state"], DERIVED_FROM)
        else:
            yield Origin(reference, None, "call" if name.startswith(_CALL) else "unknown", DERIVED_FROM)


def history(space: Space, row: Row) -> list[Change]:
    """Lists the changes of a memory, oldest first."""
    changes: list[Change] = []
    later, version = dict(row), row["version"]
    for entry in reversed(space.records.history(row["id"])):
        before = later | (entry["former"] or {})
        unseen = entry["former"] is None or space.reader.refusal(row)
        changed = {} if unseen else _differences(row["kind"], before, later)
        reason = entry["reason"]
        changed, reason = space.reader.mask([changed, reason])
        changes.append(Change(entry["at"], entry["actor"], entry["operation"], reason, version, changed))
        later, version = before, entry["version"]
    return [Change(row["created_at"], row["agent"], "keep", "", version), *reversed(changes)]


def _differences(kind: str, before: Row, after: Row) -> dict[str, tuple[Any, Any]]:
    former, says = _attributes(kind, before), _attributes(kind, after)
    names = [name for name in (*says, *former) if former.get(name) != says.get(name)]
    return {name: (former.get(name), says.get(name)) for name in dict.fromkeys(names)}


def _attributes(kind: str, row: Row) -> dict[str, Any]:
    """Returns the attributes of the record that a row holds."""
    about = DESCRIPTORS[kind]
    found = {name: row[column] for name, column in about.column_of.items() if name not in _UNSAID}
    if "is_protected" in found:
        found["is_protected"] = bool(found["is_protected"])
    if row["tags"] is not None:
        found["tags"] = orjson.loads(row["tags"])
    found |= orjson.loads(row["fields"])
    if len(about.text) == 1:
        found.setdefault(about.text[0], row["text"])
    return found | {"state": row["state"]}


def show(space: Space, row: Row, places: Sequence[int]) -> Dossier:
    """Everything that is known of a memory.

    Args:
        row: a record that may be seen. places: the places in view.
    """
    number = row["id"]
    read = space.reads.stats([number]).get(number)
    made = [edge.source for edge in space.edges.lineage(number) if edge.target == number]
    sources = space.vectors.sources([number])
    evidence, evidence_count = space.evidence.latest(number, MOST_LISTED)
    return Dossier(
        memory=space.whole_memory(row, MOST_LISTED),
        stack=space.places.numbered(row["place"]).stack,
        state=row["state"],
        version=row["version"],
        protected=bool(row["protected"]),
        evidence_n=row["evidence_n"],
        updated_at=row["updated_at"],
        before=tuple(text for source in sources for text in source.previous if text),
        neighbours=neighbourhood(space, row, places).neighbours,
        made_of_it=tuple(item["uid"] for item in space.records.rows(made) if item["place"] in places),
        evidence_count=evidence_count,
        restatements=space.restatements(row, MOST_LISTED),
        restatement_count=len(space.evidence.texts([number])),
        evidence=tuple(
            {name: value for name, value in item._asdict().items() if name != "session"} for item in evidence
        ),
        read=read[0] if read else 0,
        reads=tuple(space.reads.of(number, MOST_LISTED)),
        changes=tuple(history(space, row)),
    )
