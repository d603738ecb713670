"""Convert records to rows and back, by the descriptor of their kind.

An attribute has one home: a column, the record's place, the counts of its reads, or else `fields`, as JSON. The
column `text` is home to the only text of a kind that has one. A time that a column cannot hold to the microsecond
also stands in `fields`, which wins.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from sb.store.records.checks import check, check_numbers, check_text
from sb.store.records.columns import DEFAULTS, ERASED, Row
from sb.store.records.descriptor import Descriptor
from sb.store.records.descriptors import DESCRIPTORS, KIND_OF
from sb.store.records.places import Place

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LEAST = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
_MOST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
_EXACT = 2.0**32  # seconds either side of 1970 in which a float tells microseconds apart: 1833 to 2106
_BLANK: Row = {**DEFAULTS, "source_type": "unknown", "happened_at": None}
# What JSON has no word for is refused, not turned into something else that would come back.
_STRICT = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS


def to_row(record: Any, former: Row | None = None) -> Row:
    """The columns of a record, but for its place, session and neighbours; `happened_at` may be None.

    Beside the columns of `records` it has `accessed` and `last_accessed`, where a new record's reads start.

    Args:
        record: of a type in `sb.protocols.types`.
        former: the row that this one takes the place of: what a newer version of `sb` wrote into its `fields` and
            this one does not know is kept.

    Raises:
        ValueError: an attribute has a value that it cannot have. TypeError: this is no record.
    """
    kind = KIND_OF.get(type(record))
    if kind is None:
        raise TypeError(f"{type(record).__name__} is not a record kind")
    about = DESCRIPTORS[kind]
    attributes = vars(record)
    check(about, attributes)
    extras = {} if former is None else _unknown(about, former)
    row: Row = _BLANK.copy()
    row["kind"] = kind
    for name, column in about.homes:
        row[column] = attributes[name]
    for name in about.times_in_columns:
        if attributes[name] is not None:
            row[about.column_of[name]] = seconds = to_seconds(attributes[name])
            if not -_EXACT < seconds < _EXACT:
                extras[name] = attributes[name]
    if about.reads:
        last = attributes["last_accessed"]
        row["accessed"], row["last_accessed"] = (
            attributes["times_accessed"],
            None if last is None else to_seconds(last),
        )
    if row["tags"] is not None:
        row["tags"] = _json(about, "tags", row["tags"])
    row["protected"] = int(row["protected"])
    row["source_type"] = str(row["source_type"])
    row["text"] = searchable(about, attributes)
    row["key"] = about.normal(attributes[about.key]) if about.key else None
    for column, name in about.texts:
        if row[column] and not row[column].isascii():
            check_text(name, row[column])
    row["fields"] = _fields(about, attributes, extras, row["text"])
    return row


def content(record: Any) -> str:
    """Returns the text of a record in one line."""
    about = DESCRIPTORS[KIND_OF[type(record)]]
    return _joined(about.text, vars(record))


def searchable(about: Descriptor, attributes: Mapping[str, Any]) -> str:
    """Returns the text that the index holds of a record."""
    return _joined(about.text + about.also, attributes)


def _joined(names: tuple[str, ...], attributes: Mapping[str, Any]) -> str:
    if len(names) == 1:
        return _flat(attributes[names[0]])
    return ": ".join(text for name in names if (text := _flat(attributes[name])))


def _flat(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return "; ".join(f"{name} {_flat(item)}" for name, item in value.items())
    if isinstance(value, list | tuple):
        return "; ".join(_flat(item) for item in value)
    return str(value)


def _fields(about: Descriptor, attributes: Mapping[str, Any], fields: dict[str, Any], text: str) -> str:
    for name in about.in_fields:
        value = attributes[name]
        if value is not None or name not in about.optional:
            fields[name] = value
    if about.said_by_text and fields.get(about.text[0]) == text and "\0" not in text:
        del fields[about.text[0]]  # the column has it; of a NUL it has a space
    if not fields:
        return "{}"
    for name in about.times & fields.keys():
        fields[name] = _aware(fields[name]).isoformat()
    return _json(about, "a field", fields)


def _json(about: Descriptor, name: str, value: Any) -> str:
    try:
        text = orjson.dumps(value, option=_STRICT).decode()
    except TypeError as error:
        raise ValueError(f"{name} of this {about.kind} cannot be stored: {error}") from error
    if "null" in text:  # which is what becomes of a NaN
        for inner, item in value.items() if isinstance(value, dict) else ():
            check_numbers(inner, item)
    return text


def _unknown(about: Descriptor, former: Row) -> dict[str, Any]:
    found = orjson.loads(former["fields"])
    return {name: found[name] for name in found.keys() - set(about.attributes)}


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def to_seconds(moment: datetime) -> float:
    """Seconds since the epoch, exact to the microsecond from 1833 to 2106; a time without an offset counts as UTC."""
    return ((_aware(moment) - _EPOCH) // _MICROSECOND) / 1e6


def to_moment(seconds: float | None) -> datetime | None:
    """The time in UTC, exact to the microsecond from 1833 to 2106; None for None and what is not finite."""
    if seconds is None or not math.isfinite(seconds):
        return None
    return _EPOCH + timedelta(microseconds=max(_LEAST, min(_MOST, round(seconds * 1e6))))


def from_row(row: Row, place: Place, reads: tuple[int, float] | None = None) -> Any:
    """The record that a row holds.

    Args:
        place: where it stands. reads: how often it was read, and when last, in seconds.

    Raises:
        ValueError: it was erased, or a newer version of `sb` wrote it.
    """
    about = DESCRIPTORS.get(row["kind"])
    if about is None:
        raise ValueError(f"{row['uid']} is of kind {row['kind']!r}, which this version of sb does not know")
    if row["state"] == ERASED:
        raise ValueError(f"{row['uid']} is erased")
    found = orjson.loads(row["fields"])
    values = {name: row[column] for name, column in about.column_of.items()}
    for name in about.times_in_columns:
        values[name] = to_moment(values[name])
    if values.get("tags") is not None:
        values["tags"] = orjson.loads(values["tags"])
    if "is_protected" in values:
        values["is_protected"] = bool(values["is_protected"])
    for name in found.keys() & about.known:
        values[name] = datetime.fromisoformat(found[name]) if name in about.times else found[name]
    if about.said_by_text:
        values.setdefault(about.text[0], row["text"])
    values["stack_id"] = place.stack
    if about.of_a_brain:
        values |= {"scope": place.scope, "private": bool(place.owner)}
    if reads is not None and about.reads:
        values["times_accessed"], values["last_accessed"] = reads[0], to_moment(reads[1])
    return about.type(**values)
