"""The grade of recorded calls against a trajectory: which calls serve its steps, the score, and what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sb.kernel.contracts import SafetyClass
from sb.kernel.trajectory_eval import matching, names
from sb.kernel.trajectory_eval.arguments import CallArguments, identity
from sb.kernel.trajectory_eval.failure_line import NearMiss, Reason, failure_line
from sb.kernel.trajectory_eval.model import Extras, Mode, RecordedCall, Trajectory, TrajectoryGrade


class _Fits(NamedTuple):
    """For each step, the calls as bits: that have its tool, also its arguments, and also its success."""

    by_name: tuple[int, ...]
    by_args: tuple[int, ...]
    whole: tuple[int, ...]


def grade(trajectory: Trajectory, calls: Sequence[RecordedCall]) -> TrajectoryGrade:
    """Grade calls against a trajectory; raises nothing, whatever the calls hold.

    Args:
        calls: in the order in which they began; denied and failed ones too.
    """
    fits = _fits(trajectory, calls)
    optional = [step.optional for step in trajectory.steps]
    in_any_order = trajectory.mode == Mode.UNORDERED
    align = matching.align_in_any_order if in_any_order else matching.align_in_order
    matched = align(fits.whole, optional)
    forbidden = _forbidden(trajectory, calls)
    over = _over(trajectory, fits.whole, matched)
    extra = _extra(trajectory, calls, matched, over)

    required = [call for call, step in zip(matched, trajectory.steps, strict=True) if not step.optional]
    coverage = sum(call is not None for call in required) / len(required) if required else 1.0
    served = sum(call is not None for call in matched)
    precision = served / (served + len(extra)) if extra else 1.0
    score = 0.0 if forbidden else _score(trajectory, coverage, precision)
    passed = not forbidden and score >= trajectory.threshold
    near = () if passed else _near_misses(fits, matched, len(calls))
    return TrajectoryGrade(
        passed=passed,
        score=score,
        matched=matched,
        forbidden=forbidden,
        extra=extra,
        coverage=coverage,
        precision=precision,
        scope=_scope(fits),
        minimality=_minimality(calls),
        line="" if passed else failure_line(trajectory, calls, score, matched, forbidden, extra, over, near),
    )


def _score(trajectory: Trajectory, coverage: float, precision: float) -> float:
    if tolerated(trajectory) == Extras.ALLOW and all(step.max_calls is None for step in trajectory.steps):
        return coverage
    return 2 * coverage * precision / (coverage + precision) if coverage + precision else 0.0


def tolerated(trajectory: Trajectory) -> Extras:
    """The extra calls that a trajectory tolerates beside its steps."""
    return trajectory.extras or (Extras.FORBID if trajectory.mode == Mode.STRICT else Extras.ALLOW)


def can_fail(trajectory: Trajectory) -> bool:
    """True if there are calls that do not pass. There are none for a trajectory that demands and forbids nothing."""
    return bool(
        trajectory.forbid
        or tolerated(trajectory) != Extras.ALLOW
        or any(not step.optional or step.max_calls is not None for step in trajectory.steps)
    )


def _fits(trajectory: Trajectory, calls: Sequence[RecordedCall]) -> _Fits:
    of_tool: dict[str, int] = {}
    succeeded = 0
    for index, call in enumerate(calls):
        of_tool[call.tool] = of_tool.get(call.tool, 0) | 1 << index
        succeeded |= (call.success is True) << index
    arguments = CallArguments([call.args for call in calls])
    by_name, by_args, whole = [], [], []
    for step in trajectory.steps:
        named = of_tool.get(step.tool, 0)
        if step.tool_pattern:
            match = names.compile_pattern(step.tool_pattern)
            named = matching.union(mask for tool, mask in of_tool.items() if match(tool))
        fitting = arguments.fitting(step, named)
        by_name.append(named)
        by_args.append(fitting)
        whole.append(fitting & succeeded if step.require_success else fitting)
    return _Fits(tuple(by_name), tuple(by_args), tuple(whole))


def _forbidden(trajectory: Trajectory, calls: Sequence[RecordedCall]) -> tuple[int, ...]:
    """A pattern that takes too long on a name counts as one that matches it."""
    bad = {
        tool
        for tool in {call.tool for call in calls}
        if any(names.matches(pattern, tool, undecided=True) for pattern in trajectory.forbid)
    }
    return tuple(index for index, call in enumerate(calls) if call.tool in bad)


def _over(
    trajectory: Trajectory, whole: Sequence[int], matched: Sequence[int | None]
) -> dict[int, tuple[int, ...]]:
    """For each step with too many calls, those that are too many: first the latest that serve no step."""
    serving = {call for call in matched if call is not None}
    over = {}
    for number, (step, mask) in enumerate(zip(trajectory.steps, whole, strict=True)):
        if step.max_calls is not None and mask.bit_count() > step.max_calls:
            latest_last = sorted(matching.bits(mask), key=lambda call: (call not in serving, call))
            over[number] = tuple(sorted(latest_last[step.max_calls :]))
    return over


def _extra(
    trajectory: Trajectory,
    calls: Sequence[RecordedCall],
    matched: Sequence[int | None],
    over: dict[int, tuple[int, ...]],
) -> tuple[int, ...]:
    extra = {call for beyond in over.values() for call in beyond}
    rule = tolerated(trajectory)
    if rule != Extras.ALLOW:
        serving = set(matched)
        extra |= {
            index
            for index, call in enumerate(calls)
            if index not in serving and (rule == Extras.FORBID or call.safety_class != SafetyClass.READ_ONLY)
        }
    return tuple(sorted(extra))


def _near_misses(fits: _Fits, matched: Sequence[int | None], calls: int) -> tuple[NearMiss | None, ...]:
    """For each step without a call, the free call that comes nearest."""
    steps = [step for step, call in enumerate(matched) if call is None]
    free = (1 << calls) - 1
    for call in matched:
        free &= -1 if call is None else ~(1 << call)
    with_args = matching.maximum_matching([fits.by_args[step] & free for step in steps])
    with_name = matching.maximum_matching([fits.by_name[step] & free for step in steps], with_args)
    misses: list[NearMiss | None] = [None] * len(matched)
    for step, call in zip(steps, with_name, strict=True):
        if call is not None:
            misses[step] = NearMiss(call, _reason(fits, step, call))
    return tuple(misses)


def _reason(fits: _Fits, step: int, call: int) -> Reason:
    if not fits.by_args[step] >> call & 1:
        return Reason.ARGS
    return Reason.ORDER if fits.whole[step] >> call & 1 else Reason.SUCCESS


def _scope(fits: _Fits) -> float:
    """Of the steps that can each have a call of their tool, the share that can have one with their arguments."""
    by_name, by_args = (
        sum(call is not None for call in matching.maximum_matching(masks))
        for masks in (fits.by_name, fits.by_args)
    )
    return by_args / by_name if by_name else 1.0


def _minimality(calls: Sequence[RecordedCall]) -> float:
    """The share of the calls that do not repeat an earlier one."""
    return len({(call.tool, identity(call.args)) for call in calls}) / len(calls) if calls else 1.0
