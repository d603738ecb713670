"""Mappings with declared fields: read strictly, with every problem and its line, and described as JSON Schema."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Generic, NamedTuple, TypeVar

from sb.config.document import SHOWN, Report
from sb.frozen import frozen
from sb.located import line_of, unfilled
from sb.text import json_text, nearest, plain, shorten

MAX_DEPTH = 32  # of a value without declared fields

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)


class WrongValue(Exception):
    """A value that cannot be used. What is wrong is in the report already."""


class Place(NamedTuple):
    """Where a value stands.

    Args:
        key: with dots and indexes, such as `cases[2].trajectory`. line: from 1; 0 if nobody knows.
        value: what stands there, for who reads more than one of its fields.
    """

    report: Report
    key: str = ""
    line: int = 0
    value: Any = None

    def below(self, container: Any, key: str | int) -> Place:
        """The place of an item of `container`, which stands here."""
        name = (
            f"{self.key}[{key}]"
            if isinstance(key, int)
            else f"{self.key}.{shorten(str(key), SHOWN)}".removeprefix(".")
        )
        return Place(self.report, name, line_of(container, key) or self.line, container[key])

    def refuse(self, message: str, hint: str = "") -> WrongValue:
        """Report a problem; the caller raises what this returns."""
        self.report.add(
            self.line,
            plain(self.key, one_line=True),
            plain(message, one_line=True),
            plain(hint, one_line=True),
        )
        return WrongValue()


class Kind(NamedTuple, Generic[T]):
    """What a value must be.

    Args:
        read: makes it of what a file holds, or raises WrongValue. schema: the same as JSON Schema.
    """

    read: Callable[[Any, Place], T]
    schema: Mapping[str, Any]


@frozen
class Field:
    """One key of a mapping.

    Args:
        about: what it is for, in one line.
    """

    name: str
    kind: Kind[Any]
    about: str = ""
    required: bool = False


def describe(value: Any) -> str:
    """A value for "must be …, not …"."""
    if value is None:
        return "nothing"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, str | bool | int | float):
        return shorten(json_text(value), SHOWN)
    return f"a value of type {type(value).__name__}"


def read_fields(value: Any, fields: Sequence[Field], place: Place) -> dict[str, Any]:
    """The fields that are there, by name.

    Raises:
        WrongValue: it is no mapping, a key is unknown or missing, or a value is wrong; the report has all of it.
    """
    if not isinstance(value, Mapping):
        raise place.refuse(f"must be a mapping, not {describe(value)}")
    known = {field.name: field for field in fields}
    values: dict[str, Any] = {}
    complete = True
    for key, item in value.items():
        at = place.below(value, key)
        if key not in known:
            at.refuse(f"unknown key{nearest(str(key), known)}", f"known here: {', '.join(known)}")
            complete = False
            continue
        try:
            values[key] = known[key].kind.read(item, at)
        except WrongValue:
            complete = False
    mistyped = any(key not in known for key in value)  # and then perhaps what is missing
    for field in fields:
        if field.required and field.name not in value and not mistyped:
            place.refuse(f"{field.name} is missing", field.about)
            complete = False
    if not complete:
        raise WrongValue
    return values


def schema_of(fields: Sequence[Field]) -> dict[str, Any]:
    """The JSON Schema of a mapping with these fields."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            field.name: {**field.kind.schema, **({"description": field.about} if field.about else {})}
            for field in fields
        },
        "additionalProperties": False,
    }
    if required := [field.name for field in fields if field.required]:
        schema["required"] = required
    return schema


def record(fields: Sequence[Field], build: Callable[[dict[str, Any], Place], T]) -> Kind[T]:
    """A mapping with these fields, made into what `build` returns."""

    def read(value: Any, place: Place) -> T:
        return build(read_fields(value, fields, place), place._replace(value=value))

    return Kind(read, schema_of(fields))


def text(*, empty: bool = False) -> Kind[str]:
    """A text; without `empty` it must hold a character."""

    def read(value: Any, place: Place) -> str:
        if not isinstance(value, str):
            hint = "put it in quotes" if isinstance(value, bool | int | float) else ""
            raise place.refuse(f"must be a text, not {describe(value)}", hint)
        if not (value or empty):
            raise place.refuse("must not be empty")
        return str(value)

    return Kind(read, {"type": "string"} if empty else {"type": "string", "minLength": 1})


def texts() -> Kind[tuple[str, ...]]:
    """A text, or a list of texts."""
    item, several = text(), items(text())

    def read(value: Any, place: Place) -> tuple[str, ...]:
        return several.read(value, place) if isinstance(value, list | tuple) else (item.read(value, place),)

    return Kind(read, {"anyOf": [item.schema, several.schema]})


def items(kind: Kind[T], *, least: int = 1, most: int = 0) -> Kind[tuple[T, ...]]:
    """A list of values of one kind.

    Args:
        least, most: how many items it must and may have; 0 for any number.
    """

    def read(value: Any, place: Place) -> tuple[T, ...]:
        if not isinstance(value, list | tuple):
            raise place.refuse(f"must be a list, not {describe(value)}")
        if len(value) < least:
            raise place.refuse("must not be empty")
        if most and len(value) > most:
            raise place.refuse(f"has {len(value):,} items, may have {most:,}")
        out, complete = [], True
        for index, item in enumerate(value):
            try:
                out.append(kind.read(item, place.below(value, index)))
            except WrongValue:
                complete = False
        if not complete:
            raise WrongValue
        return tuple(out)

    bounds = {"minItems": least} if least else {}
    return Kind(
        read, {"type": "array", "items": kind.schema, **bounds, **({"maxItems": most} if most else {})}
    )


def flag() -> Kind[bool]:
    """True or false."""

    def read(value: Any, place: Place) -> bool:
        if not isinstance(value, bool):
            raise place.refuse(f"must be true or false, not {describe(value)}")
        return value

    return Kind(read, {"type": "boolean"})


def integer(low: int, high: int) -> Kind[int]:
    """A whole number from `low` to `high`."""

    def read(value: Any, place: Place) -> int:
        value = unfilled(value)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise place.refuse(f"must be a whole number from {low} to {high:,}, not {describe(value)}")
        return value

    return Kind(read, {"type": "integer", "minimum": low, "maximum": high})


def number(low: float = -math.inf, high: float = math.inf, *, above: bool = False) -> Kind[float]:
    """A finite number from `low` to `high`; with `above` it must be more than `low`."""
    bounds = [] if low == -math.inf else [f"above {low:g}" if above else f"at least {low:g}"]
    bounds += [] if high == math.inf else [f"at most {high:g}"]
    says = " ".join(["a number", " and ".join(bounds)]).strip()

    def read(value: Any, place: Place) -> float:
        value = unfilled(value)
        real = isinstance(value, int | float) and not isinstance(value, bool)
        if not real or not (low < value if above else low <= value) or not value <= high or value in _ENDLESS:
            raise place.refuse(f"must be {says}, not {describe(value)}")
        return value  # type: ignore[no-any-return] # an int stays one, and a huge one fits into no float

    schema: dict[str, Any] = {"type": "number"}
    if low != -math.inf:
        schema["exclusiveMinimum" if above else "minimum"] = low
    if high != math.inf:
        schema["maximum"] = high
    return Kind(read, schema)


_ENDLESS = (math.inf, -math.inf)


def choice(enum: type[E]) -> Kind[E]:
    """A word of an enum."""
    words = [member.value for member in enum]

    def read(value: Any, place: Place) -> E:
        if not isinstance(value, str) or value not in words:
            close = nearest(value, words) if isinstance(value, str) else ""
            raise place.refuse(f"must be {' or '.join(words)}, not {describe(value)}{close}")
        return enum(value)

    return Kind(read, {"enum": words})


def anything() -> Kind[Any]:
    """Any JSON value."""

    return Kind(lambda value, place: _json(value, place, 0), {})


def mapping(kind: Kind[T] | None = None) -> Kind[Mapping[str, T]]:
    """A mapping of names to values of one kind, by default to any JSON value."""
    of = kind or anything()

    def read(value: Any, place: Place) -> Mapping[str, T]:
        if not isinstance(value, Mapping):
            raise place.refuse(f"must be a mapping, not {describe(value)}")
        for key in value:
            if not isinstance(key, str):
                raise place.refuse(f"the key {describe(key)} is no text", "put it in quotes")
        return {key: of.read(item, place.below(value, key)) for key, item in value.items()}

    return Kind(read, {"type": "object", **({"additionalProperties": kind.schema} if kind else {})})


def _json(value: Any, place: Place, depth: int) -> Any:
    """A copy of a JSON value."""
    if depth > MAX_DEPTH:
        raise place.refuse(f"is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise place.refuse(f"the key {describe(key)} is no text", "put it in quotes")
        return {key: _json(item, place.below(value, key), depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json(item, place.below(value, index), depth + 1) for index, item in enumerate(value)]
    if isinstance(value, float) and math.isnan(value):
        raise place.refuse("is not a number: nothing equals it")
    if not isinstance(value, str | bool | int | float | None):
        raise place.refuse(f"must be a JSON value, not {describe(value)}")
    return unfilled(value)
