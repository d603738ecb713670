"""Probe of the "validated" control about the way to an answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sb.harness.harness import Harness
from sb.kernel.contracts import SafetyClass
from sb.kernel.harness_audit import Check
from sb.kernel.run_context import RunContext
from sb.kernel.trajectory_eval.grading import grade
from sb.kernel.trajectory_eval.model import RecordedCall, TrajectoryGrade
from sb.kernel.trajectory_eval.reading import read_trajectory
from sb.runtime import Runtime

_READ, _REFUND, _AGAIN = "orders.read_booking", "payments.issue_refund", "payments.issue_refund_again"
_PATH: dict[str, Any] = {
    "mode": "subsequence",
    "forbid": [_AGAIN],
    "steps": [{"tool": _READ}, {"tool": _REFUND, "args": {"amount": 500}}],
}
_ONCE: dict[str, Any] = {**_PATH, "mode": "strict"}
# Whoever takes the first call that fits finds no calls for all of these.
_CROSSED: tuple[dict[str, Any], ...] = (
    {"mode": "unordered", "steps": [{"tool": _REFUND}, {"tool": _REFUND, "args": {"amount": 500}}]},
    {"mode": "unordered", "steps": [{"tool": _REFUND, "args": {"amount": 500}}, {"tool": _REFUND}]},
)
_EATEN: tuple[dict[str, Any], ...] = tuple(
    {"mode": mode, "steps": [{"tool": _READ, "optional": True}, {"tool": _READ}]}
    for mode in ("strict", "subsequence", "unordered")
)


def trajectories(h: Harness) -> Iterator[Check]:
    """HA-17."""
    with h.open() as runtime:
        for tool in (_READ, _REFUND, _AGAIN):
            h.tool(runtime, tool, lambda amount=0: "done", SafetyClass.READ_ONLY)
        ctx = h.context()

        def graded(document: dict[str, Any], *calls: tuple[str, int]) -> TrajectoryGrade:
            return grade(read_trajectory(document, "HA-17"), _made(runtime, ctx, calls))

        read, refund, again = (_READ, 0), (_REFUND, 500), (_AGAIN, 500)
        right = graded(_PATH, read, refund)
        yield Check("path", right.passed and right.score == 1, _saw(right))

        skipped, other = graded(_PATH, refund), graded(_PATH, read, (_REFUND, 5000))
        noticed = not skipped.passed and not other.passed and skipped.score < 1
        yield Check("skipped", noticed and "missing" in skipped.line, f"{_saw(skipped)}; {_saw(other)}")

        forbidden = graded({**_PATH, "threshold": 0.1}, read, refund, again)
        yield Check("forbidden", not forbidden.passed and forbidden.score == 0, _saw(forbidden))

        double, single = graded(_ONCE, read, refund, refund), graded(_ONCE, read, refund)
        yield Check("double", single.passed and not double.passed, f"{_saw(double)}; once {_saw(single)}")

        crossed = [graded(document, refund, (_REFUND, 7)) for document in _CROSSED]
        eaten = [graded(document, read) for document in _EATEN]
        best = all(result.passed for result in (*crossed, *eaten))
        yield Check("matching", best, f"grade: {', '.join(f'{r.score:g}' for r in (*crossed, *eaten))}")


def _made(runtime: Runtime, ctx: RunContext, calls: Sequence[tuple[str, int]]) -> list[RecordedCall]:
    """The calls as the executor made them."""
    made = []
    for tool, amount in calls:
        args = {"amount": amount}
        result = runtime.executor.execute(ctx, tool, args)
        made.append(RecordedCall(tool, args, result.success, SafetyClass.READ_ONLY))
    return made


def _saw(result: TrajectoryGrade) -> str:
    return f"grade: {result.score:g}" + (f", {result.line}" if result.line else "")
