"""Door to `sb.kernel.recovery.compensation`, under the name that the specification gives."""

from __future__ import annotations

from sb.kernel.error_kinds import ErrorKind
from sb.kernel.failures.verdicts import PLAYBOOK, CompensationAction, Verdict, verdict_for
from sb.kernel.recovery.compensation import CompensationDispatcher
from sb.kernel.recovery.compensation_outcome import (
    CompensationKind,
    CompensationOutcome,
    FailedCall,
    FailureNotice,
)
from sb.kernel.recovery.reversal_guard import NoReversalToken, TokenStore, guard

__all__ = [
    "PLAYBOOK",
    "CompensationAction",
    "CompensationDispatcher",
    "CompensationKind",
    "CompensationOutcome",
    "ErrorKind",
    "FailedCall",
    "FailureNotice",
    "NoReversalToken",
    "TokenStore",
    "Verdict",
    "guard",
    "verdict_for",
]
