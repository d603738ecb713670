"""Convert Python values to JSON for the log, and back.

A governed function is called with values that are made of its recorded arguments, so that what was judged is what runs.
Beside JSON's own types: enums, dates, UUIDs, decimals, paths, tuples, sets, dataclasses and pydantic models.
"""

from __future__ import annotations

import collections.abc
import contextlib
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from pathlib import Path, PurePath
from typing import Any
from uuid import UUID

from sb.errors import ContractError
from sb.kernel.contracts import value_matches

_PLAIN: dict[Any, str] = {
    Any: "any",
    object: "any",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    None: "null",
    type(None): "null",
}
_AS_TEXT: dict[type, tuple[Callable[[Any], str], Callable[[str], Any]]] = {
    datetime: (datetime.isoformat, datetime.fromisoformat),  # before date, which it is one of
    date: (date.isoformat, date.fromisoformat),
    time: (time.isoformat, time.fromisoformat),
    UUID: (str, UUID),
    Decimal: (str, Decimal),
    Path: (str, Path),
    PurePath: (str, PurePath),
}
_SCALARS = {str, bool, int, float, type(None)}
_SETS = (set, frozenset, collections.abc.Set)
_ARRAYS = (
    list,
    tuple,
    collections.abc.Sequence,
    collections.abc.Collection,
    collections.abc.Iterable,
    *_SETS,
)
_OBJECTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)


def json_type(annotation: Any) -> str:
    """The type of a ToolArgSchema that stands for an annotation.

    Raises:
        ContractError: a value of it has no form in JSON from which it could be made again.
    """
    hint = _bare(annotation)
    if hint in _PLAIN:
        return _PLAIN[hint]
    members = _members(hint)
    if members:
        kinds = {json_type(member) for member in members}
        return kinds.pop() if len(kinds) == 1 else "any"
    container = typing.get_origin(hint) or hint
    if container in _ARRAYS or container in _OBJECTS:
        for inner in typing.get_args(hint):
            if inner is not ...:
                json_type(inner)
        return "array" if container in _ARRAYS else "object"
    if hint in _AS_TEXT:
        return "string"
    if typing.is_typeddict(hint) or _is_record(hint):
        return "object"
    raise ContractError(f"{_name(annotation)} cannot be put on record as JSON")


def to_json(value: Any) -> Any:
    """The value in JSON's types as far as there is a way; what has none is left as it is."""
    if type(value) in _SCALARS:
        return value
    if isinstance(value, Enum):
        return to_json(value.value)
    if isinstance(value, dict):
        return {to_json(key): to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted(map(to_json, value), key=repr)  # one order, so that equal calls are equal on record
    if isinstance(value, type):
        return value
    if is_dataclass(value):
        return {field.name: to_json(getattr(value, field.name)) for field in fields(value) if field.init}
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True)
    for kind, (text, _) in _AS_TEXT.items():
        if isinstance(value, kind):
            return text(value)
    return value


def from_json(annotation: Any, value: Any) -> Any:
    """Make a value of its recorded form.

    Raises:
        Exception: it is none of this annotation; which one depends on the type.
    """
    hint = _bare(annotation)
    if value is None or hint in _PLAIN:
        return value
    if typing.get_origin(hint) is typing.Literal:
        return next((arg for arg in typing.get_args(hint) if to_json(arg) == value), value)
    if _is_enum(hint):
        return hint(value)
    members = _members(hint)
    if members:
        return _first_that_fits(members, value)
    container, inner = typing.get_origin(hint) or hint, typing.get_args(hint)
    if container in _ARRAYS:
        return _array(container, inner, value)
    if container in _OBJECTS:
        key, item = inner or (Any, Any)
        return {from_json(key, k): from_json(item, v) for k, v in value.items()}
    if hint in _AS_TEXT:
        return _AS_TEXT[hint][1](value)
    if hasattr(hint, "model_validate"):
        return hint.model_validate(value)
    hints = typing.get_type_hints(hint, include_extras=True)
    made = {name: from_json(hints.get(name, Any), item) for name, item in value.items()}
    return made if typing.is_typeddict(hint) else hint(**made)


def _bare(annotation: Any) -> Any:
    """The annotation without what only describes it: Annotated, NewType, `type` aliases, Required."""
    while True:
        if typing.get_origin(annotation) in (typing.Annotated, typing.Required, typing.NotRequired):
            annotation = typing.get_args(annotation)[0]
        elif hasattr(annotation, "__supertype__"):
            annotation = annotation.__supertype__
        elif type(annotation).__name__ == "TypeAliasType":
            annotation = annotation.__value__
        else:
            return annotation


def _members(hint: Any) -> tuple[Any, ...]:
    """The members of a union annotation; () for other hints."""
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return typing.get_args(hint)
    if origin is typing.Literal:
        return tuple({type(to_json(arg)) for arg in typing.get_args(hint)})
    return tuple({type(to_json(item)) for item in hint}) if _is_enum(hint) else ()


def _is_enum(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Enum)


def _is_record(hint: Any) -> bool:
    """True if it is a class whose instances are made of named JSON values."""
    if not isinstance(hint, type):
        return False
    if hasattr(hint, "model_validate") and hasattr(hint, "model_dump"):
        return True
    if not is_dataclass(hint):
        return False
    hints = typing.get_type_hints(hint, include_extras=True)
    for field in fields(hint):
        if field.init:
            json_type(hints[field.name])
    return True


def _first_that_fits(members: tuple[Any, ...], value: Any) -> Any:
    for member in members:
        if value_matches(json_type(member), value):
            with contextlib.suppress(Exception):  # whatever the type raises: the value is none of it
                return from_json(member, value)
    raise ValueError("the value fits none of the types")


def _array(container: Any, inner: tuple[Any, ...], value: list[Any]) -> Any:
    if container is tuple and inner and inner[-1] is not ...:
        if len(inner) != len(value):
            raise ValueError(f"{len(value)} values instead of {len(inner)}")
        return tuple(from_json(entry, item) for entry, item in zip(inner, value, strict=True))
    items = [from_json(inner[0] if inner else Any, item) for item in value]
    if container is tuple:
        return tuple(items)
    return frozenset(items) if container is frozenset else set(items) if container in _SETS else items


def _name(annotation: Any) -> str:
    return getattr(annotation, "__qualname__", None) or str(annotation)


def rebuilt(annotations: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a function, made of their recorded form.

    Raises:
        ValueError: one is none of its annotation; the message has its name and not its value.
    """
    made = {}
    for name, value in values.items():
        try:
            made[name] = from_json(annotations[name], value)
        except Exception:  # noqa: BLE001 - whatever the type raises may hold the value
            raise ValueError(f"argument {name!r} is no {_name(annotations[name])}") from None
    return made
