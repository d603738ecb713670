"""The score of autonomy, its five rungs and the ceilings above them (survival-layer.md, section 3)."""

from __future__ import annotations

from dataclasses import fields
from enum import StrEnum

from sb.base.values.frozen import frozen
from sb.errors import UsageError
from sb.kernel.contracts import ReversalClass


class AutonomyMode(StrEnum):
    """A rung of the ladder, the lowest first; each includes those below it."""

    READ = "read"
    RECOMMEND = "recommend"
    DRAFT = "draft"
    EXECUTE_WITH_APPROVAL = "execute_with_approval"
    AUTO_EXECUTE = "auto_execute"

    @property
    def rank(self) -> int:
        """Its place on the ladder, 0 for the lowest."""
        return _LADDER.index(self)


_LADDER = tuple(AutonomyMode)
# The score from which on each rung is reached, the highest first; below all of them an agent reads.
RUNGS = {
    AutonomyMode.AUTO_EXECUTE: 0.85,
    AutonomyMode.EXECUTE_WITH_APPROVAL: 0.65,
    AutonomyMode.DRAFT: 0.50,
    AutonomyMode.RECOMMEND: 0.30,
}
# The specification announces eight signals and names these seven. Five earn, two spend.
WEIGHTS = {
    "evidence_confidence": 0.20,
    "policy_confidence": 0.20,
    "eval_score": 0.20,
    "tool_reliability": 0.15,
    "reversibility": 0.15,
    "task_risk": -0.10,
    "user_impact": -0.10,
}
_MOST = sum(weight for weight in WEIGHTS.values() if weight > 0)  # so that the best signals score 1
_SHARES = tuple((name, weight / _MOST) for name, weight in WEIGHTS.items())
_REVERSIBILITY = {
    ReversalClass.REVERSIBLE: 1.0,
    ReversalClass.COMPENSABLE: 0.5,
    ReversalClass.IRREVERSIBLE: 0.0,
}


@frozen
class AutonomySignals:
    """Signals of an agent in a task, each from 0 to 1.

    Args:
        evidence_confidence: how well its claims rest on sources. policy_confidence: how surely policy permits the task.
        eval_score: of its newest evaluation. tool_reliability: share of its tools' calls that worked.
        reversibility: as `reversibility_score` has it.
        task_risk: harm if it goes wrong. user_impact: how much people notice of it.

    Raises:
        UsageError: a signal is no number from 0 to 1.
    """

    evidence_confidence: float
    policy_confidence: float
    eval_score: float
    tool_reliability: float
    reversibility: float
    task_risk: float
    user_impact: float

    def __post_init__(self) -> None:
        for name in WEIGHTS:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
                raise UsageError(f"{name} is {value!r}: a signal is a number from 0 to 1")


@frozen
class AutonomyCaps:
    """Ceilings that no score passes; AUTO_EXECUTE is none.

    Args:
        policy_ceiling: of the tool policy. charter_ceiling: of the agent's charter.
        operator_ceiling: that a person has set.
    """

    policy_ceiling: AutonomyMode = AutonomyMode.AUTO_EXECUTE
    charter_ceiling: AutonomyMode = AutonomyMode.AUTO_EXECUTE
    operator_ceiling: AutonomyMode = AutonomyMode.AUTO_EXECUTE


@frozen
class AutonomyDecision:
    """The authority of an agent in a task.

    Args:
        mode: what it may do. score: from 0 to 1. earned: the rung of the score alone.
        capped_by: the lowest ceiling, by its name, where that holds the mode below what was earned; else "".
    """

    mode: AutonomyMode
    score: float
    earned: AutonomyMode
    capped_by: str = ""


def compute_autonomy(signals: AutonomySignals, caps: AutonomyCaps | None = None) -> AutonomyDecision:
    """The authority that signals earn, under the lowest of the ceilings.

    The score is the weighted sum by the largest that it can be, at least 0: all signals at 1 give .778, all at 0 give 0.
    """
    # Rounded, since sums of tenths miss a rung that they reach exactly.
    score = round(max(sum(share * getattr(signals, name) for name, share in _SHARES), 0.0), 9)
    earned = next((mode for mode, least in RUNGS.items() if score >= least), AutonomyMode.READ)
    ceilings = [(getattr(caps, field.name), field.name) for field in fields(AutonomyCaps)] if caps else []
    lowest, name = min(ceilings, key=lambda it: it[0].rank, default=(AutonomyMode.AUTO_EXECUTE, ""))
    if lowest.rank < earned.rank:
        return AutonomyDecision(lowest, score, earned, name)
    return AutonomyDecision(earned, score, earned)


def degrade(
    mode: AutonomyMode, *, policy_violation: bool = False, safety_violation: bool = False
) -> AutonomyMode:
    """The mode after a violation: one rung lower after one of policy, READ after one of safety."""
    if safety_violation:
        return AutonomyMode.READ
    return _LADDER[max(mode.rank - policy_violation, 0)]


def reversibility_score(reversal: ReversalClass) -> float:
    """The signal of an action that can be undone (1), compensated (.5) or neither (0)."""
    return _REVERSIBILITY[reversal]
