"""Door to `sb.kernel.recovery.loop`, under the name that the specification gives."""

from __future__ import annotations

from sb.kernel.recovery.loop import (
    DecisionStore,
    RecoveryLoop,
    RuntimeDecisionRecord,
    registry_approval_resolver,
)

__all__ = ["DecisionStore", "RecoveryLoop", "RuntimeDecisionRecord", "registry_approval_resolver"]
