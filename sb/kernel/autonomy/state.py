"""The state of one agent's autonomy in one task: it falls by itself, and is raised only while it is not frozen."""

from __future__ import annotations

from sb.kernel.autonomy.scoring import AutonomyDecision, AutonomyMode, degrade

CLUSTER, CLUSTER_S = 3, 86_400.0  # so many corrections within so many seconds freeze promotion
FAILED_REPLAY, CORRECTED = "a failed replay", f"{CLUSTER} corrections within a day"


class AutonomyState:
    """A mode that a violation lowers, and that a decision moves.

    It is pure: what it says holds nobody until somebody consults it (survival-layer.md, section 3).

    Args:
        mode: where it starts.
    """

    def __init__(self, mode: AutonomyMode = AutonomyMode.EXECUTE_WITH_APPROVAL) -> None:
        self.mode = mode
        self.frozen_by = ""  # why promotion is frozen; "" while it is not
        self._corrected_at: list[float] = []

    @property
    def frozen(self) -> bool:
        """True while the mode cannot be raised."""
        return bool(self.frozen_by)

    def freeze(self, reason: str) -> None:
        """Freeze promotion; the first reason stays until it is lifted."""
        self.frozen_by = self.frozen_by or reason

    def unfreeze(self) -> None:
        """Let decisions raise the mode again; corrections of before count no more."""
        self.frozen_by = ""
        self._corrected_at.clear()

    def record_replay(self, *, passed: bool) -> None:
        """Freeze promotion after a replay that failed."""
        if not passed:
            self.freeze(FAILED_REPLAY)

    def record_correction(self, at: float) -> None:
        """Freeze promotion once an operator has corrected it several times within a day; `at` in seconds."""
        self._corrected_at = [it for it in self._corrected_at if abs(at - it) < CLUSTER_S] + [at]
        if len(self._corrected_at) >= CLUSTER:
            self.freeze(CORRECTED)

    def record_violation(self, *, safety: bool = False) -> AutonomyMode:
        """Lower the mode after a violation of policy, or of safety; returns the new one."""
        self.mode = degrade(self.mode, policy_violation=True, safety_violation=safety)
        return self.mode

    def reconsider(self, decision: AutonomyDecision) -> AutonomyMode:
        """Move to the mode of a decision, while frozen only down; returns the new one."""
        if not self.frozen or decision.mode.rank < self.mode.rank:
            self.mode = decision.mode
        return self.mode
