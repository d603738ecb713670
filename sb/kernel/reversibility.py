"""Door to `sb.kernel.calls.mutations`, under the name that the specification gives."""

from __future__ import annotations

from sb.kernel.calls.mutations import MutationStore, Reversibility
from sb.kernel.reversal_contracts import Assumption, MutationRef, MutationState, ReversalSpec

__all__ = ["Assumption", "MutationRef", "MutationState", "MutationStore", "ReversalSpec", "Reversibility"]
