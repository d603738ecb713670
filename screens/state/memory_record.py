"""One memory as a document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sb.screens.state.document import Change, Document, Field, fields_of, value_text
from sb.screens.state.memory import HISTORY, NEIGHBOURS, ORIGIN, TEXT, would_become

from sb.base.fitting import count
from sb.base.sources import micros
from sb.base.text import counted, plain, shorten
from sb.base.values.frozen import frozen
from sb.errors import NotFoundError
from sb.memory.allowed_changes import is_suggestion
from sb.memory.neighbourhood import Neighbour
from sb.memory.provenance import Dossier, Origin, show, why
from sb.present.memories import KIND_TONES, evidence_text, is_active, memory_marks, state_word, text_of
from sb.present.states import SOFT, state
from sb.present.times import date_and_time
from sb.store.records.columns import Row
from sb.store.records.edges import DERIVED_FROM, LINEAGE

if TYPE_CHECKING:
    from sb.memory.operator_view import Overseer

LONGEST_LINE = 300  # characters of another memory
LONGEST_HEADING = 400


@frozen
class MemoryRecord:
    """A memory in full, in several views.

    Args:
        views: a document by the id of each view. counts: of the views that list something.
    """

    row: Row
    views: Mapping[str, Document]
    counts: Mapping[str, int]


def memory_record(overseer: Overseer, number: int) -> MemoryRecord:
    """The memory of that number, and everything about it.

    Raises:
        NotFoundError: there is none.
    """
    space, places = overseer.space, overseer.writer.places()
    row = space.records.row(number)
    if row is None:
        raise NotFoundError(f"no memory {number}")
    about = show(space, row, places)
    neighbours = [neighbour for neighbour in about.neighbours if neighbour.relation not in LINEAGE]
    top = heading(row)
    views: dict[str, Document] = {
        TEXT: [*top, *_columns(row, about), *_details(row, about.memory.details), *_ids(row, about)],
        ORIGIN: [*top, *_origin(row, about, why(space, row, places).origins)],
        HISTORY: [*top, *_history(about), *_reads(about)],
        NEIGHBOURS: [*top, *_around(about, neighbours)],
    }
    return MemoryRecord(row, views, {HISTORY: len(about.changes), NEIGHBOURS: len(neighbours)})


def heading(row: Row) -> list[Field]:
    """A memory's text in bold; of a longer one its beginning, and all of it below."""
    text = text_of(row)
    first = shorten(text, LONGEST_HEADING)
    whole = [] if plain(text).strip() == first else [Field("Text", text)]
    return [Field(first or "erased: nothing is left of it"), *whole]


def _columns(row: Row, about: Dossier) -> Iterator[Field]:
    memory = about.memory
    word = state_word(row)
    strength = f"strength {memory.strength:.2f}" if is_active(row) else ""
    more = "" if is_suggestion(row) or memory.category == memory.kind else memory.category
    kind = f"{memory.kind}, {more}" if more else memory.kind
    kind = f"suggested {would_become(row)}" if is_suggestion(row) else kind
    yield Field("Kind", kind, tone=KIND_TONES.get(memory.kind, ""))
    yield Field("State", ", ".join(filter(None, (word, strength))), tone=_tone(word))
    confidence = memory.confidence
    yield from (Field(mark.capitalize(), uid, tone="warn") for mark, uid in memory_marks(memory).items())
    values = {
        "Scope": memory.scope,
        "Private": "yes: of all agents only its own reads it" if memory.private else None,
        "Agent": memory.agent_id,
        "Speaker": memory.speaker,
        "Saved": _time(memory.created_at),
        "Happened": None if memory.happened_at in (None, memory.created_at) else _time(memory.happened_at),
        "Changed": _time(about.updated_at) if about.updated_at != memory.created_at else None,
        "Confidence": None
        if confidence is None
        else f"{confidence:.2f}, {counted_evidence(about.evidence_n)}",
        "Tags": ", ".join(map(str, memory.tags)),
    }
    yield from (Field(name, str(value)) for name, value in values.items() if value)


def _tone(word: str) -> str:
    tone = state(word).tone
    return "" if tone == SOFT else tone


def counted_evidence(number: float) -> str:
    """The number of observations that support a memory."""
    return f"{number:g} observation{'' if number == 1 else 's'}"


def _ids(row: Row, about: Dossier) -> Iterator[Field]:
    values = {
        "Id": row["uid"],
        "Stack": about.stack,
        "Session": about.memory.session,
        "Version": about.version,
    }
    yield from (Field(name, str(value), folded=True) for name, value in values.items() if value)


def _details(row: Row, details: Mapping[str, Any]) -> list[Field]:
    """Fields of its kind beyond those; sources have a view of their own, and a suggestion's kind stands above."""
    content = details.get("content")
    if is_suggestion(row) and isinstance(content, dict):
        others = {name: value for name, value in details.items() if name not in ("content", "memory_type")}
        details = {**content, **others}
    return fields_of({name: value for name, value in details.items() if value and name != DERIVED_FROM})


def _time(seconds: float) -> str:
    return date_and_time(micros(seconds))


def _minute(seconds: float) -> str:
    """The same to the minute, which fits where names stand."""
    return f"{_time(seconds)[:16]}Z"


def _short(text: str) -> str:
    return shorten(text, LONGEST_LINE)


def _origin(row: Row, about: Dossier, origins: Sequence[Origin]) -> Iterator[Field]:
    yield Field("Source", about.memory.source_type or "unknown")
    if about.memory.agent_id:
        yield Field("Agent", about.memory.agent_id)
    if origins:
        yield Field("Derived from")
        yield from _tree(origins)
    if about.restatements:
        yield Field(f"Restated in {counted(about.restatement_count, 'text')}")
        yield from (Field(_minute(text.created_at), text.content) for text in about.restatements)
    if about.evidence:
        yield Field(f"Restated or judged {counted(about.evidence_count, 'time')}")
        yield from (Field(_minute(item["at"]), evidence_text(item)) for item in about.evidence)
    if about.made_of_it:
        yield Field("Derived memories")
        yield Field("", "\n".join(about.made_of_it))


def _tree(origins: Sequence[Origin], depth: int = 0) -> Iterator[Field]:
    for origin in origins:
        memory = origin.memory
        text = _short(memory.content) if memory else f"{origin.standing} {_short(origin.reference)}"
        what = f" ({memory.kind} {memory.id}, {origin.standing}, {memory.agent_id})" if memory else ""
        again = ", see above" if origin.again else ""
        yield Field(relation_word(origin.relation), "  " * depth + text + what + again)
        yield from _tree(origin.origins, depth + 1)
        if origin.left_out:
            yield Field("", "  " * (depth + 1) + f"and {origin.left_out:,} more")


def relation_word(relation: str) -> str:
    """A relation as people read it."""
    return relation.replace("_", " ")


def _around(about: Dossier, neighbours: Sequence[Neighbour]) -> Iterator[Field]:
    if not neighbours:
        yield Field("", "No relations to other memories.", tone="soft")
    for neighbour in neighbours:
        word = relation_word(neighbour.relation)
        name = f"{word} →" if neighbour.outwards else f"← {word}"
        yield Field(
            name, f"{_short(neighbour.memory.content)} ({neighbour.memory.kind} {neighbour.memory.id})"
        )
    if about.before:
        yield Field("Before it in its session, which also matches searches")
        yield from (Field("", _short(text)) for text in about.before)


def _history(about: Dossier) -> Iterator[Field | Change]:
    for done in about.changes:
        reason = f": {done.reason}" if done.reason else ""
        yield Field(_minute(done.at), " by ".join(filter(None, (done.operation, done.actor))) + reason)
        for name, (before, since) in done.changed.items():
            yield Change(name, _text(before), _text(since))


def _text(value: Any) -> str | None:
    return None if value is None else value_text(value)


def _reads(about: Dossier) -> Iterator[Field]:
    if not about.read:
        yield Field("No agent has read it")
        return
    yield Field(f"Read {count(about.read)} times by agents" if about.read > 1 else "Read once by an agent")
    for read in about.reads:
        query = f" {_short(read['query'])!r}" if read["query"] else ""
        yield Field(_minute(read["at"]), f"{read['agent']}, {read['operation']}{query}")
