"""Properties of every grade, and the alignment against one that tries everything."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations, permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.kernel.contracts import SafetyClass
from sb.kernel.trajectory_eval import (
    ArgsMatch,
    Extras,
    Mode,
    RecordedCall,
    Trajectory,
    TrajectoryStep,
    grade,
)
from sb.kernel.trajectory_eval.matching import align_in_any_order, align_in_order

TOOLS = "ab"
values = st.sampled_from([0, 1, 1.0, True, False, None, "1", [1], [True], {"y": 1}, {"y": 1, "z": 2}])
arguments = st.dictionaries(st.sampled_from("xy"), values, max_size=2)
calls = st.lists(
    st.builds(
        RecordedCall,
        tool=st.sampled_from("abw"),
        args=arguments,
        success=st.sampled_from([True, False, None]),
        safety_class=st.sampled_from([None, SafetyClass.READ_ONLY, SafetyClass.NETWORK]),
    ),
    max_size=6,
)
steps = st.lists(
    st.builds(
        lambda name, **more: (
            TrajectoryStep(tool=name, **more) if name in TOOLS else TrajectoryStep(tool_pattern=name, **more)
        ),
        st.sampled_from(["a", "b", "*", "re:a|b"]),
        args=st.none() | arguments,
        args_match=st.sampled_from(ArgsMatch),
        optional=st.booleans(),
        require_success=st.booleans(),
        max_calls=st.sampled_from([None, None, 1, 2]),
    ),
    max_size=6,
).map(tuple)
trajectories = st.builds(
    Trajectory,
    steps=steps,
    mode=st.sampled_from(Mode),
    forbid=st.sampled_from([(), ("w",)]),
    extras=st.none() | st.sampled_from(Extras),
    threshold=st.sampled_from([1.0, 1.0, 0.5, 0.01]),
)
Worth = tuple[int, int, list[int]]


def worth(matched: Sequence[int | None], optional: Sequence[bool]) -> Worth:
    """Required steps, optional steps, and the calls, of which earlier ones are worth more."""
    pairs = [
        (call, is_optional) for call, is_optional in zip(matched, optional, strict=True) if call is not None
    ]
    return (
        sum(not is_optional for _, is_optional in pairs),
        sum(is_optional for _, is_optional in pairs),
        [-call for call in sorted(call for call, _ in pairs)],
    )


def exhaustive(fits: Sequence[int], optional: Sequence[bool], number: int, in_order: bool) -> Worth:
    best: Worth = (0, 0, [])
    for size in range(min(len(fits), number) + 1):
        for chosen in combinations(range(len(fits)), size):
            for serving in (combinations if in_order else permutations)(range(number), size):
                if all(fits[step] >> call & 1 for step, call in zip(chosen, serving, strict=True)):
                    pairs = dict(zip(chosen, serving, strict=True))
                    best = max(best, worth([pairs.get(step) for step in range(len(fits))], optional))
    return best


@pytest.mark.parametrize("align", [align_in_order, align_in_any_order])
@given(data=st.data(), number=st.integers(0, 6))
def test_the_alignment_is_the_best_of_all(
    align: Callable[..., tuple[int | None, ...]], data: Any, number: int
) -> None:
    fits = data.draw(st.lists(st.integers(0, 2**number - 1), max_size=5))
    optional = data.draw(st.lists(st.booleans(), min_size=len(fits), max_size=len(fits)))
    matched = align(fits, optional)
    serving = [call for call in matched if call is not None]
    assert len(set(serving)) == len(serving)
    assert all(call is None or mask >> call & 1 for call, mask in zip(matched, fits, strict=True))
    if align is align_in_order:
        assert serving == sorted(serving)
    assert worth(matched, optional) == exhaustive(fits, optional, number, align is align_in_order)


@given(trajectories, calls)
def test_scores_and_axes_are_shares_and_a_line_says_why_calls_do_not_pass(
    trajectory: Trajectory, made: list[RecordedCall]
) -> None:
    result = grade(trajectory, made)
    for share in (result.score, result.coverage, result.precision, result.scope, result.minimality):
        assert 0 <= share <= 1
    assert (result.line == "") is result.passed
    assert "\n" not in result.line
    assert not (result.forbidden and (result.passed or result.score))


@given(trajectories.map(lambda trajectory: replace(trajectory, threshold=1.0)), calls)
def test_calls_pass_exactly_if_their_score_is_1(trajectory: Trajectory, made: list[RecordedCall]) -> None:
    result = grade(trajectory, made)
    assert result.passed is (result.score == 1)
    assert result.passed is (not result.forbidden and result.coverage == 1 and not result.extra)


@given(trajectories, calls)
def test_strict_passes_in_every_mode_and_a_subsequence_in_any_order(
    trajectory: Trajectory, made: list[RecordedCall]
) -> None:
    strict, subsequence, unordered = (
        grade(replace(trajectory, mode=mode, extras=None), made).passed for mode in Mode
    )
    assert strict <= subsequence <= unordered


@given(steps, calls, st.sampled_from([None, *Extras]), st.randoms(use_true_random=False))
def test_neither_the_order_of_steps_nor_of_calls_counts_where_there_is_none(
    expected: tuple[TrajectoryStep, ...], made: list[RecordedCall], extras: Extras | None, chance: Any
) -> None:
    whole = Trajectory(expected, Mode.UNORDERED, ("w",), extras)
    result = grade(whole, made)
    shuffled = grade(replace(whole, steps=tuple(chance.sample(expected, len(expected)))), made)
    assert (shuffled.score, shuffled.passed, shuffled.extra, shuffled.scope) == (
        result.score,
        result.passed,
        result.extra,
        result.scope,
    )
    if extras is not Extras.READ_ONLY:  # which of two calls serves a step is then worth a difference
        again = grade(whole, chance.sample(made, len(made)))
        assert (again.score, again.passed) == (result.score, result.passed)


@given(trajectories, calls, calls)
def test_a_further_call_repairs_no_forbidden_one(
    trajectory: Trajectory, made: list[RecordedCall], more: list[RecordedCall]
) -> None:
    if grade(trajectory, made).forbidden:
        after = grade(trajectory, [*made, *more])
        assert (after.score, after.passed) == (0, False)


@given(trajectories.map(lambda trajectory: replace(trajectory, threshold=1.0)), calls, st.integers(0, 5))
def test_making_a_step_optional_fails_no_calls_that_passed(
    trajectory: Trajectory, made: list[RecordedCall], index: int
) -> None:
    if not trajectory.steps:
        return
    index %= len(trajectory.steps)
    loosened = [*trajectory.steps]
    loosened[index] = replace(loosened[index], optional=True)
    if grade(trajectory, made).passed:
        assert grade(replace(trajectory, steps=tuple(loosened)), made).passed


@given(steps, calls)
def test_a_further_call_fails_strict_calls_that_passed(
    expected: tuple[TrajectoryStep, ...], made: list[RecordedCall]
) -> None:
    required = Trajectory(tuple(replace(step, optional=False) for step in expected), Mode.STRICT)
    if grade(required, made).passed:
        assert not grade(required, [*made, RecordedCall("a", {"x": 1}, True)]).passed
