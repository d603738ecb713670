"""The one strict reader: declare a value's kind or a mapping's fields once, and get values, faults and JSON Schema.

A kind reads what a file holds and raises `WrongValue` once it has reported each fault with its line. Values are those of
JSON, or `Word`s: text as it was written, of which the kind decides what it means.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

from sb.base.duration import parse_duration
from sb.base.located import Word, line_of, unfilled
from sb.base.text import json_text, nearest, plain, shorten
from sb.base.values.frozen import frozen
from sb.errors import ConfigError, UsageError

MAX_DEPTH = 32  # of a value without declared fields
SHOWN = 80  # characters of a foreign value in a message
_MOST_NAMED = 4  # further problems in a hint
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*(?:_[0-9]+)*)")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
_ENDLESS = (math.inf, -math.inf)
_SIMPLE = (str, int, float)  # types of defaults that a schema can hold

T = TypeVar("T")
W = TypeVar("W", bound=str)


class Problem(NamedTuple):
    """One thing that is wrong; `str` makes it `file:line: key: message`.

    Args:
        line: counted from 1; 0 when the problem is not on a line.
        key: of the setting, with dots, or "".
    """

    source: str
    line: int
    key: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        place = f"{self.source}:{self.line}" if self.line else self.source
        return ": ".join(part for part in (place, self.key, self.message) if part)


class Report:
    """The problems of one source: a file, a flag or an environment variable.

    Args:
        base: the folder where its relative paths start. env: for `~`.
    """

    def __init__(self, source: str, base: Path = Path(), env: Mapping[str, str] | None = None) -> None:
        self.source = plain(source, one_line=True)
        self.base = base
        self.env = env or {}
        self.problems: list[Problem] = []

    def add(self, line: int, key: str, message: str, hint: str = "") -> None:
        self.problems.append(Problem(self.source, line, key, message, hint))

    def in_order(self) -> tuple[Problem, ...]:
        return tuple(sorted(self.problems, key=lambda problem: problem.line))

    def require_none(self, listing: str = "sb config check") -> None:
        """Raise ConfigError with the first problem, and the number of the others, if there is any.

        Args:
            listing: the command that lists the problems of this source; "" where none does: then the hint names them.
        """
        if not self.problems:
            return
        first, *others = self.in_order()
        if not others:
            raise ConfigError(str(first), first.hint)
        named = (each._replace(source=f"line {each.line}", line=0) for each in others[:_MOST_NAMED])
        lists = f"{listing} lists all" if listing else f"also {'; '.join(map(str, named))}"
        raise ConfigError(f"{first} (and {len(others)} more)", first.hint or lists)


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
    """Kind of a value.

    Args:
        read: makes it of what a file holds, or raises WrongValue. schema: the same as JSON Schema.
        label: the same in words, as in "must be …", for messages and references.
    """

    read: Callable[[Any, Place], T]
    schema: Mapping[str, Any]
    label: str = "a value"


@frozen
class Field:
    """One key of a mapping.

    Args:
        about: what it is for, in one line; the hint where it is missing.
        default: what a mapping without the key has; without one, `read_fields` leaves it out.
    """

    name: str
    kind: Kind[Any]
    about: str = ""
    required: bool = False
    default: Any = ...


def describe(value: Any) -> str:
    """A value for "must be …, not …"."""
    if isinstance(value, Word):
        shown = shorten(value, SHOWN) if value.bare else f'"{shorten(value, SHOWN)}"'
        return "nothing" if value.missing else shown
    if value is None:
        return "nothing"
    if isinstance(value, Mapping | list | tuple):
        return "a mapping" if isinstance(value, Mapping) else "a list"
    if isinstance(value, str | bool | int | float):
        return shorten(json_text(value), SHOWN)
    return f"a value of type {type(value).__name__}"


# --- mappings with declared fields


def known_fields(
    value: Any, fields: Mapping[str, Field], place: Place, hint: Callable[[Any], str] | None = None
) -> Iterator[tuple[Field, Any, Place]]:
    """The entries of a mapping that are right, each with its value and its place; the others are reported.

    Args:
        hint: says what to do about an unknown key, by default which keys are known.
    """
    for key, item in value.items():
        at = place.below(value, key)
        if key not in fields:
            known = hint(key) if hint else f"known here: {', '.join(fields)}"
            at.refuse(f"unknown key{nearest(str(key), fields)}", known)
            continue
        try:
            read = fields[key].kind.read(item, at)
        except WrongValue:
            continue
        yield fields[key], read, at


def read_fields(
    value: Any, fields: Sequence[Field], place: Place, label: str = "a mapping"
) -> dict[str, Any]:
    """The fields that are there or have a default, by name.

    Raises:
        WrongValue: it is no mapping, a key is unknown or missing, or a value is wrong; the report has all of it.
    """
    known = {field.name: field for field in fields}
    if not isinstance(value, Mapping):
        raise place.refuse(f"must be {label}, not {describe(value)}", f"its keys: {', '.join(known)}")
    before = len(place.report.problems)
    values = {field.name: read for field, read, _ in known_fields(value, known, place)}
    mistyped = any(key not in known for key in value)  # and then perhaps what is missing
    for field in fields:
        if field.name in value:
            continue
        if field.default is not ...:
            values[field.name] = field.default
        elif field.required and not mistyped:
            place.refuse(f"{field.name} is missing", field.about)
    if len(place.report.problems) > before:
        raise WrongValue
    return values


def schema_of(fields: Sequence[Field]) -> dict[str, Any]:
    """The JSON Schema of a mapping with these fields."""
    properties = {field.name: dict(field.kind.schema) for field in fields}
    for field in fields:
        properties[field.name] |= {"description": field.about} if field.about else {}
        properties[field.name] |= {"default": field.default} if isinstance(field.default, _SIMPLE) else {}
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    if required := [field.name for field in fields if field.required]:
        schema["required"] = required
    return schema


def record(
    fields: Sequence[Field], build: Callable[[dict[str, Any], Place], T], label: str = "a mapping"
) -> Kind[T]:
    """A mapping with these fields, made into what `build` returns."""

    def read(value: Any, place: Place) -> T:
        return build(read_fields(value, fields, place, label), place._replace(value=value))

    return Kind(read, schema_of(fields), label)


# --- single values


def leaf(
    label: str,
    meaning: Callable[[Any], T | None],
    schema: Mapping[str, Any],
    hint: str = "",
    near: Callable[[str], str] = lambda word: "",
) -> Kind[T]:
    """A single value, read by `meaning`, which returns None for a wrong one.

    Args:
        near: what to add about a text that is wrong, such as the nearest right one.
    """

    def read(value: Any, place: Place) -> T:
        found = meaning(value)
        if found is None:
            quoted = isinstance(value, Word) and not value.bare and meaning(Word(value)) is not None
            why = " in quotes" if quoted else near(value if isinstance(value, str) else "")
            raise place.refuse(f"must be {label}, not {describe(value)}{why}", hint)
        return found

    return Kind(read, schema, label)


def text(label: str = "a text", *, empty: bool = False) -> Kind[str]:
    """A text; without `empty` it must hold a character."""

    def read(value: Any, place: Place) -> str:
        if not isinstance(value, str) or (isinstance(value, Word) and value.missing):
            hint = "put it in quotes" if isinstance(value, bool | int | float) else ""
            raise place.refuse(f"must be {label}, not {describe(value)}", hint)
        if not (value or empty):
            raise place.refuse("must not be empty")
        return str(value)

    return Kind(read, {"type": "string"} if empty else {"type": "string", "minLength": 1}, label)


def matching(label: str, pattern: str | re.Pattern[str], hint: str = "") -> Kind[str]:
    """A text that a regular expression matches as a whole."""
    shape = re.compile(pattern)

    def meaning(value: Any) -> str | None:
        return str(value) if isinstance(value, str) and shape.fullmatch(value) else None

    return leaf(label, meaning, {"type": "string", "pattern": f"^(?:{shape.pattern})$"}, hint)


def flag() -> Kind[bool]:
    """True or false."""

    def meaning(value: Any) -> bool | None:
        if isinstance(value, Word):
            return {"true": True, "false": False}.get(value) if value.bare else None
        return value if isinstance(value, bool) else None

    return leaf("true or false", meaning, {"type": "boolean"})


def integer(low: int, high: int, label: str = "") -> Kind[int]:
    """A whole number from `low` to `high`."""

    def meaning(value: Any) -> int | None:
        if isinstance(value, Word):
            # 18 digits: int() refuses thousands of them with an error of its own.
            digits = value.bare and len(value) <= 18 and _INTEGER.fullmatch(value)
            value = int(value) if digits else None
        value = unfilled(value)
        real = isinstance(value, int) and not isinstance(value, bool)
        return value if real and low <= value <= high else None

    label = label or f"a whole number from {low} to {high:,}"
    return leaf(label, meaning, {"type": "integer", "minimum": low, "maximum": high})


def number(low: float = -math.inf, high: float = math.inf, *, above: bool = False) -> Kind[float]:
    """A finite number from `low` to `high`; with `above` it must be more than `low`."""

    def meaning(value: Any) -> float | None:
        if isinstance(value, Word):
            value = float(value) if value.bare and _NUMBER.fullmatch(value) else None
        value = unfilled(value)
        real = isinstance(value, int | float) and not isinstance(value, bool)
        if not real or not (low < value if above else low <= value) or not value <= high or value in _ENDLESS:
            return None
        return value  # type: ignore[no-any-return] # an int stays one, and a huge one fits into no float

    schema: dict[str, Any] = {"type": "number"}
    if low != -math.inf:
        schema["exclusiveMinimum" if above else "minimum"] = low
    if high != math.inf:
        schema["maximum"] = high
    return leaf(_bounds(low, high, above=above), meaning, schema)


def _bounds(low: float, high: float, *, above: bool) -> str:
    least, most = (f"{bound:,.0f}" if bound >= 1_000_000 else f"{bound:g}" for bound in (low, high))
    if -math.inf < low and high < math.inf and not above:
        return f"a number from {least} to {most}"
    bounds = [f"{'above' if above else 'at least'} {least}"] if low != -math.inf else []
    bounds += [f"at most {most}"] if high != math.inf else []
    return f"a number {' and '.join(bounds)}".strip()


def choice(*words: W) -> Kind[W]:
    """One of several words, or members of an enum of words."""
    members = {str(word): word for word in words}
    names = list(members)
    label = " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))

    def near(word: str) -> str:
        return nearest(word, names) if word else ""

    def meaning(value: Any) -> W | None:
        return members.get(value) if isinstance(value, str) else None

    return leaf(label, meaning, {"enum": names}, near=near)


def duration(label: str = "a duration such as 90d") -> Kind[int]:
    """Seconds, written as `90d`."""
    word = text(label)

    def read(value: Any, place: Place) -> int:
        try:
            return parse_duration(word.read(value, place))
        except UsageError as error:
            raise place.refuse(error.message, error.hint) from None

    return Kind(read, word.schema, label)


# --- several values


def items(
    kind: Kind[T],
    *,
    least: int = 1,
    most: int = 0,
    empty: str = "must not be empty",
    naming: Callable[[str, int, Any], str] | None = None,
) -> Kind[tuple[T, ...]]:
    """A list of values of one kind.

    Args:
        least, most: how many items it must and may have; 0 for any number. empty: what is wrong with too few.
        naming: the key of an item, made of the list's key, its index and the item; by default `key[index]`.
    """

    def read(value: Any, place: Place) -> tuple[T, ...]:
        if not isinstance(value, list | tuple):
            hint = "write it as [one, other]" if isinstance(value, Word) else ""
            raise place.refuse(f"must be a list, not {describe(value)}", hint)
        if len(value) < least:
            raise place.refuse(empty)
        if most and len(value) > most:
            raise place.refuse(f"has {len(value):,} items, may have {most:,}")
        out, complete = [], True
        for index, item in enumerate(value):
            at = place.below(value, index)
            try:
                out.append(kind.read(item, at._replace(key=naming(place.key, index, item)) if naming else at))
            except WrongValue:
                complete = False
        if not complete:
            raise WrongValue
        return tuple(out)

    bounds = {name: bound for name, bound in (("minItems", least), ("maxItems", most)) if bound}
    return Kind(read, {"type": "array", "items": kind.schema, **bounds}, f"a list, each {kind.label}")


def listing(kind: Kind[T], empty: str = "") -> Kind[tuple[T, ...]]:
    """A list without repetitions, whose faults bear the list's own key.

    Args:
        empty: what is wrong with an empty one; "" if nothing is.
    """
    several = items(kind, least=bool(empty), empty=empty, naming=lambda key, index, item: key)

    def read(value: Any, place: Place) -> tuple[T, ...]:
        found = several.read(value, place)
        first = {item: index for index, item in reversed([*enumerate(found)])}
        for index, item in enumerate(found):
            if first[item] < index:
                at = place.below(value, index)._replace(key=place.key)
                raise at.refuse(f"{describe(value[index])} is listed twice")
        return found

    return Kind(read, {**several.schema, "uniqueItems": True}, several.label)


def one_or_more(kind: Kind[T], several: Kind[tuple[T, ...]] | None = None) -> Kind[tuple[T, ...]]:
    """A value, or a list as `several` has it, by default of any number but none."""
    listed = several or items(kind)

    def read(value: Any, place: Place) -> tuple[T, ...]:
        return listed.read(value, place) if isinstance(value, list | tuple) else (kind.read(value, place),)

    return Kind(read, {"anyOf": [kind.schema, listed.schema]}, f"{kind.label} or a list of them")


def mapping(
    kind: Kind[T] | None = None, label: str = "a mapping", named: Callable[[str], str] = lambda key: ""
) -> Kind[Mapping[str, T]]:
    """A mapping of names to values of one kind, by default to any JSON value.

    Args:
        named: what is wrong with a name, or "".
    """
    of = kind or anything()

    def read(value: Any, place: Place) -> Mapping[str, T]:
        if not isinstance(value, Mapping):
            raise place.refuse(f"must be {label}, not {describe(value)}")
        values, complete = {}, True
        for key, item in value.items():
            if not isinstance(key, str):
                raise place.refuse(f"the key {describe(key)} is no text", "put it in quotes")
            at = place.below(value, key)
            try:
                if problem := named(key):
                    raise at.refuse(problem)
                values[key] = of.read(item, at)
            except WrongValue:
                complete = False
        if not complete:
            raise WrongValue
        return MappingProxyType(values) if kind else values  # JSON of a document is handed on as it is

    return Kind(read, {"type": "object", **({"additionalProperties": kind.schema} if kind else {})}, label)


def anything() -> Kind[Any]:
    """Any JSON value."""
    return Kind(lambda value, place: _json(value, place, 0), {})


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
