"""Memories and suggestions: the words for their state, and the cells of their lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sb.duration import human_age
from sb.sources import iso
from sb.store.records.columns import ACTIVE, ERASED, SUPERSEDED
from sb.store.records.places import Place
from sb.types.vocabulary import CONTINUE, FADING, STRONG, WEAK

if TYPE_CHECKING:
    from sb.memory.views import Memory

Record = dict[str, Any]
PENDING = "pending"  # of a suggestion: somebody has to accept or dismiss it
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


def memory_heading(found: Memory, now: float) -> str:
    """The line above a memory's text, where a list shows both.

    Args:
        now: seconds since the epoch.
    """
    kind = f"{found.kind} {found.category}" if found.category else found.kind
    where = scope_text(found.scope, private=found.private)
    return f"{found.id}  {kind}  {where}  {human_age(now - found.happened_at)}  by {found.agent_id}"


def text_of(record: Record) -> str:
    """The text of a memory; of a handoff whose goal and next step only repeat its state, the state alone."""
    text = str(record["text"])
    between = len(": ") + len(f": {CONTINUE}")
    state = text[: max(len(text) - between, 0) // 3]
    return state if text == f"{state}: {state}: {CONTINUE}{state}" else text
