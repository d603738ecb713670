"""How does work of several steps survive its process? The names of `sb.kernel.durable`, in one place."""

from __future__ import annotations

from sb.kernel.durable.errors import (
    CallFailed,
    LeaseLost,
    ReplayMismatch,
    StepInDoubt,
    WorkflowClaimed,
    WorkflowConflict,
)
from sb.kernel.durable.journal import UnfinishedWorkflow, WorkflowJournal
from sb.kernel.durable.workflow import Workflow

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
