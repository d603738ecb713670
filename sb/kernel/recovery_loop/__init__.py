"""Recovery: undo calls by a person's decision or an approved automatic reversal, and settle unknown outcomes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sb.kernel.recovery_loop.loop import DecisionStore as DecisionStore
    from sb.kernel.recovery_loop.loop import RecoveryLoop as RecoveryLoop
    from sb.kernel.recovery_loop.loop import RuntimeDecisionRecord as RuntimeDecisionRecord
    from sb.kernel.recovery_loop.loop import registry_approval_resolver as registry_approval_resolver
else:
    from sb.base.lazy import lazy_exports

    __getattr__, __all__ = lazy_exports(
        __name__,
        {
            "sb.kernel.recovery_loop.loop": "DecisionStore RecoveryLoop RuntimeDecisionRecord registry_approval_resolver",
        },
    )
