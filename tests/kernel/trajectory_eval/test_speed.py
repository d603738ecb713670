"""Grading does bounded work; how long it takes is printed by `python -m evals.bench trajectories`."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from evals.bench import trajectories
from sb.kernel.trajectory_eval import Mode, Trajectory, TrajectoryGrade, grade

_BUSY = 6  # times the bar: a machine with other work passes, a search of all alignments takes hours


def best_s(action: Callable[[], object], rounds: int) -> float:
    """The least of some rounds: other work on the machine only adds."""
    taken = []
    for _ in range(rounds):
        started = time.process_time()
        action()
        taken.append(time.process_time() - started)
    return min(taken)


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("case", trajectories.CASES, ids=lambda case: case.__name__)
def test_two_hundred_steps_and_calls_are_graded_in_bounded_time(
    case: Callable[[], trajectories.Case], mode: Mode
) -> None:
    steps, calls = case()
    assert best_s(lambda: grade(Trajectory(steps, mode), calls), 3) * 1000 < trajectories.MOST_MS * _BUSY


def test_a_thousand_recorded_runs_are_graded_in_bounded_time() -> None:
    runs = trajectories.recorded()
    results: list[TrajectoryGrade] = []
    assert best_s(lambda: results.extend(grade(*run) for run in runs), 1) < trajectories.MOST_S * _BUSY
    assert sum(result.passed for result in results) / len(runs) == 0.75
