"""Memories and suggestions: the words for their state, and the cells of their lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sb.fitting import relative_age
from sb.memory.highlights import beginnings, spans
from sb.present.states import State, state
from sb.sources import MICROSECONDS, iso
from sb.stack.review_queue import ReviewItem
from sb.store.records.columns import ACTIVE, ERASED, SUPERSEDED
from sb.store.records.places import Place
from sb.text import plain
from sb.types.vocabulary import CONTINUE, FADING, STRONG, WEAK

Record = dict[str, Any]
LONGEST_LINE = 1_000  # characters of a memory on one line
PENDING = "pending"  # of a suggestion: somebody has to accept or dismiss it
KIND_TONES = {"fact": "info", "decision": "accent", "lesson": "violet", "handoff": "ok"}  # others are soft
CLOSEST = "No exact match; closest in meaning"
_SETTLED = (ACTIVE, SUPERSEDED)  # states of a suggestion, of which its own word says more


@dataclass(frozen=True)
class MemoryLine:
    """One memory, cell by cell."""

    id: str
    saved: str
    kind: str
    state: str
    scope: str
    agent: str
    text: str


def tier(strength: float) -> str:
    """The word for a memory's strength."""
    named = ((STRONG, "strong"), (FADING, "fading"), (WEAK, "weak"))
    return next((name for least, name in named if strength >= least), "dormant")


def is_suggestion(record: Record) -> bool:
    """Whether it is a memory that was only suggested, and not one made of a suggestion."""
    return bool(record["kind"] == "suggestion" and record["state"] in _SETTLED)


def state_word(record: Record) -> str:
    """Its state; of an active one that it is protected, or its strength; of a suggestion, its status."""
    if is_suggestion(record):
        return str(record["category"])
    if record["state"] != ACTIVE:
        return str(record["state"])
    return "protected" if record["protected"] else tier(record["strength"])


def scope_text(scope: str, *, private: bool) -> str:
    """The scope, and whether only its owner may read what stands there."""
    return f"private, {scope}" if private else scope


def memory_line(record: Record, place: Place) -> MemoryLine:
    """A memory as lists show it."""
    return MemoryLine(
        record["uid"],
        iso(record["created_at"])[:10],
        record["kind"],
        state_word(record),
        scope_text(place.scope, private=bool(place.owner)),
        record["agent"],
        "erased: nothing is left of it" if record["state"] == ERASED else text_of(record),
    )


@dataclass(frozen=True)
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
    text = plain(text_of(record)[:LONGEST_LINE], one_line=True)
    found = tuple(beginnings(typed, text)) or tuple(spans(" ".join(typed), text) if typed else ())
    return MemoryText(text, found)


@dataclass(frozen=True)
class ReviewLine:
    """One thing to review, cell by cell."""

    reference: str
    state: State
    text: str
    origin: str
    age: str


def review_line(item: ReviewItem, now: int) -> ReviewLine:
    """A conflict, a quarantined memory, a suggestion or a trigger as lists show it.

    Args:
        now: microseconds since the epoch.
    """
    return ReviewLine(
        item.reference,
        state(str(item.kind)),
        matched_text(item.record, ()).text,
        plain(item.origin, one_line=True),
        relative_age(int(item.at * MICROSECONDS), now),
    )


def text_of(record: Record) -> str:
    """The text of a memory; of a handoff whose goal and next step only repeat its state, the state alone."""
    text = str(record["text"])
    between = len(": ") + len(f": {CONTINUE}")
    state = text[: max(len(text) - between, 0) // 3]
    return state if text == f"{state}: {state}: {CONTINUE}{state}" else text
