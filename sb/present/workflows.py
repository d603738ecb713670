"""Workflows, and their steps."""

from __future__ import annotations

from sb.kernel.durable_execution.records import StepRecord, WorkflowRecord
from sb.present.kind import Field, Kind
from sb.present.times import moment

STEP = Kind[StepRecord](
    Field("state", lambda it, now: it.state),
    Field("kind", lambda it, now: it.kind),
    Field("step", lambda it, now: it.name),
    Field("id", lambda it, now: it.reference),
    faces={"table": "state,kind,step,id"},
    json={"name kind state reference": "string"},
)
WORKFLOW = Kind[WorkflowRecord](
    Field("state", lambda it, now: it.state),
    Field("started", lambda it, now: moment(it.started_at)),
    Field("count", lambda it, now: str(len(it.steps)), title="steps"),
    Field("last step", lambda it, now: it.steps[-1].name if it.steps else "-"),
    Field("name", lambda it, now: it.name),
    Field("id", lambda it, now: it.workflow_id),
    faces={"table": "state,started,count,last step,name,id"},
    json={"workflow_id name run_id state": "string", "started_at": "time", "steps": ["workflow_step"]},
    computed={"steps": lambda it, now: [STEP.to_dict(step) for step in it.steps]},
)
