"""Earned autonomy: how much an agent may do by itself in a task, from what is known of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sb.kernel.autonomy.scoring import RUNGS as RUNGS
    from sb.kernel.autonomy.scoring import AutonomyCaps as AutonomyCaps
    from sb.kernel.autonomy.scoring import AutonomyDecision as AutonomyDecision
    from sb.kernel.autonomy.scoring import AutonomyMode as AutonomyMode
    from sb.kernel.autonomy.scoring import AutonomySignals as AutonomySignals
    from sb.kernel.autonomy.scoring import compute_autonomy as compute_autonomy
    from sb.kernel.autonomy.scoring import degrade as degrade
    from sb.kernel.autonomy.scoring import reversibility_score as reversibility_score
    from sb.kernel.autonomy.state import AutonomyState as AutonomyState
else:
    from sb.base.lazy import lazy_exports

    __getattr__, __all__ = lazy_exports(
        __name__,
        {
            "sb.kernel.autonomy.scoring": "RUNGS AutonomyCaps AutonomyDecision AutonomyMode AutonomySignals"
            " compute_autonomy degrade reversibility_score",
            "sb.kernel.autonomy.state": "AutonomyState",
        },
    )
