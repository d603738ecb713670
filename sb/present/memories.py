"""Memories and suggestions: the words for their state, and the cells of their lines."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sb.base.duration import human_age
from sb.base.sources import iso, micros
from sb.base.text import plain
from sb.base.values.frozen import frozen
from sb.base.values.references import SESSION_SHOWN
from sb.memory.allowed_changes import PENDING, is_suggestion
from sb.memory.highlights import beginnings, spans
from sb.memory.sessions import PAST_SESSION
from sb.present.kind import Cell, Column, Field, Kind
from sb.present.states import SOFT, state
from sb.present.suggestions import suggested_text
from sb.present.times import ago
from sb.protocols.types.vocabulary import CONTINUE, FADING, STRONG, WEAK
from sb.stack.review_queue import ReviewItem
from sb.store.records.columns import ACTIVE, ERASED, QUARANTINED
from sb.store.records.places import Place

if TYPE_CHECKING:
    from sb.memory.views import Memory

Record = dict[str, Any]
LONGEST_LINE = 1_000  # characters of a memory on one line
LOOKED_AT = 100_000  # characters of a memory in which words are looked for
_BEFORE = 12  # characters of a long memory before the first word that was looked for
ANOTHER = "another copy"  # of the database, which has a number, but no name
KIND_TONES = {"fact": "info", "decision": "accent", "lesson": "violet", "handoff": "ok"}  # others are soft
_SHORT = {QUARANTINED: "quarantine", PENDING: "suggested"}  # as the review queue calls them
CLOSEST = "No exact match; closest in meaning"


def tier(strength: float) -> str:
    """The word for a memory's strength."""
    named = ((STRONG, "strong"), (FADING, "fading"), (WEAK, "weak"))
    return next((name for least, name in named if strength >= least), "dormant")


def state_word(record: Record) -> str:
    """Its state; of an active one that it is protected, or its strength; of a suggestion, its status."""
    if is_suggestion(record):
        return str(record["category"])
    if record["state"] != ACTIVE:
        return str(record["state"])
    return "protected" if record["protected"] else tier(record["strength"])


def is_active(record: Record) -> bool:
    """True if agents find it; a suggestion is none yet."""
    return bool(record["state"] == ACTIVE and not is_suggestion(record))


def evidence_text(evidence: Mapping[str, Any]) -> str:
    """A restatement or an outcome of a memory: whose, from which source, and how much it counted."""
    likeness = evidence["likeness"]
    about = "" if likeness is None else f", {evidence['source_type']}, {likeness:.2f} alike"
    counts = f"counts {evidence['weight']:.2g}" if evidence["weight"] else "without effect"
    return f"{evidence['kind']} by {evidence['agent'] or 'nobody named'}{about}, {counts}"


@frozen
class MemoryText:
    """The text of a memory on one line, without control characters.

    Args:
        hits: start and end of what was searched for, in this text.
    """

    text: str
    hits: tuple[tuple[int, int], ...] = ()


def matched_text(record: Record, typed: Sequence[str]) -> MemoryText:
    """The text of a memory with what was searched for.

    Args:
        typed: words of the filter; where none begins a word of the text, the words of the same stem count.
    """
    if record["state"] == ERASED:
        return MemoryText("erased: nothing is left of it")
    text = text_of(record)[:LOOKED_AT]
    if typed and len(text) > LONGEST_LINE:
        first, _ = next(iter(_hits(typed, text)), (0, 0))
        if first > LONGEST_LINE // 2:
            text = f"…{text[first - _BEFORE :]}"
    text = plain(text[:LONGEST_LINE], one_line=True)
    return MemoryText(text, _hits(typed, text) if typed else ())


def _hits(typed: Sequence[str], text: str) -> tuple[tuple[int, int], ...]:
    return tuple(beginnings(typed, text)) or tuple(spans(" ".join(typed), text))


def place_word(place: Place) -> str:
    """Where a memory belongs in one word: the project, the end of its scope, or that it is private."""
    return "private" if place.owner else plain(place.scope.rpartition(":")[2], one_line=True)


@frozen
class ShownMemory:
    """A memory in a list: its record, where it belongs, and the words of the filter."""

    record: Record
    place: Place
    words: Sequence[str] = ()


def _kind(about: ShownMemory, now: int) -> Cell:
    """Its kind, or its state where it is not active."""
    if is_active(about.record):
        return Cell(about.record["kind"], KIND_TONES.get(about.record["kind"], SOFT))
    word = state_word(about.record)
    word = _SHORT.get(word, word)
    return Cell(word, state(word).tone)


def _text(about: ShownMemory, now: int) -> Cell:
    matched = matched_text(about.record, about.words)
    return Cell(matched.text, "" if is_active(about.record) else SOFT, hits=matched.hits)


def _strength(about: ShownMemory, now: int) -> Cell:
    word = state_word(about.record)
    return Cell(word if is_active(about.record) else "", state(word).tone)


MEMORY = Kind[ShownMemory](
    Field("kind", _kind, Column(10, most=16, enough=56)),
    Field("memory", _text),
    Field("strength", _strength, Column(9, 82)),
    Field("scope", lambda it, now: place_word(it.place), Column(8, 66, SOFT)),
    Field("age", lambda it, now: ago(micros(it.record["created_at"]), now), Column(8, tone=SOFT, right=True)),
    faces={"list": "kind,memory,strength,scope,age"},
)


def reviewed_text(item: ReviewItem) -> str:
    """The text of a memory under review, on one line; of a quarantined one, too."""
    return plain(text_of({**item.record, "state": ACTIVE})[:LOOKED_AT], one_line=True)


REVIEW = Kind[ReviewItem](
    Field("state", lambda it, now: state(str(it.kind)), Column(12, badges=True)),
    Field("text", lambda it, now: matched_text({**it.record, "state": ACTIVE}, ()).text),  # quarantined, too
    Field(
        "origin",
        lambda it, now: ANOTHER if it.is_of_copies else it.origin,
        Column(13, 72, SOFT),
    ),
    Field("age", lambda it, now: ago(micros(it.at), now), Column(6, tone=SOFT, right=True)),
    faces={"list": "state,text,origin,age"},
)


def memory_marks(found: Memory) -> dict[str, str]:
    """Marks of what speaks against a memory, each with its id."""
    marks = {
        "superseded by": found.superseded_by,
        "partly corrected by": found.corrected_by,
        "contested in": found.conflict,
    }
    return {mark: uid for mark, uid in marks.items() if uid}


def memory_heading(found: Memory, now: float) -> str:
    """The line above a memory's text, where a list shows both; of a past session's with its date and session.

    Args:
        now: seconds since the epoch.
    """
    kind = f"{found.kind} {found.category}" if found.category else found.kind
    where = f"private, {found.scope}" if found.private else found.scope
    kind = "  ".join([kind, *(f"{mark} {uid}" for mark, uid in memory_marks(found).items())])
    heading = f"{found.id}  {kind}  {where}  {human_age(now - found.happened_at)}  by {found.agent_id}"
    if not (found.session or "").startswith(PAST_SESSION):
        return heading
    host, _, session = str(found.session).removeprefix(PAST_SESSION).partition(":")
    return f"{heading}  {iso(found.happened_at)[:10]} {host} {session[:SESSION_SHOWN]}"


def text_of(record: Record) -> str:
    """The text of a memory; of a handoff whose goal and next step only repeat its state, the state alone.

    What a quarantined memory says is shown by the review alone.
    """
    if record["state"] == QUARANTINED:
        return "quarantined: sb quarantine shows it"
    text = str(record["text"])
    if is_suggestion(record):
        return suggested_text(json.loads(record["fields"]).get("content")) or text
    between = len(": ") + len(f": {CONTINUE}")
    state = text[: max(len(text) - between, 0) // 3]
    return state if text == f"{state}: {state}: {CONTINUE}{state}" else text
