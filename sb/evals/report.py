"""A run of evals in full as JSON: every attempt with its answer, calls and grade, masked."""

from __future__ import annotations

from typing import Any

from sb.base.secrets.redaction import redact
from sb.base.text import shorten
from sb.evals.results import Attempt, CaseResult, EvalRun
from sb.evals.summary import case_document, head_document, summary
from sb.kernel.trajectory_eval.model import RecordedCall, Trajectory, TrajectoryGrade

LONGEST_OUTPUT = 20_000  # characters of an answer in a report


def report_document(run: EvalRun) -> dict[str, Any]:
    """The run as a document, with secrets and personal data masked. Plain JSON."""
    short = summary(run)
    cases = [
        case_document(case) | _case(result) for case, result in zip(short.cases, run.results, strict=True)
    ]
    return head_document(short) | {"cases": cases}


def _case(result: CaseResult) -> dict[str, Any]:
    return {
        "needed": result.needed,
        "reason": result.reason,
        "tags": list(result.tags),
        "trajectory": None if result.trajectory is None else _trajectory(result.trajectory),
        "attempts": list(map(_attempt, result.attempts)),
    }


def _trajectory(trajectory: Trajectory) -> dict[str, Any]:
    steps = [
        {
            "tool": step.name,
            "args": None if step.args is None else redact(step.args),
            "optional": step.optional,
            "require_success": step.require_success,
        }
        for step in trajectory.steps
    ]
    return {"mode": str(trajectory.mode), "forbid": list(trajectory.forbid), "steps": steps}


def _attempt(attempt: Attempt) -> dict[str, Any]:
    answer = attempt.answer
    return {
        "passed": attempt.passed,
        "failures": redact(list(attempt.failures)),
        "output": shorten(redact(answer.output), LONGEST_OUTPUT),
        "error": redact(answer.error),
        "log": redact(answer.log),
        "seconds": answer.seconds,
        "cost_cents": answer.cost_cents,
        "calls": list(map(_call, answer.calls)),
        "grade": None if attempt.grade is None else _grade(attempt.grade),
    }


def _call(call: RecordedCall) -> dict[str, Any]:
    return {
        "tool": call.tool,
        "args": redact(dict(call.args)),
        "success": call.success,
        "safety_class": None if call.safety_class is None else str(call.safety_class),
        "ms": call.ms,
        "call_id": call.call_id,
    }


def _grade(grade: TrajectoryGrade) -> dict[str, Any]:
    lists = {name: list(getattr(grade, name)) for name in ("matched", "forbidden", "extra")}
    return vars(grade) | lists | {"line": redact(grade.line)}
