"""Runs of evaluations to look at in the console."""

from __future__ import annotations

from sb.config import Home
from sb.evals.answer import Answer
from sb.evals.report import report_document
from sb.evals.results import Attempt, CaseResult, CaseVerdict, EvalRun
from sb.evals.shelf import EvalShelf
from sb.evals.summary import summary
from sb.kernel.trajectory_eval.grading import grade
from sb.kernel.trajectory_eval.model import RecordedCall, Trajectory
from sb.kernel.trajectory_eval.reading import read_trajectory

EXPECTED = read_trajectory(
    {
        "mode": "subsequence",
        "forbid": ["payments.wipe"],
        "extras": "read_only",
        "steps": [
            {"tool": "orders.read", "args": {"order": 1002}},
            {
                "tool": "payments.issue_refund",
                "args": {"order": 1002, "amount": 4900},
                "require_success": True,
            },
            {"tool": "mail.send"},
            {"tool": "shop.label", "optional": True},
        ],
    },
    "test",
)
WRONG = (
    RecordedCall("orders.read", {"order": 1002}, True),
    RecordedCall("payments.issue_refund", {"order": 1002, "amount": 49}, True),
    RecordedCall("payments.issue_refund", {"order": 1003, "amount": 8900}, False),
    RecordedCall("payments.wipe", {}, False),
)
RIGHT = (
    WRONG[0],
    RecordedCall("payments.issue_refund", {"order": 1002, "amount": 4900}, True),
    RecordedCall("mail.send"),
)


def attempt(
    calls: tuple[RecordedCall, ...], trajectory: Trajectory = EXPECTED, says: str = "refund issued"
) -> Attempt:
    graded = grade(trajectory, calls)
    failures = (graded.line,) if graded.line else ()
    return Attempt(Answer(says, calls, cost_cents=1.5, seconds=0.2), graded.passed, failures, graded)


def case(case_id: str, suite: str, *attempts: Attempt) -> CaseResult:
    passes = sum(item.passed for item in attempts)
    verdict = (
        CaseVerdict.PASSED if passes == len(attempts) else CaseVerdict.FLAKY if passes else CaseVerdict.FAILED
    )
    return CaseResult(suite, case_id, verdict, attempts, len(attempts), trajectory=EXPECTED)


def save(home: Home, number: int, *results: CaseResult, at: float) -> None:
    suites = {result.suite: "digest" for result in results}
    run = EvalRun(f"eval_{number:06}", at, "python:shop:run", results, suites)
    EvalShelf(home.evals).save(summary(run), report_document(run))
