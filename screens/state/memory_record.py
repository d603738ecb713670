"""One memory as a document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sb.screens.state.document import Change, Document, Field, fields_of, value_text

from sb.errors import NotFoundError
from sb.memory.provenance import Dossier, Origin, show, why
from sb.present.memories import state_word, tier
from sb.sources import iso
from sb.store.records.columns import Row
from sb.store.records.edges import LINEAGE
from sb.text import shorten

if TYPE_CHECKING:
    from sb.memory.operator_view import Overseer

LONGEST_LINE = 300  # characters of another memory


def memory_document(overseer: Overseer, number: int) -> tuple[Row, Document]:
    """The memory of that number, and everything about it.

    Raises:
        NotFoundError: there is none.
    """
    space, places = overseer.space, overseer.writer.places()
    row = space.records.row(number)
    if row is None:
        raise NotFoundError(f"no memory {number}")
    about = show(space, row, places)
    fields: list[Field | Change] = [Field(f"{state_word(row)}: {row['kind']} {row['uid']}")]
    fields += [Field("text", row["text"]), *_columns(row, about), *_details(about.memory.details)]
    origins = why(space, row, places).origins
    if origins:
        fields += [Field("derived from"), *_tree(origins)]
    if about.made_of_it:
        fields.append(Field("derived memories", "\n".join(about.made_of_it)))
    return row, [*fields, *_around(about), *_history(about), *_reads(about)]


def _columns(row: Row, about: Dossier) -> Iterator[Field]:
    memory = about.memory
    confidence = memory.confidence
    said = {
        "category": memory.category,
        "scope": memory.scope,
        "private": "yes, readable by its agent only" if memory.private else None,
        "stack": about.stack,
        "agent": memory.agent_id,
        "session": memory.session,
        "speaker": memory.speaker,
        "source": memory.source_type,
        "confidence": None if confidence is None else f"{confidence:.2f}, {about.evidence_n:g} observations",
        "strength": f"{memory.strength:.2f}, {tier(memory.strength)}",
        "protected": "yes, it cannot be forgotten" if about.protected else None,
        "happened": _time(memory.happened_at),
        "kept": _time(memory.created_at),
        "changed": _time(about.updated_at) if about.updated_at != memory.created_at else None,
        "version": str(about.version),
        "tags": ", ".join(map(str, memory.tags)),
    }
    return (Field(name, str(value)) for name, value in said.items() if value)


def _details(details: Mapping[str, Any]) -> list[Field]:
    """What its kind has beyond that."""
    return fields_of({name: value for name, value in details.items() if value not in (None, "", [], {})})


def _time(seconds: float) -> str:
    return iso(seconds)[:19].replace("T", " ")


def _short(text: str) -> str:
    return shorten(text, LONGEST_LINE)


def _tree(origins: Sequence[Origin], depth: int = 0) -> Iterator[Field]:
    for one in origins:
        memory = one.memory
        what = f"{memory.kind} {memory.id}, {one.standing}, {memory.agent_id}" if memory else one.standing
        text = f": {_short(memory.content)}" if memory else f" {_short(one.reference)}"
        again = " (see above)" if one.again else ""
        yield Field(one.relation, "  " * depth + what + again + text)
        yield from _tree(one.origins, depth + 1)
        if one.left_out:
            yield Field("", "  " * (depth + 1) + f"and {one.left_out:,} more")


def _around(about: Dossier) -> Iterator[Field]:
    beside = [one for one in about.neighbours if one.relation not in LINEAGE]
    if beside:
        yield Field("beside it")
    for one in beside:
        arrow = f"{one.relation} →" if one.outwards else f"← {one.relation}"
        yield Field(arrow, f"{one.memory.kind} {one.memory.id}: {_short(one.memory.content)}")
    if about.before:
        yield Field("context from its session, which also matches searches")
        yield from (Field("", _short(text)) for text in about.before)


def _history(about: Dossier) -> Iterator[Field | Change]:
    yield Field("history")
    for done in about.changes:
        reason = f": {done.reason}" if done.reason else ""
        yield Field(_time(done.at), f"{done.operation} by {done.actor}{reason}")
        for name, (before, since) in done.changed.items():
            yield Change(name, _text(before), _text(since))


def _text(value: Any) -> str | None:
    return None if value is None else value_text(value)


def _reads(about: Dossier) -> Iterator[Field]:
    if not about.read:
        yield Field("no agent has read it")
        return
    yield Field(f"read {about.read:,} times by agents" if about.read > 1 else "read once by an agent")
    for read in about.reads:
        query = f" {_short(read['query'])!r}" if read["query"] else ""
        yield Field(_time(read["at"]), f"{read['agent']}, {read['operation']}{query}")
