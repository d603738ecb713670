"""The line that says why calls do not pass: forbidden, missing, extra, other arguments, too many."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

from sb.base.secrets.redaction import one_line, redact
from sb.base.text import json_text, quoted_name
from sb.kernel.trajectory_eval.arguments import MISSING, difference
from sb.kernel.trajectory_eval.model import RecordedCall, Trajectory

_MOST = 5  # items of one sort
_NAME = 80  # characters
_VALUE = 60
_ARGS = 120  # characters of the arguments of an extra call


class Reason(Enum):
    """Reasons why a near call does not serve a step."""

    ARGS = "args"
    SUCCESS = "success"
    ORDER = "order"


class NearMiss(NamedTuple):
    """A call of a step's tool that serves no step."""

    call: int
    reason: Reason


def failure_line(
    trajectory: Trajectory,
    calls: Sequence[RecordedCall],
    score: float,
    matched: Sequence[int | None],
    forbidden: Sequence[int],
    extra: Sequence[int],
    over: Mapping[int, Sequence[int]],
    near: Sequence[NearMiss | None],
) -> str:
    """One line. Names and values are shortened, masked where they are secrets, and cannot command a terminal.

    Args:
        over: for each step with too many calls, which are too many. near: for each step the nearest miss.
    """
    missing, args = [], []
    for number, step in enumerate(trajectory.steps):
        if matched[number] is None and not step.optional:
            miss = near[number]
            name = f"#{number + 1} {_name(step.name)}"
            if miss is not None and miss.reason is Reason.ARGS:
                args.append(f"{name} {_differing(trajectory, number, calls[miss.call])}")
            else:
                missing.append(name + _why(number, miss, matched, calls))
    named = {*forbidden, *(call for beyond in over.values() for call in beyond)}
    parts = {
        "forbidden": [_name(calls[call].tool) for call in forbidden],
        "missing": missing,
        "extra": [_called(calls[call]) for call in extra if call not in named],
        "args": args,
        "over": [_too_many(trajectory, number, beyond) for number, beyond in over.items()],
    }
    summary = "; ".join(f"{sort}: {_listed(items)}" for sort, items in parts.items() if items)
    return f"[trajectory] score={math.floor(score * 100) / 100:.2f} ({summary})"


def _why(
    number: int, miss: NearMiss | None, matched: Sequence[int | None], calls: Sequence[RecordedCall]
) -> str:
    if miss is None:
        return ""
    if miss.reason is Reason.SUCCESS:
        return " (failed)" if calls[miss.call].success is False else " (success unknown)"
    before = [step for step, call in enumerate(matched) if call is not None and call < miss.call]
    if after := [step for step in before if step > number]:
        return f" (after #{after[-1] + 1})"
    later = next(
        (s for s, call in enumerate(matched) if s < number and call is not None and call > miss.call), None
    )
    return f" (before #{later + 1})" if later is not None else ""


def _differing(trajectory: Trajectory, number: int, call: RecordedCall) -> str:
    found = difference(trajectory.steps[number], call.args)
    if found is None:
        return ""
    path, expected, actual = found
    name = _name(".".join(map(str, path)))
    key = str(path[-1]) if path else ""
    if actual is MISSING:
        return f"{name} expected {_value(key, expected)}, is missing"
    if expected is MISSING:
        return f"{name} not expected, got {_value(key, actual)}"
    return f"{name} expected {_value(key, expected)} got {_value(key, actual)}"


def _too_many(trajectory: Trajectory, number: int, beyond: Sequence[int]) -> str:
    step = trajectory.steps[number]
    most = step.max_calls or 0
    return f"#{number + 1} {_name(step.name)} {most + len(beyond):,} calls, at most {most:,}"


def _listed(items: Sequence[str]) -> str:
    more = len(items) - _MOST
    return ", ".join(items[:_MOST]) + (f" and {more:,} more" if more > 0 else "")


def _name(tool: str) -> str:
    return one_line(quoted_name(tool), _NAME)


def _called(call: RecordedCall) -> str:
    """A call's tool with its arguments."""
    given = ", ".join(f"{_name(str(name))}={_value(str(name), value)}" for name, value in call.args.items())
    return f"{_name(call.tool)} {one_line(given, _ARGS)}".rstrip()


def _value(key: str, value: Any) -> str:
    try:
        text = json_text(redact({key: value}).popitem()[1])  # its key may call it a credential
    except (TypeError, ValueError, RecursionError):
        text = quoted_name(f"<{type(value).__name__}>")
    return one_line(text, _VALUE)
