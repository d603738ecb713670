"""Door to `sb.kernel.workflows`, under the name that the specification gives."""

from __future__ import annotations

from sb.kernel.workflows.errors import (
    CallFailed,
    LeaseLost,
    ReplayMismatch,
    StepInDoubt,
    WorkflowClaimed,
    WorkflowConflict,
)
from sb.kernel.workflows.journal import UnfinishedWorkflow, WorkflowJournal
from sb.kernel.workflows.workflow import Workflow

__all__ = [
    "CallFailed",
    "LeaseLost",
    "ReplayMismatch",
    "StepInDoubt",
    "UnfinishedWorkflow",
    "Workflow",
    "WorkflowClaimed",
    "WorkflowConflict",
    "WorkflowJournal",
]
