"""How does one memory read in full?"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from sb.screens.state.document import Change, Document, Field, fields_of, shown
from sb.screens.state.memory import standing, tier

from sb.memory.inspecting import Inspection, Relative, inspect
from sb.sources import iso
from sb.store.records.store import Row
from sb.text import shorten

if TYPE_CHECKING:
    from sb.memory.overseeing import Overseer

LONGEST_LINE = 300  # characters of another memory


def memory_document(overseer: Overseer, number: int) -> tuple[Row, Document]:
    """The memory of that number, and everything about it.

    Raises:
        NotFoundError: there is none.
    """
    one = inspect(overseer.space, number)
    fields: list[Field | Change] = [Field(f"{standing(one.row)}: {one.row['kind']} {one.row['uid']}")]
    fields += [Field("text", one.row["text"]), *_columns(one), *_details(one.row)]
    for heading, relatives in (("made from", one.ancestors), ("made into", one.descendants)):
        if relatives:
            fields += [Field(heading), *_tree(relatives)]
    if one.neighbours:
        fields.append(Field("beside it"))
        for beside in one.neighbours:
            arrow = f"{beside.relation} →" if beside.outwards else f"← {beside.relation}"
            fields.append(
                Field(arrow, f"{beside.memory.kind} {beside.memory.id}: {_short(beside.memory.content)}")
            )
    fields += _history(one)
    return one.row, [*fields, *_reads(one)]


def _columns(one: Inspection) -> Iterator[Field]:
    row, place = one.row, one.place
    said = {
        "category": row["category"],
        "scope": place.scope,
        "private to": place.owner,
        "stack": place.stack,
        "agent": row["agent"],
        "session": one.session,
        "speaker": row["speaker"],
        "source": row["source_type"],
        "confidence": None
        if row["confidence"] is None
        else f"{row['confidence']:.2f}, {row['evidence_n']:g} observations",
        "strength": f"{row['strength']:.2f}, {tier(row['strength'])}",
        "protected": "yes, it cannot be forgotten" if row["protected"] else None,
        "happened": _time(row["happened_at"]),
        "kept": _time(row["created_at"]),
        "changed": _time(row["updated_at"]) if row["updated_at"] != row["created_at"] else None,
        "version": str(row["version"]),
        "tags": ", ".join(map(str, json.loads(row["tags"]))) if row["tags"] else None,
    }
    return (Field(name, str(value)) for name, value in said.items() if value)


def _details(row: Row) -> list[Field]:
    """What its kind has beyond that."""
    values = json.loads(row["fields"])
    return fields_of({name: value for name, value in values.items() if value not in (None, "", [], {})})


def _time(seconds: float) -> str:
    return iso(seconds)[:19].replace("T", " ")


def _short(text: str) -> str:
    return shorten(text, LONGEST_LINE)


def _tree(relatives: Sequence[Relative]) -> Iterator[Field]:
    for one in relatives:
        row, indent = one.row, "  " * (one.depth - 1)
        what = f"{row['kind']} {row['uid']}, {standing(row)}, {row['agent']}"
        yield Field(one.relation, f"{indent}{what}: {_short(row['text'])}")


def _history(one: Inspection) -> Iterator[Field | Change]:
    yield Field("what was done with it")
    yield Field(_time(one.row["created_at"]), f"kept by {one.row['agent']}")
    for done in one.done:
        why = f": {done.reason}" if done.reason else ""
        yield Field(_time(done.at), f"{done.operation} by {done.actor}{why}")
        yield from (
            Change(name, _text(before), _text(after)) for name, (before, after) in done.changes.items()
        )


def _text(value: Any) -> str | None:
    return None if value is None else shown(value)


def _reads(one: Inspection) -> Iterator[Field]:
    if one.read is None:
        yield Field("no agent was given it")
        return
    count, last = one.read
    yield Field(f"given to agents {count:,} times" if count > 1 else "given to an agent once")
    for read in one.reads:
        query = f" {_short(read['query'])!r}" if read["query"] else ""
        yield Field(_time(read["at"]), f"{read['agent']}, {read['operation']}{query}")
    if count > len(one.reads):
        yield Field("last", _time(last))
