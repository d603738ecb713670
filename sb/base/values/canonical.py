"""Canonical JSON: the same bytes, and so the same digest, for a value on every machine.

The form is RFC 8785 (JSON Canonicalization Scheme). Values are first frozen: copied, so that no caller can change
them afterwards, and limited to what JSON can carry between hosts (no NaN, no integer beyond 2**53 - 1, no
unpaired surrogate).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from typing import Any

import orjson

MAX_DEPTH = 64
MAX_INTEGER = 2**53 - 1  # RFC 7493 section 2.2: beyond it, hosts disagree about the value


# How an enum member, a named tuple and the like become plain; str(member) would be the member's name.
_PLAIN: dict[type, Callable[[Any], Any]] = {
    str: str.__str__,
    int: int.__int__,
    float: float.__float__,
    dict: dict,
    list: list,
    tuple: list,
}


class NotCanonical(ValueError):
    """The value has no canonical JSON form."""


class _Freezer:
    """One walk over a value: copies it and notes whether the encoder's output is already canonical."""

    __slots__ = ("simple",)

    def __init__(self) -> None:
        self.simple = True  # no floats, only ASCII keys: the encoder's output is RFC 8785's

    def copy(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind is str:
            return value
        if kind is bool or value is None:
            return value
        if kind is int:
            if -MAX_INTEGER <= value <= MAX_INTEGER:
                return value
            raise NotCanonical("an integer beyond 2**53 - 1 cannot be carried by JSON; pass it as a string")
        if kind is dict:
            return self._mapping(value, depth)
        if kind is list or kind is tuple:
            if depth >= MAX_DEPTH:
                raise NotCanonical(f"nested deeper than {MAX_DEPTH} levels")
            return [self.copy(item, depth + 1) for item in value]
        if kind is float:
            if not math.isfinite(value):
                raise NotCanonical("NaN and infinities have no JSON form")
            self.simple = False
            return value
        return self._subclass(value, depth)

    def _mapping(self, value: dict[Any, Any], depth: int) -> dict[str, Any]:
        if depth >= MAX_DEPTH:
            raise NotCanonical(f"nested deeper than {MAX_DEPTH} levels")
        out = {}
        for key, item in value.items():
            if type(key) is not str:
                raise NotCanonical(f"object keys must be strings, not {type(key).__name__}")
            if not key.isascii():
                self.simple = False
            # The commonest kinds without a call: a third of the whole cost.
            kind = type(item)
            out[key] = item if kind is str or kind is bool or item is None else self.copy(item, depth + 1)
        return out

    def _subclass(self, value: Any, depth: int) -> Any:
        for base, plain in _PLAIN.items():
            if isinstance(value, base):
                return self.copy(plain(value), depth)
        raise NotCanonical(f"{type(value).__name__} is not a JSON value")


def freeze(value: Any) -> tuple[Any, bytes]:
    """A deep copy of `value` in plain JSON types, and its canonical bytes.

    Raises:
        NotCanonical: it has a value that JSON cannot carry, or is nested deeper than MAX_DEPTH.
    """
    freezer = _Freezer()
    copy = freezer.copy(value, 0)
    try:
        if freezer.simple:
            return copy, orjson.dumps(copy, option=orjson.OPT_SORT_KEYS)
        import rfc8785

        return copy, rfc8785.dumps(copy)
    except (UnicodeEncodeError, TypeError):
        raise NotCanonical("text with an unpaired surrogate has no UTF-8 form") from None


def canonical_bytes(value: Any) -> bytes:
    """The RFC 8785 form of a JSON value; raises NotCanonical."""
    return freeze(value)[1]


def digest(data: bytes) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(data).hexdigest()


def encode(value: Any) -> bytes:
    """Compact JSON of plain JSON values, keys in their given order: what a log row stores."""
    return orjson.dumps(value)
