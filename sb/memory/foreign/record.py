"""A memory of another program, before it is one of ours."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sb.base.values.frozen import frozen
from sb.protocols.types import CATEGORIES, Decision, EntityRecord, Event, Fact
from sb.protocols.types.vocabulary import ENTITY_TYPES, EVENT_TYPES

_LATEST = 253_402_300_800.0  # seconds since the epoch: the year 10000
_MILLISECONDS_FROM = 10_000_000_000.0  # larger numbers are no seconds of this century


@frozen
class ForeignMemory:
    """One memory.

    Args:
        reference: what its program calls it; with the program's name it makes the id, so that it comes in once.
        kind: fact, decision, event or entity. content: what it says; of a decision its title, of an entity its name.
        more: a decision's rationale, an entity's `entity_type` and `observations`, an event's `event_type` and `speaker`.
        project: "" for none. at: when it was made, as its program writes it. session: its name here, "" for none.
    """

    reference: str
    content: str
    kind: str = "fact"
    category: str = ""
    tags: tuple[str, ...] = ()
    project: str = ""
    at: Any = None
    more: Mapping[str, Any] | None = None
    session: str = ""

    def id(self, source: str) -> str:
        """The id that it has here."""
        names = json.dumps([source, self.kind, self.reference]).encode()
        return f"mem_{hashlib.blake2b(names, digest_size=14).hexdigest()}"

    def record(self, source: str, source_type: str) -> Fact | Decision | Event | EntityRecord:
        """The same as one of ours.

        Args:
            source: its program.

        Raises:
            ValueError: it says nothing.
        """
        text, more = self.content.strip(), self.more or {}
        if not text:
            raise ValueError("it says nothing")
        common: dict[str, Any] = {
            "id": self.id(source),
            "source_type": source_type,
            "source_entity": f"imported:{source}",
            "tags": list(self.tags) or None,
            "happened_at": moment(self.at),
        }
        if self.kind == "decision":
            return Decision(title=text, rationale=str(more.get("rationale") or text), **common)
        if self.kind == "event":
            type_ = str(more.get("event_type", ""))
            type_ = type_ if type_ in EVENT_TYPES else "observation"
            return Event(summary=text, event_type=type_, speaker=more.get("speaker"), **common)
        if self.kind == "entity":
            type_ = str(more.get("entity_type", "")).lower()
            observations = [
                str(observation) for observation in more.get("observations", ()) if str(observation).strip()
            ]
            type_ = type_ if type_ in ENTITY_TYPES else "concept"
            return EntityRecord(name=text, entity_type=type_, observations=observations, **common)
        category = self.category if self.category in CATEGORIES else "project"
        return Fact(content=text, category=category, **common)


def moment(value: Any) -> datetime | None:
    """A time as other programs write it: ISO 8601, or seconds or milliseconds since the epoch; None if it is none."""
    if isinstance(value, str) and value.strip():
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _LATEST * 1_000:
        seconds = value / 1_000 if value >= _MILLISECONDS_FROM else value
        return datetime.fromtimestamp(seconds, UTC) if seconds < _LATEST else None
    return None


def texts_in(value: Any) -> tuple[str, ...]:
    """The texts of a list, or the one text that stands for a list; none of nothing."""
    if value is None or value == "":
        return ()
    return tuple(map(str, value)) if isinstance(value, list | tuple) else (str(value),)
