"""A first suite of a recorded run: what becomes a step, what is forbidden, and what is never written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from sb.base.documents import parse_yaml
from sb.base.reading import Report
from sb.errors import UsageError
from sb.evals.answer import Answer
from sb.evals.exchange.recording import Recording
from sb.evals.first_suite import Draft, draft_of_run, first_suite, write_first_suite
from sb.evals.reading import load_suites
from sb.kernel.contracts import SafetyClass
from sb.kernel.trajectory_eval.grading import grade
from sb.kernel.trajectory_eval.model import RecordedCall
from sb.kernel.trajectory_eval.reading import read_trajectory
from sb.operator.demo.story import demo_config, play

SUITE = Path("evals/refund.yaml")


def draft(*calls: RecordedCall, asked: Any = "refund it", refused: tuple[str, ...] = ()) -> Draft:
    return Draft("run run_1", Recording(Answer(calls=calls), input=asked), refused)


def written(*drafts: Draft) -> list[dict[str, Any]]:
    """The cases of the suite, as its own reader reads them."""
    report = Report("suite")
    cases: list[dict[str, Any]] = parse_yaml(
        first_suite(drafts, SUITE).encode("utf-8", "surrogatepass"), report
    )["cases"]
    return cases


def call(
    tool: str, safety_class: SafetyClass | None, /, *, ok: bool | None = True, **args: Any
) -> RecordedCall:
    return RecordedCall(tool, args, ok, safety_class)


def test_suite_of_the_demo_run_expects_its_changes_and_forbids_what_was_denied(tmp_path: Path) -> None:
    (tmp_path / "demo").mkdir()
    story = play(tmp_path / "demo")
    text = first_suite([draft_of_run(story.run_id, demo_config(story.home))], SUITE)
    suite = yaml.safe_load(text)
    assert suite["config"] == {"tools": ["sb.operator.demo.tools:register"]}
    [case] = suite["cases"]
    assert (case["id"], case["input"]) == ("refund-what-was-asked-for", "refund what was asked for")
    trajectory = case["trajectory"]
    assert [step["tool"] for step in trajectory["steps"]] == ["payments.issue_refund", "files.write"]
    assert trajectory["steps"][0] == {
        "tool": "payments.issue_refund",
        "args": {"order": 1002, "amount": 4900},
        "require_success": True,
        "max_calls": 1,
    }
    path = tmp_path / "first.yaml"
    path.write_text(text, encoding="utf-8")
    assert len(load_suites([path])[0].cases) == 1
    assert trajectory["forbid"] == ["http.get", "shop.label", "shop.mail", "shell.run"]
    assert trajectory["extras"] == "read_only"
    assert "sb agent eval evals/refund.yaml" in text


def test_reads_and_failed_calls_are_no_steps_and_unknown_classes_are() -> None:
    [case] = written(
        draft(
            call("orders.read", SafetyClass.READ_ONLY),
            call("mail.send", None),
            call("pay", SafetyClass.NETWORK, ok=False),
            call("pay", SafetyClass.NETWORK, ok=None),
        )
    )
    assert [step["tool"] for step in case["trajectory"]["steps"]] == ["mail.send"]


def test_run_that_changed_nothing_must_change_nothing() -> None:
    [case] = written(draft(call("orders.read", SafetyClass.READ_ONLY)))
    assert case["trajectory"] == {"mode": "subsequence", "extras": "read_only", "steps": []}


def test_tool_that_was_refused_once_and_used_once_is_not_forbidden() -> None:
    run = draft(call("pay", SafetyClass.NETWORK), refused=("pay", "wipe"))
    assert written(run)[0]["trajectory"]["forbid"] == ["wipe"]
    assert "# refused once, with other arguments: pay" in first_suite([run], SUITE)


def test_equal_calls_may_happen_as_often_as_they_did() -> None:
    label = call("label", SafetyClass.LOCAL_WRITE, order=1)
    steps = written(draft(label, label))[0]["trajectory"]["steps"]
    assert [step["max_calls"] for step in steps] == [2, 2]


def test_destructive_calls_that_ran_are_approved_in_the_case() -> None:
    [case] = written(draft(call("shell.run", SafetyClass.DESTRUCTIVE, argv=["rm", "-r", "old"])))
    assert case["setup"] == {"approve": ["shell.run"]}


TOKEN = "ghp_" + "Ab1" * 12


@pytest.mark.parametrize(
    "args",
    [
        {"note": f"use {TOKEN}"},
        {"password": "hunter2-long"},
        {"to": "ada@example.org"},
        {"deep": [{"x": f"Authorization: Bearer {TOKEN}"}]},
        {"card": 4111111111111111},
        {"note": "[redacted:github_token]"},
        {"note": "clipped… (12,000 bytes)"},
        {TOKEN: 1},
    ],
)
def test_secret_and_personal_arguments_are_left_out_and_named(args: dict[str, Any]) -> None:
    run = draft(call("pay", SafetyClass.NETWORK, **{**args, "order": 1}), asked=f"refund with {TOKEN}")
    text = first_suite([run], SUITE)
    assert yaml.safe_load(text)["cases"][0]["trajectory"]["steps"][0]["args"] == {"order": 1}
    for secret in (TOKEN, "hunter2", "ada@example.org", "4111111111111111"):
        assert secret not in text
    assert "# not compared" in text


def test_host_calls_are_compared_without_what_belongs_to_the_machine() -> None:
    shell = call(
        "host.shell.write", SafetyClass.LOCAL_WRITE, tool="Bash", command="make", cwd="/srv/a", why="x"
    )
    assert written(draft(shell))[0]["trajectory"]["steps"][0]["args"] == {"tool": "Bash", "command": "make"}


def test_file_that_exists_is_replaced_only_by_force(tmp_path: Path) -> None:
    path, run = tmp_path / "suite.yaml", draft(call("pay", SafetyClass.NETWORK))
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match=r"suite\.yaml exists"):
        write_first_suite([run], path)
    assert path.read_text(encoding="utf-8") == "mine"
    write_first_suite([run], path, force=True)
    assert yaml.safe_load(path.read_text(encoding="utf-8"))["version"] == 1
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".suite")] == []


def test_header_has_the_command_that_runs_the_suite_in_a_folder_made_for_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "suite.yaml"
    write_first_suite([draft()], path, "cmd:python3 bot.py")
    assert f"sb agent eval {path} --agent 'cmd:python3 bot.py'\n" in path.read_text(encoding="utf-8")


def test_place_that_is_no_folder_and_no_run_at_all_are_errors(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match="cannot be written"):
        write_first_suite([draft()], tmp_path / "file" / "suite.yaml")
    with pytest.raises(UsageError, match="no recorded run"):
        first_suite([], SUITE)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.text(min_size=1, max_size=12), st.dictionaries(st.text(max_size=8), VALUES))),
    VALUES,
)
def test_whatever_was_recorded_the_suite_is_yaml_with_unique_ids(
    calls: list[tuple[str, dict[str, Any]]], asked: Any
) -> None:
    recorded = [RecordedCall(tool, args, True, SafetyClass.NETWORK) for tool, args in calls]
    run = draft(*recorded, asked=asked)
    cases = written(run, run)
    assert len({case["id"] for case in cases}) == 2
    assert len(cases[0]["trajectory"]["steps"]) == len(calls)
    for step, (_, args) in zip(cases[0]["trajectory"]["steps"], calls, strict=True):
        assert all(args[name] == value for name, value in step.get("args", {}).items())


CLASSES = {"orders.read": SafetyClass.READ_ONLY, "pay": SafetyClass.NETWORK, "label": None}
CALLS = st.lists(
    st.builds(
        lambda tool, args: RecordedCall(tool, args, True, CLASSES[tool]),
        st.sampled_from(sorted(CLASSES)),
        st.dictionaries(st.sampled_from("ab"), VALUES, max_size=2),
    ),
    max_size=6,
)


@settings(max_examples=30)
@given(CALLS)
def test_run_of_which_nothing_was_refused_passes_its_own_suite(calls: list[RecordedCall]) -> None:
    [case] = written(draft(*calls))
    found = grade(read_trajectory(case["trajectory"], "suite"), calls)
    assert found.passed, (case["trajectory"], found.line)
