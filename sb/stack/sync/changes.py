"""The change document of one record, in parts that merge independently.

The format is in docs/guides/sync.md. What only concerns one database (its numbers, version, index, reads, fading) is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

import orjson

from sb.base.values.canonical import MAX_INTEGER
from sb.base.values.frozen import frozen
from sb.errors import CheckFailed
from sb.memory.record_writer import count_words
from sb.store.records.columns import ACTIVE, DEFAULTS, FORGOTTEN, QUARANTINED, SUPERSEDED, Row
from sb.store.records.descriptors import DESCRIPTORS
from sb.store.records.places import Place, check_not_reserved, checked_scope
from sb.store.records.rows import from_row, to_row
from sb.store.records.sessions import Session

FORMAT = 1
TEXT, STANDING, TRUST, KEYED = "text", "standing", "trust", "keyed"
_COLUMNS = ("category", "speaker", "happened_at", "source_type")
_FIELD = "fields."
# Fields that say something of one database: a time that its column cannot hold is also a field.
_OF_ONE_DATABASE = {
    kind: {"cloud_synced_at", *(name for name, column in about.column_of.items() if column == "updated_at")}
    for kind, about in DESCRIPTORS.items()
}
_STATES = (ACTIVE, FORGOTTEN, QUARANTINED, SUPERSEDED)
_IMPOSSIBLE = (ValueError, TypeError, KeyError, AttributeError, OverflowError)
_NEWER = "update secondbrain here, then sync again"

Dot = tuple[str, int]  # a database, and which of its changes
Seen = Mapping[str, int]  # database to the last of its changes that is known


@frozen
class Relation:
    """A relation of a record to another one.

    Args:
        target: the public id of the other. at: seconds since the epoch.
        inward: whether it leads from the other to this one. A relation to what somebody keeps for itself is told so.
    """

    relation: str
    target: str
    weight: float
    agent: str
    at: float
    inward: bool = False

    def as_list(self) -> list[Any]:
        """The relation as a JSON list."""
        return [
            self.relation,
            self.target,
            self.weight,
            self.agent,
            self.at,
            *([True] if self.inward else ()),
        ]


@frozen
class Change:
    """A record as it was when a database last told of it.

    Args:
        seen: the changes that went into it. parts: what it says, by part; a part that is missing says nothing.
        dots: which change each part comes from. session: in which it was written.
        erased_by: who erased it, if it is a tombstone; parts and relations are empty then.
    """

    uid: str
    kind: str
    place: Place
    agent: str
    created_at: float
    seen: Seen
    parts: Mapping[str, Any] = field(default_factory=dict)
    dots: Mapping[str, Dot] = field(default_factory=dict)
    relations: tuple[Relation, ...] = ()
    session: Session | None = None
    erased_by: str | None = None

    @property
    def erased(self) -> bool:
        return self.erased_by is not None

    def dot(self, part: str) -> Dot:
        """Returns the change that a part comes from; ("", 0), which everyone knows, for a part that never existed."""
        return self.dots.get(part, ("", 0))

    def document(self) -> bytes:
        """The change as JSON."""
        payload: dict[str, Any] = {
            "format": FORMAT,
            "stack": self.place.stack,
            "scope": self.place.scope,
            "owner": self.place.owner,
            "uid": self.uid,
            "kind": self.kind,
            "agent": self.agent,
            "created_at": self.created_at,
            "seen": dict(self.seen),
        }
        if self.erased_by is not None:
            return orjson.dumps({**payload, "erased_by": self.erased_by})
        payload |= {
            "parts": dict(self.parts),
            "dots": {part: list(dot) for part, dot in self.dots.items()},
            "relations": [relation.as_list() for relation in self.relations],
        }
        if self.session is not None:
            own_session = self.session
            payload["session"] = [
                own_session.name,
                own_session.agent,
                own_session.scope,
                own_session.started_at,
                own_session.ended_at,
            ]
        return orjson.dumps(payload)


def parse(document: bytes) -> Change:
    """Parses a change document.

    Raises:
        CheckFailed: it is damaged, or of a kind or format that this version does not know.
    """
    try:
        payload = orjson.loads(document)
        if payload["format"] != FORMAT:
            raise CheckFailed(
                f"a change has format {payload['format']!r}, this version reads {FORMAT}", _NEWER
            )
        place = Place(
            _text(payload["stack"]),
            checked_scope(_text(payload["scope"])),
            _text(payload["owner"], empty=True),
        )
        check_not_reserved(place.owner)
        common: dict[str, Any] = {
            "uid": _text(payload["uid"]),
            "kind": _known(_text(payload["kind"])),
            "place": place,
            "agent": _text(payload["agent"], empty=True),
            "created_at": _number(payload["created_at"]),
            "seen": {_text(name): _whole(count) for name, count in payload["seen"].items()},
        }
        if "erased_by" in payload:
            return Change(**common, erased_by=_text(payload["erased_by"], empty=True))
        return Change(
            **common,
            parts=dict(payload["parts"]),
            dots={part: (_text(dot[0]), _whole(dot[1])) for part, dot in payload["dots"].items()},
            relations=tuple(_relation(relation) for relation in payload["relations"]),
            session=_session(payload["session"], place.stack) if "session" in payload else None,
        )
    except _IMPOSSIBLE as error:
        if isinstance(error, CheckFailed):
            raise
        raise damaged(str(error)) from None


def parts_of(row: Row) -> dict[str, Any]:
    """Splits a row into parts."""
    about, own = DESCRIPTORS[row["kind"]], _OF_ONE_DATABASE[row["kind"]]
    fields = orjson.loads(row["fields"])
    texts = {name: fields.pop(name) for name in (*about.text, *about.also) if name in fields}
    if about.said_by_text:
        texts.setdefault(about.text[0], row["text"])
    parts: dict[str, Any] = {
        TEXT: texts,
        STANDING: {name: row[name] for name in ("state", "strength", "protected")},
        TRUST: None if row["confidence"] is None else [row["confidence"], row["evidence_n"]],
        KEYED: True if row["key"] is not None else None,
        "tags": orjson.loads(row["tags"]) if row["tags"] else None,
        **{name: row[name] for name in _COLUMNS},
        **{_FIELD + name: value for name, value in fields.items() if name not in own},
    }
    return {name: value for name, value in parts.items() if value is not None}


def row_of(change: Change) -> Row:
    """The row that says what a change says, but for its place, session and neighbours.

    Raises:
        CheckFailed: no record can say that.
    """
    parts = change.parts
    try:
        standing, trust = parts[STANDING], parts.get(TRUST)
        fields = {
            name.removeprefix(_FIELD): value for name, value in parts.items() if name.startswith(_FIELD)
        }
        columns: Row = {
            **DEFAULTS,
            **{name: parts.get(name) for name in _COLUMNS},
            "uid": change.uid,
            "kind": change.kind,
            "agent": change.agent,
            "created_at": change.created_at,
            "updated_at": change.created_at,
            "happened_at": _number(parts["happened_at"]),
            "state": standing["state"],
            "strength": _number(standing["strength"]),
            "protected": _whole(standing["protected"]),
            "tags": orjson.dumps(parts["tags"]).decode() if "tags" in parts else None,
            "fields": orjson.dumps(fields | parts[TEXT]).decode(),
            "text": "",
        }
        if trust is not None:
            columns["confidence"], columns["evidence_n"] = _number(trust[0]), _number(trust[1])
        if columns["state"] not in _STATES:
            raise ValueError(f"its state is {columns['state']!r}")
        row = to_row(from_row(columns, change.place), columns)
    except _IMPOSSIBLE as error:
        raise damaged(f"{change.uid} cannot be read: {error}") from None
    for name in ("uid", "agent", "state", "created_at", "updated_at", "happened_at"):
        row[name] = columns[name]
    row["key"] = row["key"] if parts.get(KEYED) else None
    row["text"] = row["text"].replace("\0", " ")  # as it is stored
    count_words(row)
    return row


def together(left: Seen, right: Seen) -> dict[str, int]:
    """The changes that either has seen."""
    return {name: max(left.get(name, 0), right.get(name, 0)) for name in (*left, *right)}


def covers(left: Seen, right: Seen) -> bool:
    """True if one has seen all that the other has."""
    return all(left.get(name, 0) >= count for name, count in right.items())


def united(left: Iterable[Relation], right: Iterable[Relation]) -> tuple[Relation, ...]:
    """The relations of both, each with the larger weight."""
    found: dict[tuple[str, str, bool], Relation] = {}
    for relation in (*left, *right):
        name = (relation.relation, relation.target, relation.inward)
        former = found.get(name)
        if former is None or former.weight < relation.weight:
            found[name] = relation
    return tuple(found.values())


def damaged(what: str) -> CheckFailed:
    """The error for what no database of this stack would have written."""
    return CheckFailed(
        f"received change is damaged: {what}", "nothing was imported; check the other database"
    )


def _known(kind: str) -> str:
    if kind not in DESCRIPTORS:
        raise CheckFailed(f"a change is of kind {kind!r}, which this version does not know", _NEWER)
    return kind


def _relation(document: Sequence[Any]) -> Relation:
    relation, target, weight, agent, at, *inward = document
    if _number(weight) < 0:
        raise ValueError("a relation has a weight below 0")
    if inward not in ([], [True]):
        raise ValueError(f"{inward!r} is not a direction")
    about = _text(relation), _text(target), float(weight), _text(agent, empty=True), _number(at)
    return Relation(*about, inward=bool(inward))


def _session(document: Sequence[Any], stack: str) -> Session:
    name, agent, scope, started, ended = document
    return Session(
        0,
        _text(name),
        _text(agent),
        stack,
        checked_scope(_text(scope)),
        _number(started),
        None if ended is None else _number(ended),
    )


def _text(value: Any, *, empty: bool = False) -> str:
    if not isinstance(value, str) or not (value or empty):
        raise ValueError(f"{value!r} is not a string")
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r} is not a number")
    return float(value)


def _whole(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= MAX_INTEGER:
        raise ValueError(f"{value!r} is not a whole number")
    return value
