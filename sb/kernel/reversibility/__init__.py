"""Undo records, and the reversal contracts that tools declare."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sb.kernel.reversibility.contracts import Assumption as Assumption
    from sb.kernel.reversibility.contracts import MutationRef as MutationRef
    from sb.kernel.reversibility.contracts import MutationState as MutationState
    from sb.kernel.reversibility.contracts import ReversalSpec as ReversalSpec
    from sb.kernel.reversibility.mutations import MutationStore as MutationStore
    from sb.kernel.reversibility.mutations import Reversibility as Reversibility
else:
    from sb.base.lazy import lazy_exports

    __getattr__, __all__ = lazy_exports(
        __name__,
        {
            "sb.kernel.reversibility.mutations": "MutationStore Reversibility",
            "sb.kernel.reversibility.contracts": "Assumption MutationRef MutationState ReversalSpec",
        },
    )
