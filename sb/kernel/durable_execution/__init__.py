"""Durable workflows: journal, claims, replay of finished steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sb.kernel.durable_execution.errors import CallFailed as CallFailed
    from sb.kernel.durable_execution.errors import LeaseLost as LeaseLost
    from sb.kernel.durable_execution.errors import ReplayMismatch as ReplayMismatch
    from sb.kernel.durable_execution.errors import StepInDoubt as StepInDoubt
    from sb.kernel.durable_execution.errors import WorkflowClaimed as WorkflowClaimed
    from sb.kernel.durable_execution.errors import WorkflowConflict as WorkflowConflict
    from sb.kernel.durable_execution.journal import UnfinishedWorkflow as UnfinishedWorkflow
    from sb.kernel.durable_execution.journal import WorkflowJournal as WorkflowJournal
    from sb.kernel.durable_execution.workflow import Workflow as Workflow
else:
    from sb.base.lazy import lazy_exports

    __getattr__, __all__ = lazy_exports(
        __name__,
        {
            "sb.kernel.durable_execution.errors": "CallFailed LeaseLost ReplayMismatch StepInDoubt WorkflowClaimed WorkflowConflict",
            "sb.kernel.durable_execution.journal": "UnfinishedWorkflow WorkflowJournal",
            "sb.kernel.durable_execution.workflow": "Workflow",
        },
    )
