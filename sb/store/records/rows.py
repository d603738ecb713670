"""How does a record become a row, and a row a record again? By its kind's descriptor; no kind has code of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from sb.store.records.descriptors import DESCRIPTORS, KIND_OF, Descriptor
from sb.store.records.places import Place
from sb.store.records.store import DEFAULTS, Row

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_row(record: Any) -> Row:
    """The columns of a record, but for its place, session and neighbours; `happened_at` may be None.

    Args:
        record: of a type in `sb.types`.

    Raises:
        ValueError: an attribute has a value that it cannot have; TypeError: this is no record.
    """
    kind = KIND_OF.get(type(record))
    if kind is None:
        raise TypeError(f"{type(record).__name__} is no kind of record")
    about = DESCRIPTORS[kind]
    _check(about, record)
    row: Row = {**DEFAULTS, "kind": kind, "source_type": "unknown", "happened_at": None}
    for name, column in about.column_of.items():
        value = getattr(record, name)
        row[column] = to_seconds(value) if name in about.times else value
    if row["tags"] is not None:
        row["tags"] = _json(about, row["tags"])
    row["protected"] = int(row["protected"])
    row["source_type"] = str(row["source_type"])
    row["text"] = searchable(about, record)
    row["key"] = about.normal(getattr(record, about.key)) if about.key else None
    row["fields"] = _fields(about, record, row["text"])
    return row


def searchable(about: Descriptor, record: Any) -> str:
    """What a record is found by: its texts, one after another."""
    parts = (_flat(getattr(record, name)) for name in about.text)
    text = ": ".join(part for part in parts if part)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ValueError(f"{about.text[0]} is no valid text: {error.reason}") from error
    return text


def _flat(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return "; ".join(f"{name} {_flat(one)}" for name, one in value.items())
    if isinstance(value, list | tuple):
        return "; ".join(_flat(one) for one in value)
    return str(value)


def _fields(about: Descriptor, record: Any, text: str) -> str:
    only = about.text[0] if len(about.text) == 1 else None
    kept: dict[str, Any] = {}
    for name in about.in_fields:
        value = getattr(record, name)
        if value is None and name in about.optional:
            continue
        if name == only and value == text and "\0" not in text:
            continue  # the column has it
        kept[name] = value
    return _json(about, kept) if kept else "{}"


def _json(about: Descriptor, value: Any) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError as error:
        raise ValueError(f"a field of this {about.kind} cannot be kept: {error}") from error


def _check(about: Descriptor, record: Any) -> None:
    for name, words in about.vocabulary.items():
        value = getattr(record, name)
        if value not in words:
            raise ValueError(f"{name} is {value!r}, must be one of {', '.join(sorted(words))}")
    for name, (least, most) in about.ranges.items():
        value = getattr(record, name)
        if value is not None and not least <= value <= most:
            raise ValueError(f"{name} is {value!r}, must be from {least:g} to {most:g}")
    for name in about.text[:1]:
        if getattr(record, name) in (None, ""):
            raise ValueError(f"{name} of this {about.kind} is empty")


def to_seconds(moment: datetime | None) -> float | None:
    """Seconds since the epoch, exact to the microsecond; a time without an offset counts as UTC."""
    if moment is None:
        return None
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return ((aware - _EPOCH) // _MICROSECOND) / 1e6


def to_moment(seconds: float | None) -> datetime | None:
    """The time in UTC, exact to the microsecond."""
    if seconds is None or not math.isfinite(seconds):
        return None
    return _EPOCH + timedelta(microseconds=round(seconds * 1e6))


def from_row(row: Row, place: Place, reads: tuple[int, float] | None = None) -> Any:
    """The record that a row holds.

    Args:
        place: where it stands. reads: how often it was read since it was kept, and when last, in seconds.
    """
    about = DESCRIPTORS[row["kind"]]
    kept = orjson.loads(row["fields"])
    values: dict[str, Any] = {}
    for name in about.in_fields:
        if name in kept:
            values[name] = (
                datetime.fromisoformat(kept[name]) if name in about.times and kept[name] else kept[name]
            )
        elif name == about.text[0]:
            values[name] = row["text"]
    for name, column in about.column_of.items():
        values[name] = to_moment(row[column]) if name in about.times else row[column]
    if "tags" in values and values["tags"] is not None:
        values["tags"] = orjson.loads(values["tags"])
    if "is_protected" in values:
        values["is_protected"] = bool(values["is_protected"])
    values["stack_id"] = place.stack
    if about.of_a_brain:
        values |= {"scope": place.scope, "private": bool(place.owner)}
    if reads and "times_accessed" in about.attributes:
        values["times_accessed"] = values.get("times_accessed", 0) + reads[0]
        values["last_accessed"] = to_moment(reads[1])
    return about.type(**values)
