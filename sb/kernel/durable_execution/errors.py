"""Errors that stop a workflow."""

from __future__ import annotations

from sb.errors import SBError
from sb.kernel.contracts import ToolResult


class WorkflowConflict(SBError):
    """The id belongs to a workflow of another name, or with other arguments."""

    kind = "workflow_conflict"


class WorkflowClaimed(SBError):
    """Somebody else is running it."""

    kind = "workflow_claimed"


class LeaseLost(SBError):
    """Somebody else has taken it over; nothing was run."""

    kind = "lease_lost"


class ReplayMismatch(SBError):
    """The code asks for other steps than those on record."""

    kind = "replay_mismatch"


class StepInDoubt(SBError):
    """A step was announced and nobody knows whether it happened, or what it gave."""

    kind = "step_in_doubt"


class CallFailed(SBError):
    """A tool call did not succeed.

    Args:
        result: what the executor said; a call that waits for a person has `approval_id` in its data.
    """

    kind = "call_failed"

    def __init__(self, message: str, result: ToolResult, hint: str = "") -> None:
        super().__init__(message, hint)
        self.result = result
