"""Workflows and their steps as lists show them: without arguments or results, which are kept as they were given."""

from __future__ import annotations

import json
from typing import Any

from sb.base.text import nearest
from sb.base.values.frozen import frozen
from sb.errors import NotFoundError
from sb.kernel.durable_execution.claims import is_claimed
from sb.kernel.durable_execution.doubt import in_doubt
from sb.kernel.durable_execution.seals import POSITION_BITS
from sb.log.event_log import EventLog

FINISHED, RUNNING, UNKNOWN, STOPPED = "finished", "running", "unknown", "stopped"  # states of a workflow
DONE, OPEN = "done", "open"  # of a step, besides RUNNING and UNKNOWN
_COLUMNS = "number, id, name, run_id, started_at, owner, lease_until, result IS NOT NULL"
_STEPS = "SELECT id, name, kind, result IS NOT NULL FROM workflow_steps WHERE id >= ? AND id < ? ORDER BY id"


@frozen
class StepRecord:
    """A step that was announced.

    Args:
        state: done, running, unknown or open, which runs again.
        reference: the id under which an unknown outcome is settled, or "".
    """

    name: str
    kind: str
    state: str
    reference: str = ""


@frozen
class WorkflowRecord:
    """A workflow that was begun; `started_at` is in microseconds since the epoch."""

    workflow_id: str
    name: str
    run_id: str
    started_at: int
    state: str
    steps: tuple[StepRecord, ...]

    @property
    def unknown(self) -> StepRecord | None:
        """The step whose outcome is unknown."""
        return next((step for step in self.steps if step.state == UNKNOWN), None)


def workflow_records(log: EventLog, *, everything: bool = False) -> list[WorkflowRecord]:
    """Unfinished workflows, or all of them, oldest first."""
    where = "" if everything else "WHERE result IS NULL"
    rows = log.database.query(f"SELECT {_COLUMNS} FROM workflows {where} ORDER BY number")
    doubtful = {(intent.run_id, intent.step): intent.call_id for intent in in_doubt(log)} if rows else {}
    return [_record(log, row, doubtful) for row in rows]


def workflow_record(log: EventLog, workflow_id: str) -> WorkflowRecord:
    """One workflow, finished or not.

    Raises:
        NotFoundError: there is none of that id.
    """
    found = {record.workflow_id: record for record in workflow_records(log, everything=True)}
    if workflow_id not in found:
        raise NotFoundError(
            f"no workflow {workflow_id!r} is on record{nearest(workflow_id, found)}", "sb workflow list --all"
        )
    return found[workflow_id]


def run_of(log: EventLog, workflow_id: str) -> str:
    """The run of a workflow's calls; "" for one that was not begun."""
    rows = log.database.query("SELECT run_id FROM workflows WHERE id = ?", (workflow_id,))
    return str(rows[0][0]) if rows else ""


def arguments_of(log: EventLog, name: str) -> dict[str, dict[str, Any]]:
    """The arguments of all workflows of this name, by their ids; not for display."""
    rows = log.database.query("SELECT id, args FROM workflows WHERE name = ?", (name,))
    return {workflow_id: json.loads(args) for workflow_id, args in rows}


def _record(log: EventLog, row: tuple[Any, ...], doubtful: dict[tuple[str, str], str]) -> WorkflowRecord:
    number, workflow_id, name, run_id, started_at, owner, lease_until, finished = row
    running = is_claimed(owner, lease_until, log.clock.now())
    steps = []
    for place, step, kind, done in log.database.query(
        _STEPS, (number << POSITION_BITS, (number + 1) << POSITION_BITS)
    ):
        position = place - (number << POSITION_BITS)
        # A call stands among the calls under its position and name; the one step in doubt is the last.
        reference = doubtful.get((run_id, f"{position} {step}" if kind == "call" else step), "")
        state = DONE if done else UNKNOWN if reference else RUNNING if running else OPEN
        steps.append(StepRecord(step, kind, state, "" if done else reference))
    unknown = any(step.state == UNKNOWN for step in steps)
    word = FINISHED if finished else UNKNOWN if unknown else RUNNING if running else STOPPED
    return WorkflowRecord(workflow_id, name, run_id, started_at, word, tuple(steps))
