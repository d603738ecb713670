"""How long grading takes, in processor time."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from evals.bench import trajectories
from sb.kernel.trajectory_eval import Mode, Trajectory, TrajectoryGrade, grade


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
def test_two_hundred_steps_and_calls_take_at_most_50_ms(
    case: Callable[[], trajectories.Case], mode: Mode
) -> None:
    steps, calls = case()
    assert best_s(lambda: grade(Trajectory(steps, mode), calls), 3) * 1000 < trajectories.MOST_MS


def test_a_thousand_recorded_runs_take_at_most_3_s() -> None:
    runs = trajectories.recorded()
    results: list[TrajectoryGrade] = []
    assert best_s(lambda: results.extend(grade(*run) for run in runs), 1) < trajectories.MOST_S
    assert sum(result.passed for result in results) / len(runs) == 0.75
