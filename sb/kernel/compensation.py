"""Door to `sb.kernel.recovery.compensation`, under the name that the specification gives."""

from __future__ import annotations

from sb.kernel.recovery.compensation import (
    CompensationDispatcher,
    CompensationKind,
    CompensationOutcome,
    FailedCall,
    FailureNotice,
    NoReversalToken,
    TokenStore,
    guard,
)

__all__ = [
    "CompensationDispatcher",
    "CompensationKind",
    "CompensationOutcome",
    "FailedCall",
    "FailureNotice",
    "NoReversalToken",
    "TokenStore",
    "guard",
]
