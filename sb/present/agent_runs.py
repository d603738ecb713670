"""Runs of agents, and the outcomes of their steps."""

from __future__ import annotations

from typing import Any

from sb.agent.run_record import RunRecord, StepArtifact
from sb.agent.runs import AgentRun
from sb.base.secrets.redaction import redact
from sb.present.kind import Field, Kind
from sb.present.times import moment
from sb.present.workflows import STEP

AGENT_RUN = Kind[AgentRun](
    Field("state", lambda it, now: it.state),
    Field("started", lambda it, now: moment(it.started_at)),
    Field("agent", lambda it, now: it.agent),
    Field("count", lambda it, now: str(len(it.steps)), title="steps"),
    Field("goal", lambda it, now: it.goal),
    Field("id", lambda it, now: it.run_id),
    faces={"table": "state,started,agent,count,goal,id"},
    json={
        "workflow_id run_id agent goal state waits_for": "string",
        "started_at": "time",
        "steps": ["workflow_step"],
    },
    computed={"steps": lambda it, now: [STEP.to_dict(step) for step in it.steps]},
)


def artifact_to_dict(artifact: StepArtifact) -> dict[str, Any]:
    """An outcome in plain JSON, without secrets."""
    return {
        "step": artifact.step,
        "tool": artifact.tool,
        "ok": artifact.ok,
        "args": redact(artifact.args),
        "output": redact(artifact.output),
        "error": artifact.error,
        "approval_id": artifact.approval_id,
        "note": artifact.note,
    }


def record_to_dict(record: RunRecord) -> dict[str, Any]:
    """A run's record in plain JSON, without secrets."""
    return {
        "workflow_id": record.workflow_id,
        "run_id": record.run_id,
        "agent": record.agent,
        "state": str(record.state),
        "dry_run": record.dry_run,
        "steps": [artifact_to_dict(artifact) for artifact in record.artifacts],
        "output": redact(record.output),
        "error": record.error,
        "critique": {"passed": record.critique.passed, "notes": list(record.critique.notes)},
    }
