"""Dump a whole stack: statistics, Markdown for people, and JSON that a stack loads again.

Source: the stack protocol, "Stats and export".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from sb.base.files import write_atomic
from sb.base.sources import iso
from sb.base.text import with_article
from sb.errors import StoreError
from sb.memory.markdown import escaped
from sb.protocols.types import (
    Belief,
    Drive,
    Episode,
    Goal,
    Note,
    Playbook,
    RawEntry,
    Relationship,
    StackState,
    Value,
)
from sb.stack.checks import check_word
from sb.stack.container import Container
from sb.stack.queries import NEWEST, Query
from sb.stack.saver import Saver
from sb.stack.views import kinds_viewed_as
from sb.store.records.columns import ACTIVE, FORGOTTEN, SUPERSEDED
from sb.store.records.descriptors import DESCRIPTORS

FORMATS = frozenset({"markdown", "json"})
RAW = "raw"
# Kind to its list, in an order in which nothing comes before what it may be made from.
LISTS: Mapping[str, str] = {
    RAW: "raw_entries",
    "episode": "episodes",
    "note": "notes",
    "belief": "beliefs",
    "value": "values",
    "goal": "goals",
    "drive": "drives",
    "relationship": "relationships",
    "relationship_history": "relationship_history",
    "entity_model": "entity_models",
    "playbook": "playbooks",
    "epoch": "epochs",
    "summary": "summaries",
    "self_narrative": "self_narratives",
    "trust_assessment": "trust_assessments",
    "suggestion": "suggestions",
}
_COUNTED = (
    "episode",
    "belief",
    "value",
    "goal",
    "note",
    "drive",
    "relationship",
    RAW,
    "suggestion",
    "playbook",
)
_KEPT = (ACTIVE, FORGOTTEN, SUPERSEDED)
_AT_ONCE = 500  # records
_EXACT = orjson.OPT_INDENT_2 | orjson.OPT_PASSTHROUGH_DATETIME  # orjson leaves out the seconds of an offset
_GOAL_MARKS = {"completed": "+", "active": "o", "paused": "-"}


class Dumper:
    """Shows the whole of one stack, and takes such a whole in."""

    def __init__(self, container: Container, saver: Saver) -> None:
        self._container = container
        self._saver = saver

    def stats(self) -> dict[str, int]:
        """Counts the memories of each kind, forgotten ones too, and the pending suggestions."""
        numbers = {
            "raw" if kind == RAW else LISTS[kind]: self._number(self._query(kind, _KEPT)) for kind in _COUNTED
        }
        pending = self._query("suggestion", (ACTIVE,)).add("r.category = 'pending'")
        return {**numbers, "pending_suggestions": self._number(pending)}

    def dump(
        self, *, format: str = "markdown", include_raw: bool = True, include_forgotten: bool = False
    ) -> str:
        """All memories in view: as a document for people, or as JSON that `load_dump` takes.

        Args:
            format: markdown, or json, which holds every kind and attribute.
            include_raw: also what was captured as it came.
            include_forgotten: also what is dormant, forgotten, or no longer held to be true.

        Raises:
            ValueError: there is no such format.
        """
        check_word("format", format, FORMATS)
        kinds = [kind for kind in LISTS if include_raw or kind != RAW]
        at = iso(self._container.space.clock.now())
        if format == "json":
            found = {LISTS[kind]: list(self._records(kind, include_forgotten)) for kind in kinds}
            whole = {"stack_id": self._container.stack_id, "exported_at": at, **found}
            return orjson.dumps(whole, datetime.isoformat, _EXACT).decode()
        parts = [f"# Memory Dump for {escaped(self._container.stack_id)}\n\nExported at {at}\n"]
        for kind, (title, line) in _SECTIONS.items():
            lines = (
                [line(record) for record in self._records(kind, include_forgotten)] if kind in kinds else []
            )
            parts += [f"\n## {title}\n\n", *lines] if lines else []
        return "".join(parts)

    def load(self, text: str, door: str = "") -> dict[str, int]:
        """Take in what `dump` wrote as JSON, all of it or nothing, into a stack that belongs to nobody yet.

        Args:
            door: their source type for quarantine, whatever they say of themselves; "" for what each says.

        Returns:
            How many memories of each list there were.

        Raises:
            ValueError: it is no such dump, or this stack belongs to a core.
        """
        if self._container.state is not StackState.INITIALIZING:
            raise ValueError(f"stack {self._container.stack_id} belongs to a core: load it into a new stack")
        try:
            whole = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            raise ValueError(f"not a JSON dump: {error}") from error
        if not isinstance(whole, dict) or "stack_id" not in whole:
            raise ValueError("not a dump of a stack: no stack_id")
        odd = [name for name in LISTS.values() if not isinstance(whole.get(name, []), list)]
        if odd:
            raise ValueError(f"{', '.join(odd)} of this dump must be a list")
        found = {
            kind: [self._read(kind, item) for item in whole.get(name, ())] for kind, name in LISTS.items()
        }
        self._saver.restore([record for records in found.values() for record in records], door)
        return {LISTS[kind]: len(records) for kind, records in found.items() if records}

    def _read(self, kind: str, document: Any) -> Any:
        about = DESCRIPTORS[kind]
        if not isinstance(document, dict) or not document.keys() <= set(about.attributes):
            raise ValueError(f"{with_article(kind)} in this dump has attributes that no {kind} has")
        try:
            times = {
                name: datetime.fromisoformat(document[name]) for name in about.times if document.get(name)
            }
            return about.type(**{**document, **times, "stack_id": self._container.stack_id})
        except TypeError as error:
            raise ValueError(f"{with_article(kind)} in this dump is incomplete: {error}") from error

    def _query(self, kind: str, states: Sequence[str]) -> Query:
        query = Query().among("r.place", self._container.places()).among("r.kind", kinds_viewed_as(kind))
        return query.among("r.state", states).readable(self._container)

    def _number(self, query: Query) -> int:
        return self._container.space.records.number_of(*query.sql())

    def _records(self, kind: str, forgotten: bool) -> Iterator[Any]:
        states: tuple[str, ...] = (
            _KEPT if forgotten else (ACTIVE, SUPERSEDED) if kind == "suggestion" else (ACTIVE,)
        )
        if kind != "suggestion" and "is_active" not in DESCRIPTORS[kind].attributes:
            states = tuple(
                item for item in states if item != SUPERSEDED
            )  # it could not say so, and would come back
        where, values = self._query(kind, states).sql()
        rows = list(self._container.space.records.select(where, values, order=_ORDERS.get(kind, NEWEST)))
        self._container.note_denied()
        for start in range(0, len(rows), _AT_ONCE):
            yield from self._container.records(rows[start : start + _AT_ONCE])


def write_whole(path: Path, text: str) -> None:
    """Write a text to a file that only its owner may read, whole or not at all; its folder is made if need be.

    Raises:
        StoreError: it cannot be written; an older file of that name is then as it was.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, text.encode())
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}", "name another file") from error


def _day(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d}" if moment else ""


def _value(record: Value) -> str:
    return f"- **{escaped(record.name)}** (priority {record.priority}): {escaped(record.statement)}\n"


def _belief(record: Belief) -> str:
    return f"- [{record.confidence:.0%}] {escaped(record.statement)}\n"


def _goal(record: Goal) -> str:
    return f"- {_GOAL_MARKS[record.status]} [{record.priority}] {escaped(record.title)}\n"


def _drive(record: Drive) -> str:
    areas = f": {escaped(', '.join(record.focus_areas))}" if record.focus_areas else ""
    return f"- **{record.drive_type}** (intensity {record.intensity:g}){areas}\n"


def _episode(record: Episode) -> str:
    lessons = "".join(f"  - {escaped(lesson)}\n" for lesson in record.lessons or ())
    return f"### {escaped(record.objective)}\n\n*{_day(record.created_at)}* | {escaped(record.outcome)}\n{lessons}\n"


def _note(record: Note) -> str:
    return f"- [{record.note_type}] {escaped(record.content)}\n"


def _relationship(record: Relationship) -> str:
    notes = f": {escaped(record.notes)}" if record.notes else ""
    return f"- **{escaped(record.entity_name)}** ({escaped(record.entity_type)}){notes}\n"


def _playbook(record: Playbook) -> str:
    return f"- **{escaped(record.name)}** ({record.mastery_level}): {escaped(record.description)}\n"


def _raw(record: RawEntry) -> str:
    return f"- [{'done' if record.processed else 'pending'}] {escaped(record.blob or '')}\n"


# Kind to the heading of its section and how one of it is shown.
_SECTIONS: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "value": ("Values", _value),
    "belief": ("Beliefs", _belief),
    "goal": ("Goals", _goal),
    "drive": ("Drives", _drive),
    "episode": ("Episodes", _episode),
    "note": ("Notes", _note),
    "relationship": ("Relationships", _relationship),
    "playbook": ("Playbooks", _playbook),
    "summary": ("Summaries", lambda item: f"- [{item.scope}] {escaped(item.content)}\n"),
    "self_narrative": (
        "Self-Narratives",
        lambda item: f"- [{item.narrative_type}] {escaped(item.content)}\n",
    ),
    RAW: ("Raw Entries", _raw),
}
_ORDERS = {
    "value": f"json_extract(r.fields, '$.priority') DESC, {NEWEST}",
    "belief": f"r.confidence DESC, {NEWEST}",
}
