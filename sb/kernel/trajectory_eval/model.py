"""Expected and recorded calls of a run, and the grade of one against the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any

from sb.base.values.frozen import frozen
from sb.kernel.contracts import SafetyClass


class Mode(StrEnum):
    """Order of the steps (survival-layer.md, section 5)."""

    STRICT = "strict"  # these calls in this order, and no other
    SUBSEQUENCE = "subsequence"  # these calls in this order
    UNORDERED = "unordered"  # these calls


class ArgsMatch(StrEnum):
    """Comparison of a call's arguments with those of a step."""

    SUBSET = "subset"
    EXACT = "exact"
    IGNORE = "ignore"


class Extras(StrEnum):
    """Tolerance for calls that serve no step."""

    FORBID = "forbid"
    READ_ONLY = "read_only"
    ALLOW = "allow"


@frozen
class RecordedCall:
    """A call that a run made, in the order in which the calls began. Denied and failed ones count.

    Args:
        args: the arguments, plain JSON.
        success: whether it succeeded; None if nobody knows.
        safety_class: of the tool's contract; None if nobody knows, which is not read-only.
        ms: milliseconds inside the tool.
    """

    tool: str
    args: Mapping[str, Any] = field(default_factory=dict)
    success: bool | None = None
    safety_class: SafetyClass | None = None
    ms: float | None = None
    call_id: str = ""


@frozen
class TrajectoryStep:
    """An expected call. It names a tool, or a pattern of tools.

    Args:
        tool: a tool id. tool_pattern: a glob over the whole id, or a regular expression after `re:`.
        args: what the arguments must hold; None for no condition.
        optional: the run may leave it out. require_success: the call must have succeeded.
        max_calls: how many calls of the whole run may fit this step; None for any number.
    """

    tool: str = ""
    tool_pattern: str = ""
    args: Mapping[str, Any] | None = None
    args_match: ArgsMatch = ArgsMatch.SUBSET
    optional: bool = False
    require_success: bool = False
    max_calls: int | None = None

    @property
    def name(self) -> str:
        return self.tool or self.tool_pattern


@frozen
class Trajectory:
    """The calls that a run should make.

    Args:
        forbid: tools that must not be called; one with `*`, `?` or `[` is a glob, one after `re:` a regular expression.
        extras: calls beside the steps; None for the mode's own: forbid if strict, else allow.
        threshold: the lowest score that passes, above 0 and at most 1. It excuses no forbidden call.
    """

    steps: tuple[TrajectoryStep, ...] = ()
    mode: Mode = Mode.SUBSEQUENCE
    forbid: tuple[str, ...] = ()
    extras: Extras | None = None
    threshold: float = 1.0


@frozen
class TrajectoryGrade:
    """The grade of a run's calls against a trajectory.

    Args:
        score: from 0 to 1. matched: for each step the index of its call, or None.
        forbidden, extra: indexes of calls that were forbidden, and of those that nothing tolerates.
        coverage, precision, scope, minimality: from 0 to 1, as docs/reference/trajectories.md defines them.
        line: what is wrong, in one line; "" if it passed.
    """

    passed: bool
    score: float
    matched: tuple[int | None, ...]
    forbidden: tuple[int, ...]
    extra: tuple[int, ...]
    coverage: float
    precision: float
    scope: float
    minimality: float
    line: str = ""
