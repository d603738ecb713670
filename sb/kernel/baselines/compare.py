"""Compare two contract documents field by field."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from sb.base.text import quoted_name, revealed

_ABSENT = object()


class FieldChange(NamedTuple):
    """One field; `before` or `after` is None where the document does not have it, else its JSON text, in which what cannot be
    seen stands as an escape.

    Args:
        path: names with dots; an argument is found by its name, as in `args_schema.path.type`.
    """

    path: str
    before: str | None
    after: str | None


# Fields of a contract that say what its tool may do, the gravest first.
_GRAVEST = ("safety_class", "reversal_class", "compensation_capability", "requires_permission")


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[FieldChange]:
    """The fields that differ: what the tool may do first, then in the order of their paths."""
    old, new = dict(_fields("", before)), dict(_fields("", after))
    return [
        FieldChange(path, _text(old.get(path, _ABSENT)), _text(new.get(path, _ABSENT)))
        for path in sorted(old.keys() | new.keys(), key=lambda path: (_gravity(path), path))
        if old.get(path, _ABSENT) != new.get(path, _ABSENT)
    ]


def _fields(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Every leaf with its path; a list of named things counts as an object of them, any other list as a leaf."""
    if isinstance(value, list) and value and all(isinstance(item, dict) and "name" in item for item in value):
        names = [str(item["name"]) for item in value]
        yield f"{path}()", names  # their order is part of the contract
        value = dict(zip(names, value, strict=True))
    if isinstance(value, Mapping) and value:
        for name, item in value.items():
            yield from _fields(f"{path}.{_part(name)}" if path else _part(name), item)
    else:
        yield path, value


def _part(name: Any) -> str:
    """A name within a path: in quotes if it could be taken for several, or hides one of the same path."""
    text = str(name)
    return json.dumps(text, ensure_ascii=False) if "." in text else quoted_name(text)


def _text(value: Any) -> str | None:
    return None if value is _ABSENT else revealed(json.dumps(value, ensure_ascii=False))


def _gravity(path: str) -> int:
    """The place of a field among changes: what a tool may do stands before how it is described."""
    name = path.partition(".")[0].partition("[")[0]
    return _GRAVEST.index(name) if name in _GRAVEST else len(_GRAVEST)
