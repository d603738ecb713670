"""Arguments of calls against those of steps: by value, and where they differ first.

Numbers are compared by value, and a bool is none; lists whole and in order; texts character by character. An expected
null asks for the key and for null.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

from sb.kernel.trajectory_eval.model import ArgsMatch, TrajectoryStep

Path = tuple[str, ...]
MISSING = object()
_A_MAPPING = object()  # what an empty mapping asks for, where more may be there


class CallArguments:
    """The arguments of calls, indexed by value at each path that a step asks for.

    So each call is looked at once for each path, not once for each step.
    """

    def __init__(self, calls: Sequence[Mapping[str, Any]]) -> None:
        self._calls = calls
        self._at: dict[Path | None, dict[Hashable, int]] = {}

    def fitting(self, step: TrajectoryStep, among: int) -> int:
        """Of the calls `among`, those whose arguments are as the step demands; calls are bits."""
        if step.args is None or step.args_match == ArgsMatch.IGNORE:
            return among
        if step.args_match == ArgsMatch.EXACT:
            return among & self._index(None).get(identity(step.args), 0)
        for path, value in _leaves(step.args):
            index = self._index(path)
            among &= index.get(_A_MAPPING if value is _A_MAPPING else identity(value), 0)
        return among

    def _index(self, path: Path | None) -> dict[Hashable, int]:
        """The calls by their value at a path; None for all of the arguments."""
        if path not in self._at:
            index: dict[Hashable, int] = {}
            for number, args in enumerate(self._calls):
                value = args if path is None else _value_at(args, path)
                if value is not MISSING:
                    key = identity(value)
                    index[key] = index.get(key, 0) | 1 << number
                    if isinstance(value, Mapping):
                        index[_A_MAPPING] = index.get(_A_MAPPING, 0) | 1 << number
            self._at[path] = index
        return self._at[path]


def equal(expected: Any, actual: Any) -> bool:
    """True if two values are the same by value."""
    return identity(expected) == identity(actual)


def difference(step: TrajectoryStep, args: Mapping[str, Any]) -> tuple[Path, Any, Any] | None:
    """The first place where arguments do not fit: its path, what was expected, what is there; None if they fit.

    `MISSING` stands for what is not there, or was not expected.
    """
    if CallArguments([args]).fitting(step, 1) or step.args is None:
        return None
    for path, value in _leaves(step.args):
        actual = _value_at(args, path)
        expected = {} if value is _A_MAPPING else value
        fits = isinstance(actual, Mapping) if value is _A_MAPPING else equal(value, actual)
        if actual is MISSING or not fits:
            return path, expected, actual
    return _unexpected(step.args, args, ())


def _leaves(expected: Mapping[str, Any], path: Path = ()) -> Iterator[tuple[Path, Any]]:
    for key, value in expected.items():
        at = (*path, key)
        if not isinstance(value, Mapping):
            yield at, value
        elif value:
            yield from _leaves(value, at)
        else:
            yield at, _A_MAPPING


def _value_at(args: Any, path: Path) -> Any:
    for key in path:
        if not isinstance(args, Mapping) or key not in args:
            return MISSING
        args = args[key]
    return args


def _unexpected(expected: Mapping[str, Any], actual: Mapping[str, Any], path: Path) -> tuple[Path, Any, Any]:
    """The first key that is there and was not expected."""
    for key, value in actual.items():
        at = (*path, key)
        if key not in expected:
            return at, MISSING, value
        inner = expected[key]
        if isinstance(inner, Mapping) and not equal(inner, value):
            return _unexpected(inner, value, at)
    return path, expected, actual


def identity(value: Any) -> Hashable:
    """A key that two values have in common exactly if they are equal."""
    try:
        return _key(value)
    except RecursionError:  # nested deeper than anything that is expected
        return _Different()


def _key(value: Any) -> Hashable:
    kind = type(value)
    if kind is str or kind is int or value is None:
        return value  # type: ignore[no-any-return]
    if kind is bool:
        return "bool", value
    if kind is float:
        return _Different() if math.isnan(value) else value
    if isinstance(value, Mapping):
        return "map", frozenset((key, _key(item)) for key, item in value.items())
    if isinstance(value, list | tuple):
        return "list", tuple(map(_key, value))
    if isinstance(value, str | int | float):  # members of enums, numbers of libraries
        return _key(
            str.__str__(value)
            if isinstance(value, str)
            else int(value)
            if isinstance(value, int)
            else float(value)
        )
    return kind.__name__, repr(value)


class _Different:
    """Equal to nothing but itself, as what is not a number is."""
