"""Lineage: what was derived from a memory, and which memories lost all their sources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import orjson

from sb.protocols.types import MemoryType
from sb.stack.container import Container
from sb.stack.provenance import ANNOTATIONS
from sb.stack.views import VIEWS, kinds_viewed_as
from sb.store.records.columns import ERASED
from sb.store.records.edges import DERIVED_FROM

_KINDS = (*MemoryType, *VIEWS)
_AT_ONCE = 200


def made_from(container: Container, memory_type: str, memory_id: str) -> list[str]:
    """References `type:id` to the memories in view that were made from a memory, the oldest first."""
    row = container.find(memory_id, kinds_viewed_as(memory_type))
    if row is None:
        return []
    edges = container.space.edges.lineage(row["id"])
    sources = [edge.source for edge in edges if (edge.target, edge.relation) == (row["id"], DERIVED_FROM)]
    places, allows = container.places(), container.space.reader.allows
    rows = sorted(container.space.records.rows(sources), key=lambda item: item["id"])
    return [
        f"{_shown_kind(item['kind'])}:{item['uid']}"
        for item in rows
        if item["place"] in places and allows(item)
    ]


def ungrounded(container: Container) -> list[str]:
    """References to visible memories all of whose sources are gone; reads
    everything that says so."""
    found: list[str] = []
    for part in _batches(container):
        uids = {uid for _, _, sources in part for uid in sources}
        known = container.space.records.known(sorted(uids))
        there = {uid for uid, row in known.items() if row["state"] != ERASED}
        found += [f"{_shown_kind(kind)}:{uid}" for kind, uid, sources in part if not there & set(sources)]
    return found


def _batches(container: Container) -> Iterator[list[tuple[str, str, Sequence[str]]]]:
    """Kind, id and the ids of the sources of the memories that name some, the oldest first."""
    places = container.places()
    marks, kinds = (", ".join("?" * len(some)) or "NULL" for some in (places, _KINDS))
    after = 0
    while True:
        rows = container.space.database.query(
            "SELECT r.id, r.kind, r.uid, json_extract(r.fields, '$.derived_from') FROM records AS r"
            f" WHERE r.id > ? AND r.place IN ({marks}) AND r.kind IN ({kinds}) AND r.state = 'active'"
            " AND json_array_length(r.fields, '$.derived_from') > 0 ORDER BY r.id LIMIT +?",
            (after, *places, *_KINDS, _AT_ONCE),
        )
        if not rows:
            return
        after = rows[-1][0]
        part = [(kind, uid, _sources(orjson.loads(named))) for _, kind, uid, named in rows]
        yield [item for item in part if item[2]]


def _sources(references: Sequence[str]) -> list[str]:
    """The ids that references name; annotations name none."""
    parts = [reference.partition(":") for reference in references]
    return [uid or kind for kind, _, uid in parts if kind not in ANNOTATIONS]


def _shown_kind(kind: str) -> str:
    view = VIEWS.get(kind)
    return kind if view is None else view.kind
