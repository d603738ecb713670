"""Door to `sb.kernel.trajectories`, under the name that the specification gives."""

from __future__ import annotations

from sb.kernel.trajectories.grading import can_fail, grade
from sb.kernel.trajectories.model import (
    ArgsMatch,
    Extras,
    Mode,
    RecordedCall,
    Trajectory,
    TrajectoryGrade,
    TrajectoryStep,
)
from sb.kernel.trajectories.reading import read_call, read_trajectory

__all__ = [
    "ArgsMatch",
    "Extras",
    "Mode",
    "RecordedCall",
    "Trajectory",
    "TrajectoryGrade",
    "TrajectoryStep",
    "can_fail",
    "grade",
    "read_call",
    "read_trajectory",
]
