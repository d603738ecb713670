"""Guarantees of reports of evals, for CI systems, people, and later runs."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from markdown_it import MarkdownIt

from sb.errors import NotFoundError, UsageError
from sb.evals import junit, markdown
from sb.evals.answer import Answer
from sb.evals.comparison import compare, gate
from sb.evals.report import report_document
from sb.evals.results import Attempt, CaseResult, CaseVerdict, EvalRun
from sb.evals.shelf import KEPT, EvalShelf
from sb.evals.summary import command_again, read_summary, summary
from sb.kernel.contracts import SafetyClass
from sb.kernel.trajectory_eval.model import RecordedCall, Trajectory, TrajectoryGrade, TrajectoryStep
from tests.harness.schemas_of_reports import junit_schema

SUITE = "evals/refund.yaml"
KEY = "sk-ant-api03-" + "x" * 93 + "AA"
REFUND = RecordedCall(
    "payments.issue_refund", {"amount": 500, "note": f"key {KEY}"}, True, SafetyClass.NETWORK, 3.0, "call_1"
)
GRADE = TrajectoryGrade(
    False, 0.5, (None, 0), (), (), 0.5, 1.0, 1.0, 1.0, "[trajectory] score=0.50 (missing: #1)"
)


def result(name: str, verdict: CaseVerdict, *attempts: Attempt, suite: str = SUITE) -> CaseResult:
    expected = Trajectory((TrajectoryStep("orders.read"), TrajectoryStep("payments.issue_refund")))
    return CaseResult(suite, name, verdict, attempts, len(attempts), "not today", trajectory=expected)


RIGHT = Attempt(Answer("refund issued", (REFUND,), 2.0, 0.25), True)
WRONG = Attempt(
    Answer("<b>|sorry|</b>\x1b[31m", (REFUND,), None, 0.5), False, (GRADE.line, "no refund"), GRADE
)
DEAD = Attempt(Answer(error="the agent ended with code 9"), False, ("the agent ended with code 9",))
RUN = EvalRun(
    "eval_ab12",
    1_790_000_000.0,
    "python:shop:run",
    (
        result("right", CaseVerdict.PASSED, RIGHT),
        result("wrong`<i>", CaseVerdict.FAILED, WRONG),
        result("flaky", CaseVerdict.FLAKY, RIGHT, WRONG),
        result("dead", CaseVerdict.ERROR, DEAD, suite="evals/files.yaml"),
        result("later", CaseVerdict.SKIPPED, suite="evals/files.yaml"),
    ),
    {SUITE: "d1", "evals/files.yaml": "d2"},
)


def test_the_report_holds_every_attempt_and_no_secret() -> None:
    document = report_document(RUN)
    assert KEY not in json.dumps(document)
    attempt = document["cases"][1]["attempts"][0]
    assert attempt["grade"]["score"] == 0.5
    assert attempt["calls"][0]["args"]["amount"] == 500
    assert [step["tool"] for step in document["cases"][1]["trajectory"]["steps"]] == [
        "orders.read",
        "payments.issue_refund",
    ]
    assert read_summary(json.dumps(document).encode(), "r.json") == summary(RUN)


def test_two_runs_that_went_alike_give_the_same_report() -> None:
    assert json.dumps(report_document(RUN)) == json.dumps(report_document(replace(RUN)))


def test_a_ci_system_is_told_of_failures_errors_and_skipped_cases_apart() -> None:
    text = junit.render(RUN)
    junit_schema().validate(text)
    root = ElementTree.fromstring(text)
    suites = {suite.get("name"): suite for suite in root}
    assert suites[SUITE].get("failures") == "2"
    assert suites["evals/files.yaml"].get("errors") == "1"
    assert suites["evals/files.yaml"].get("skipped") == "1"
    failure = suites[SUITE].find("testcase[@name='wrong`<i>']/failure")
    assert failure is not None
    assert failure.get("message") == GRADE.line
    assert KEY not in text


def test_markdown_gives_the_verdict_and_the_command_that_runs_a_failing_case_again() -> None:
    text = markdown.render(RUN, gate(summary(RUN)))
    assert "**failed**" in text
    assert "the agent could not be run for 1 case" in text
    rendered = MarkdownIt("gfm-like").render(text)
    assert "<b>" not in rendered
    assert (
        "sb agent eval run evals/refund.yaml --agent python:shop:run -k &#39;wrong`&lt;i&gt;&#39;"
        in rendered.replace("'", "&#39;")
    )


@pytest.mark.parametrize(
    ("agent", "option", "given"),
    [
        ('cmd:"python3 a.py" --fast', "--agent", 'cmd:"python3 a.py" --fast'),
        ("run:run_7f", "--from-run", "run_7f"),
    ],
)
def test_the_command_that_runs_a_case_again_is_one_that_a_shell_takes(
    agent: str, option: str, given: str
) -> None:
    words = shlex.split(command_again(["evals/my suite.yaml"], agent, "says 'no'"))
    assert words == ["sb", "agent", "eval", "run", "evals/my suite.yaml", option, given, "-k", "says 'no'"]


def test_markdown_puts_what_is_worse_beside_what_changed() -> None:
    before = replace(RUN, id="eval_old", results=(result("wrong`<i>", CaseVerdict.PASSED, RIGHT),))
    comparison = compare(summary(before), summary(RUN))
    text = markdown.render(RUN, gate(summary(RUN), comparison), comparison)
    assert "## Worse than before" in text
    assert "passed before, failed now" in text


def test_a_saved_run_is_read_back_by_the_beginning_of_its_id(tmp_path: Path) -> None:
    shelf = EvalShelf(tmp_path / "evals")
    assert shelf.summaries() == []
    path = shelf.save(summary(RUN), report_document(RUN))
    assert path.stat().st_mode & 0o77 == 0
    assert shelf.summaries() == [summary(RUN)]
    assert shelf.report("eval_ab1") == report_document(RUN)
    with pytest.raises(NotFoundError, match="no saved run of evals eval_other"):
        shelf.report("eval_other")


def test_the_last_run_is_of_the_same_suites_and_agent_and_came_to_its_end(tmp_path: Path) -> None:
    shelf = EvalShelf(tmp_path / "evals")
    for number, changed in enumerate(
        ({}, {"agent": "python:other:run"}, {"interrupted": True}, {"suites": {SUITE: "d1"}})
    ):
        run = replace(RUN, id=f"eval_{number}", at=RUN.at + number, **changed)  # type: ignore[arg-type]
        shelf.save(summary(run), report_document(run))
    assert shelf.last(RUN.suites, RUN.agent).id == "eval_0"
    with pytest.raises(NotFoundError, match="no earlier run"):
        shelf.last(["evals/new.yaml"], RUN.agent)


def test_of_runs_of_one_second_the_later_is_the_last(tmp_path: Path) -> None:
    shelf = EvalShelf(tmp_path / "evals")
    for number in (3, 1, 2):  # ids say nothing of their order
        run = replace(RUN, id=f"eval_{9 - number}", at=float(int(RUN.at)) + number / 10)
        shelf.save(summary(run), report_document(run))
    assert [run.id for run in shelf.summaries()] == ["eval_6", "eval_7", "eval_8"]


def test_a_saved_run_that_was_cut_short_hides_no_other(tmp_path: Path) -> None:
    shelf = EvalShelf(tmp_path / "evals")
    cut = shelf.save(summary(replace(RUN, id="eval_cut")), report_document(RUN))
    cut.write_bytes(cut.read_bytes()[:100])
    shelf.save(summary(RUN), report_document(RUN))
    assert [run.id for run in shelf.summaries()] == [RUN.id]
    with pytest.raises(UsageError, match="no report of evals"):
        shelf.report("eval_cut")


def test_only_so_many_runs_are_saved_and_the_oldest_go_first(tmp_path: Path) -> None:
    shelf = EvalShelf(tmp_path / "evals")
    for number in range(KEPT + 2):
        run = replace(RUN, id=f"eval_{number}", at=RUN.at + number, results=())
        shelf.save(summary(run), {})
    saved = [run.id for run in shelf.summaries()]
    assert len(saved) == KEPT
    assert saved[-1] == "eval_2"
