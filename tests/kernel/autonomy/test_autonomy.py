"""Earned autonomy: the score, its rungs, the ceilings above them, and the state that falls by itself."""

from __future__ import annotations

import math
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.errors import UsageError
from sb.kernel.autonomy import (
    RUNGS,
    AutonomyCaps,
    AutonomyMode,
    AutonomySignals,
    AutonomyState,
    compute_autonomy,
    degrade,
    reversibility_score,
)
from sb.kernel.reversibility.contracts import ReversalClass

NAMES = [field.name for field in fields(AutonomySignals)]
SPENT = ("task_risk", "user_impact")
signals = st.builds(AutonomySignals, **{name: st.floats(0, 1) for name in NAMES})
caps = st.builds(
    AutonomyCaps, **{field.name: st.sampled_from(AutonomyMode) for field in fields(AutonomyCaps)}
)
modes = st.sampled_from(AutonomyMode)


def all_at(value: float) -> AutonomySignals:
    return AutonomySignals(**dict.fromkeys(NAMES, value))


def test_the_example_of_the_specification_ends_at_its_ceiling() -> None:
    decision = compute_autonomy(
        AutonomySignals(
            evidence_confidence=0.9,
            policy_confidence=1.0,
            eval_score=0.85,
            tool_reliability=0.9,
            reversibility=0.5,
            task_risk=0.2,
            user_impact=0.3,
        ),
        AutonomyCaps(policy_ceiling=AutonomyMode.EXECUTE_WITH_APPROVAL),
    )
    assert decision.mode == "execute_with_approval"
    assert decision.score == pytest.approx(0.71 / 0.9)
    assert decision.capped_by == "", "it earned no more than that ceiling allows"


def test_all_signals_at_one_and_at_zero() -> None:
    assert compute_autonomy(all_at(1)).score == pytest.approx(0.778, abs=0.0005)
    assert compute_autonomy(all_at(0)).score == 0
    assert compute_autonomy(all_at(0)).mode is AutonomyMode.READ


@pytest.mark.parametrize(("mode", "least"), RUNGS.items())
def test_a_rung_is_reached_at_its_score_and_not_below(mode: AutonomyMode, least: float) -> None:
    earning = [name for name in NAMES if name not in SPENT]
    at = AutonomySignals(**dict.fromkeys(earning, least), **dict.fromkeys(SPENT, 0.0))
    assert compute_autonomy(at).mode is mode
    below = replace(at, eval_score=least - 0.01)
    assert compute_autonomy(below).mode.rank == mode.rank - 1


@given(signals, st.sampled_from(NAMES), st.floats(0, 1))
def test_more_of_what_earns_never_lowers_and_more_of_what_spends_never_raises(
    known: AutonomySignals, name: str, value: float
) -> None:
    more = replace(known, **{name: max(value, getattr(known, name))})
    before, after = compute_autonomy(known).mode.rank, compute_autonomy(more).mode.rank
    assert after <= before if name in SPENT else after >= before


@given(signals, caps)
def test_the_lowest_ceiling_wins_and_is_named_only_where_it_holds_something_down(
    known: AutonomySignals, ceilings: AutonomyCaps
) -> None:
    decision = compute_autonomy(known, ceilings)
    ranks = {field.name: getattr(ceilings, field.name).rank for field in fields(ceilings)}
    assert decision.earned is compute_autonomy(known).mode
    assert decision.mode.rank == min(decision.earned.rank, *ranks.values())
    assert bool(decision.capped_by) == (decision.mode is not decision.earned)
    assert not decision.capped_by or ranks[decision.capped_by] == min(ranks.values())


@pytest.mark.parametrize("value", [-0.01, 1.01, math.nan, math.inf, True, "1", None])
@pytest.mark.parametrize("name", NAMES)
def test_a_signal_out_of_range_is_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(UsageError, match=f"{name} is"):
        replace(all_at(0.5), **{name: value})


@given(modes)
def test_a_violation_lowers(mode: AutonomyMode) -> None:
    assert degrade(mode) is mode
    assert degrade(mode, policy_violation=True).rank == max(mode.rank - 1, 0)
    assert degrade(mode, safety_violation=True) is AutonomyMode.READ
    assert degrade(mode, policy_violation=True, safety_violation=True) is AutonomyMode.READ


def test_what_can_be_undone_earns_more() -> None:
    assert {it: reversibility_score(it) for it in ReversalClass} == {
        "reversible": 1.0,
        "compensable": 0.5,
        "irreversible": 0.0,
    }


@given(modes, st.lists(signals, max_size=8), st.booleans())
def test_while_frozen_the_mode_only_falls(
    start: AutonomyMode, known: list[AutonomySignals], by_replay: bool
) -> None:
    state = AutonomyState(start)
    if by_replay:
        state.record_replay(passed=False)
    else:
        state.freeze("looked at by ada")
    ranks = [start.rank, *(state.reconsider(compute_autonomy(it)).rank for it in known)]
    assert ranks == sorted(ranks, reverse=True)
    state.unfreeze()
    assert not state.frozen
    assert state.reconsider(compute_autonomy(all_at(0.9))) is compute_autonomy(all_at(0.9)).mode


def test_three_corrections_within_a_day_freeze_and_spread_ones_do_not() -> None:
    state = AutonomyState()
    for day in range(5):
        state.record_correction(day * 86_400.0)
    assert not state.frozen
    for minute in (1, 2):
        state.record_correction(4 * 86_400.0 + minute * 60)
    assert state.frozen_by == "3 corrections within a day"
    state.unfreeze()
    state.record_correction(4 * 86_400.0 + 180)
    assert not state.frozen, "what was looked at counts no more"


def test_the_first_reason_of_a_freeze_stays() -> None:
    state = AutonomyState(AutonomyMode.AUTO_EXECUTE)
    state.record_replay(passed=True)
    assert not state.frozen
    state.record_replay(passed=False)
    state.freeze("another")
    assert state.frozen_by == "a failed replay"
    assert state.record_violation() is AutonomyMode.EXECUTE_WITH_APPROVAL
    assert state.record_violation(safety=True) is AutonomyMode.READ
