"""Record of a run: what was planned, what became of each step, and what a critic says of it."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum
from typing import Any

from sb.base.values.frozen import frozen


class RunState(StrEnum):
    """State of a run after an attempt."""

    DONE = "done"
    PLANNED = "planned"  # a dry run: nothing was called
    WAITS = "waits"  # for a person; the next attempt goes on once that is decided
    FAILED = "failed"  # the next attempt makes the failed step again
    UNKNOWN = "unknown"  # a step may have happened: a person settles it


@frozen
class StepArtifact:
    """The outcome of one step.

    Args:
        step: its name in the plan. tool: its id.
        ok: whether it succeeded; True in a dry run.
        output: what the tool gave, in plain JSON.
        error: why it did not succeed, or "".
        approval_id: the request that waits for a person, or "".
        note: of a dry run: why the call would be refused or would wait, or on what it depends.
    """

    step: str
    ok: bool
    tool: str = ""
    args: dict[str, Any] = field(default_factory=dict)
    output: Any = None
    error: str = ""
    approval_id: str = ""
    note: str = ""


@frozen
class Critique:
    """A verdict on a run: a critic's, or else whether it came to its end."""

    passed: bool
    notes: tuple[str, ...] = ()


@frozen
class RunRecord:
    """The outcome of a goal, as far as this attempt knows.

    Args:
        workflow_id: names it for good: the same id goes on with it.
        run_id: of its calls on the log; "" for a dry run.
        artifacts: of the steps of this attempt, earlier ones from the journal; none where it had ended before.
        output: what the plan gives at its end.
    """

    goal: str
    agent: str
    workflow_id: str = ""
    run_id: str = ""
    state: RunState = RunState.DONE
    artifacts: tuple[StepArtifact, ...] = ()
    output: Any = None
    critique: Critique = Critique(passed=True)

    @property
    def dry_run(self) -> bool:
        """True if nothing was called."""
        return self.state is RunState.PLANNED

    @property
    def error(self) -> str:
        """The reason why the run has not ended, or ""."""
        if self.state is RunState.DONE:
            return ""
        return next((artifact.error for artifact in reversed(self.artifacts) if not artifact.ok), "")

    @property
    def approval_id(self) -> str:
        """The request that it waits for, or ""."""
        return next((artifact.approval_id for artifact in self.artifacts if artifact.approval_id), "")
