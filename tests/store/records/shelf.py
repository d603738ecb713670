"""A database of its own, in which a test keeps records and reads them back as any program does."""

from __future__ import annotations

import itertools
import types
import typing
from dataclasses import MISSING, fields, replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from sb.base.secrets.redaction import may_be_sensitive
from sb.base.sources import CountingIds, SteeredClock
from sb.config.memory import Memory
from sb.protocols.types import Remembered
from sb.store.database import open_database
from sb.store.records.columns import Row
from sb.store.records.descriptors import DESCRIPTORS
from sb.store.records.places import Place, Places
from sb.store.records.reads import ReadLog
from sb.store.records.rows import from_row, to_row
from sb.store.records.store import RecordStore

NOW = datetime(2027, 1, 15, 8, 0, tzinfo=UTC)  # where a steered clock stands
FILLED = (
    "happened_at",
    "created_at",
    "updated_at",
)  # columns that say when it was kept, unless they are told


class Shelf:
    """Records in one file."""

    def __init__(self, path: Path) -> None:
        clock = SteeredClock()
        self.database = open_database(path, clock=clock, ids=CountingIds())
        self.store = RecordStore(self.database, clock=clock)
        self.places = Places(self.database)
        self.reads = ReadLog(self.database)
        self._numbers = itertools.count()

    def keep(self, record: Any) -> Row:
        """Keep a record at its place; returns its row as the database has it."""
        row = to_row(record)
        row.setdefault("agent", "tester")
        for name in FILLED:
            row[name] = NOW.timestamp() if row.get(name) is None else row[name]
        with self.database.write() as execute:
            row["place"] = self.places.make(execute, place_of(record))
            (number,) = self.store.insert(execute, [row])
        stored = self.store.row(number)
        assert stored is not None
        return stored

    def read(self, row: Row) -> Any:
        """The record of a row."""
        place = self.places.numbered(row["place"])
        return from_row(row, place, self.reads.stats([row["id"]]).get(row["id"]))

    def apart(self, record: Any) -> Any:
        """The record with an id and a place of its own, so that none that was kept before is in its way."""
        number = next(self._numbers)
        return replace(record, id=f"{record.id}#{number}", stack_id=f"{record.stack_id}#{number}")

    def close(self) -> None:
        self.database.close()


def place_of(record: Any) -> Place:
    if isinstance(record, Remembered):
        return Place(record.stack_id, record.scope, record.agent_id if record.private else "")
    return Place(record.stack_id)


def as_kept(record: Any, kind: str) -> Any:
    """The record as it comes back: what says when it was kept is filled, and every time is aware."""
    about = DESCRIPTORS[kind]
    filled = {name: NOW for name, column in about.column_of.items() if column in FILLED}
    values = {}
    for name in about.times:
        value = getattr(record, name) or filled.get(name)
        values[name] = value.replace(tzinfo=UTC) if value and value.tzinfo is None else value
    if kind == "raw":
        values["timestamp"] = values["captured_at"]
    return replace(record, **values)


NAMES = st.text("klmno.- é0ø", max_size=8)  # none that says a secret, such as SECRET: its value is masked
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1).filter(lambda number: not may_be_sensitive(str(number)))  # no card's
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
_OFFSETS: Any = st.none() | st.integers(-50_000, 50_000).map(lambda s: timezone(timedelta(seconds=s)))
TIMES = st.datetimes(timezones=_OFFSETS)
RECENT = st.datetimes(datetime(1850, 1, 1), datetime(2100, 1, 1), timezones=_OFFSETS)
SCOPES = st.sampled_from(["global", "project:a", "project:ä/β", "team:x:y"])
_BY_TYPE: dict[Any, st.SearchStrategy[Any]] = {
    str: st.text(max_size=40),
    int: st.integers(0, 2**53),
    float: st.floats(-1e300, 1e300),
    bool: st.booleans(),
    datetime: TIMES,
    Any: JSON,
}


def values_of(hint: Any) -> st.SearchStrategy[Any]:
    """Any value that a type hint allows."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return st.one_of(
            [st.none() if argument is type(None) else values_of(argument) for argument in arguments]
        )
    if origin is list:
        return st.lists(values_of(arguments[0]), max_size=4)
    if origin is dict:
        return st.dictionaries(NAMES, values_of(arguments[1]), max_size=3)
    return _BY_TYPE[hint]


UNTRUSTED = frozenset(Memory().quarantine)  # source types whose memories are quarantined


def records_of(kind: str) -> st.SearchStrategy[Any]:
    """Any record of a kind that can be kept, with every field at random."""
    about = DESCRIPTORS[kind]
    hints = get_type_hints(about.type)
    given = {name: values_of(hints[name]) for name in about.attributes}
    given |= {name: st.floats(least, most) for name, least, most in about.ranges if hints[name] is float}
    given |= {name: st.sampled_from(sorted(words - UNTRUSTED)) for name, words in about.vocabulary.items()}
    given["id"] = st.uuids().map(str)
    given["stack_id"] = st.uuids().map(
        str
    )  # a place of its own, so that no two records have the same key there
    first = about.text[0]
    if first not in about.vocabulary and hints[first] in (str, str | None):
        given[first] = st.text(min_size=1).filter(str.strip)
    if about.of_a_brain:
        given |= {"scope": SCOPES, "agent_id": st.text(min_size=1, max_size=8)}
    if about.reads:
        given["last_accessed"] = st.none() | RECENT
    for twin in about.twins:
        del given[twin]
    return st.builds(about.type, **given)


def full_record(kind: str) -> Any:
    """A record of which no field has its default."""
    about = DESCRIPTORS[kind]
    hints = get_type_hints(about.type)
    found: dict[str, Any] = {}
    for number, field in enumerate(fields(about.type)):
        default = None if field.default is MISSING else field.default
        found[field.name] = _unlike(default, hints[field.name], number)
        if field.name in about.vocabulary:
            found[field.name] = max(about.vocabulary[field.name] - {default} - UNTRUSTED)
    if about.of_a_brain:
        found["scope"] = "project:full"
    for twin in about.twins:
        del found[twin]
    return about.type(**found)


def _unlike(default: Any, hint: Any, number: int) -> Any:
    if get_origin(hint) in (typing.Union, types.UnionType):
        (hint,) = (arg for arg in get_args(hint) if arg is not type(None))
    if get_origin(hint) is list:
        return [_unlike(None, get_args(hint)[0], number)]
    if get_origin(hint) is dict:
        return {f"name {number}": _unlike(None, get_args(hint)[1], number)}
    made = {
        str: f"text {number}",
        Any: f"any {number}",
        int: 1000 + number,
        float: 1 / (3 + number),
        bool: not default,
        datetime: NOW - timedelta(days=number, microseconds=1),
    }
    return made[hint]
