"""Cases from less text: defaults that all share, and tables of variables that fill `{{name}}`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sb.base.located import FilledText, LocatedList, LocatedMapping, line_of
from sb.base.reading import Place, describe
from sb.base.text import json_text, nearest

FILLED = ("input", "matchers", "trajectory", "setup")  # the keys of a case in which variables are filled in
REPLACED = ("input", "vars")  # those that a case does not add to
PLACEHOLDER = r"\{\{ *([A-Za-z_][A-Za-z_0-9]*) *\}\}"
_PLACEHOLDER = re.compile(PLACEHOLDER)


def with_defaults(defaults: Mapping[str, Any], case: LocatedMapping) -> LocatedMapping:
    """The case with what it shares: lists are joined, mappings merged key by key, and anything else is the case's own."""
    if not defaults:
        return case
    merged = LocatedMapping(case.line)
    for key in (*defaults, *(key for key in case if key not in defaults)):
        if key not in case:
            merged.put(key, defaults[key], line_of(defaults, key))
        elif key not in defaults or key in REPLACED:
            merged.put(key, case[key], line_of(case, key))
        else:
            merged.put(key, _merged(defaults[key], case[key]), line_of(case, key))
    return merged


def _merged(shared: Any, own: Any) -> Any:
    if isinstance(shared, list) and isinstance(own, list):
        joined = LocatedList(line_of(own, 0) if own else 0)
        for container in (shared, own):
            for index, item in enumerate(container):
                joined.put(item, line_of(container, index))
        return joined
    if isinstance(shared, LocatedMapping) and isinstance(own, LocatedMapping):
        merged = LocatedMapping(own.line)
        for key in (*shared, *(key for key in own if key not in shared)):
            value = own[key] if key not in shared else shared[key]
            value = _merged(shared[key], own[key]) if key in shared and key in own else value
            merged.put(key, value, line_of(own if key in own else shared, key))
        return merged
    return own


def filled(
    case: LocatedMapping, variables: Mapping[str, Any], place: Place, *, texts: bool = False
) -> LocatedMapping:
    """The case with its variables filled in.

    A text that is a placeholder alone becomes the variable's value, of whatever type; within a text, its text.

    Args:
        texts: make a number a `FilledText`, which `sb.base.reading` reads as either, for whatever is needed.

    Raises:
        WrongValue: a placeholder names no variable.
    """
    if not variables:
        return case
    fill = _Fill(variables, texts)
    out = LocatedMapping(case.line)
    for key, value in case.items():
        done = fill.value(value, place.below(case, key)) if key in FILLED else value
        out.put(key, done, line_of(case, key))
    out["vars"] = variables
    return out


class _Fill:
    """One walk over a case."""

    def __init__(self, variables: Mapping[str, Any], texts: bool) -> None:
        self.variables = variables
        self.texts = texts

    def value(self, value: Any, place: Place) -> Any:
        if isinstance(value, str):
            return self._text(value, place) if "{{" in value else value
        if isinstance(value, Mapping):
            mapping = LocatedMapping(getattr(value, "line", 0))
            for key, item in value.items():
                mapping.put(key, self.value(item, place.below(value, key)), line_of(value, key))
            return mapping
        if isinstance(value, list):
            listed = LocatedList(getattr(value, "line", 0))
            for index, item in enumerate(value):
                listed.put(self.value(item, place.below(value, index)), line_of(value, index))
            return listed
        return value

    def _text(self, text: str, place: Place) -> Any:
        alone = _PLACEHOLDER.fullmatch(text.strip())
        if alone is None:
            return _PLACEHOLDER.sub(lambda match: _as_text(self._variable(match, place)), text)
        value = self._variable(alone, place)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return FilledText.of(value, _as_text(value)) if number and self.texts else value

    def _variable(self, match: re.Match[str], place: Place) -> Any:
        if match[1] not in self.variables:
            hint = f"vars has {', '.join(self.variables)}"
            raise place.refuse(f"no variable {match[1]}{nearest(match[1], self.variables)}", hint)
        return self.variables[match[1]]


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json_text(value)


def has_placeholder(value: Any) -> bool:
    """True if a placeholder is anywhere in a value."""
    if isinstance(value, str):
        return "{{" in value and _PLACEHOLDER.search(value) is not None
    if isinstance(value, Mapping):
        return any(map(has_placeholder, value.values()))
    return isinstance(value, list) and any(map(has_placeholder, value))


def rows_of(case: LocatedMapping, place: Place) -> list[tuple[str, Mapping[str, Any]]]:
    """The variables of each case that this one stands for, with what is added to its id.

    Raises:
        WrongValue: `vars` is neither a mapping nor a list of some.
    """
    value = case.get("vars")
    if "vars" not in case:
        return [("", {})]
    at = place.below(case, "vars")
    if isinstance(value, Mapping):
        return [("", _row(value, at))]
    if not isinstance(value, list) or not value:
        raise at.refuse(f"must be a mapping, or a list of mappings, not {describe(value)}")
    return [(f"[{index}]", _row(row, at.below(value, index - 1))) for index, row in enumerate(value, 1)]


def _row(row: Any, place: Place) -> Mapping[str, Any]:
    if not isinstance(row, Mapping):
        raise place.refuse(f"must be a mapping of variables, not {describe(row)}")
    for name in row:
        if not _PLACEHOLDER.fullmatch(f"{{{{{name}}}}}"):
            raise place.refuse(f"{name!r} is no name of a variable", "use letters, digits and _")
    return row
