"""Trajectories: expected tool calls, and grades of recorded ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sb.kernel.trajectory_eval.grading import can_fail as can_fail
    from sb.kernel.trajectory_eval.grading import grade as grade
    from sb.kernel.trajectory_eval.model import ArgsMatch as ArgsMatch
    from sb.kernel.trajectory_eval.model import Extras as Extras
    from sb.kernel.trajectory_eval.model import Mode as Mode
    from sb.kernel.trajectory_eval.model import RecordedCall as RecordedCall
    from sb.kernel.trajectory_eval.model import Trajectory as Trajectory
    from sb.kernel.trajectory_eval.model import TrajectoryGrade as TrajectoryGrade
    from sb.kernel.trajectory_eval.model import TrajectoryStep as TrajectoryStep
    from sb.kernel.trajectory_eval.reading import read_call as read_call
    from sb.kernel.trajectory_eval.reading import read_trajectory as read_trajectory
else:
    from sb.base.lazy import lazy_exports

    __getattr__, __all__ = lazy_exports(
        __name__,
        {
            "sb.kernel.trajectory_eval.grading": "can_fail grade",
            "sb.kernel.trajectory_eval.model": "ArgsMatch Extras Mode RecordedCall Trajectory TrajectoryGrade TrajectoryStep",
            "sb.kernel.trajectory_eval.reading": "read_call read_trajectory",
        },
    )
