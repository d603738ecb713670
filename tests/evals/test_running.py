"""Runs of evals: selection, order, repeats, flakes, errors, cost, interruption, and the home that no case reaches."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.config import Home, load_config
from sb.errors import ConfigError, UsageError
from sb.evals.agents.python import FunctionAgent
from sb.evals.answer import Answer, Task
from sb.evals.judging import attempts_of, case_result
from sb.evals.kernel import home_config, open_kernel
from sb.evals.results import Attempt, CaseVerdict
from sb.evals.running import Options, run_suites
from sb.evals.suite import Suite
from sb.kernel.trajectory_eval.model import RecordedCall, Trajectory, TrajectoryStep
from sb.runtime import create_home
from tests.config.test_organization import managed
from tests.evals.running_cases import Says, Setup, case, run


class Scripted:
    """An agent without a kernel that answers as a function of the task says."""

    has_kernel = False
    own_clock = False
    name = "scripted"

    def __init__(self, answers: Callable[[Task], Answer]) -> None:
        self._answers = answers
        self.tasks: list[Task] = []
        self.stopped = threading.Event()

    def run(self, task: Task) -> Answer:
        self.tasks.append(task)
        return self._answers(task)

    def stop(self) -> None:
        self.stopped.set()

    def close(self) -> None:
        self.stop()


CHARTER = {"intents": {"allow": ["order.*"], "default": "order.look"}, "data_scopes": ["global"]}
ENFORCED = {"agent_charters": "enforce"}


def echo(task: Task) -> Answer:
    return Answer(str(task.input))


def verdicts(made: Any) -> dict[str, CaseVerdict]:
    return {result.id: result.verdict for result in made.results}


def test_results_are_in_the_order_of_the_file_whatever_ends_first(tmp_path: Path) -> None:
    def slower_first(task: Task) -> Answer:
        time.sleep(0.05 if task.case_id == "c0" else 0)
        return echo(task)

    cases = [case(f"c{number}", matchers=(Says("hello"),)) for number in range(20)]
    made = run(Scripted(slower_first), tmp_path, *cases, options=Options(jobs=8))
    assert [result.id for result in made.results] == [f"c{number}" for number in range(20)]
    assert {result.verdict for result in made.results} == {CaseVerdict.PASSED}


def test_jobs_run_at_the_same_time_and_no_more_of_them(tmp_path: Path) -> None:
    lock, now, most = threading.Lock(), [0], [0]
    together = threading.Barrier(3)

    def counted(task: Task) -> Answer:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        together.wait(60)
        with lock:
            now[0] -= 1
        return echo(task)

    run(Scripted(counted), tmp_path, *(case(f"c{number}") for number in range(9)), options=Options(jobs=3))
    assert most == [3]


def test_a_case_passes_only_if_all_its_demands_hold(tmp_path: Path) -> None:
    def answered(task: Task) -> Answer:
        return Answer("done", (RecordedCall("a"),), cost_cents=5)

    wanted = Trajectory((TrajectoryStep("a"),))
    other = Trajectory((TrajectoryStep("b"),))
    made = run(
        Scripted(answered),
        tmp_path,
        case("right", matchers=(Says("done"),), trajectory=wanted, max_cost_cents=5),
        case("words", matchers=(Says("done"), Says("never")), trajectory=wanted),
        case("calls", matchers=(Says("done"),), trajectory=other),
        case("cost", matchers=(Says("done"),), max_cost_cents=4.9),
    )
    assert verdicts(made) == {
        "right": CaseVerdict.PASSED,
        "words": CaseVerdict.FAILED,
        "calls": CaseVerdict.FAILED,
        "cost": CaseVerdict.FAILED,
    }
    lines = [line for result in made.results for attempt in result.attempts for line in attempt.failures]
    assert lines[0] == "'done' does not contain 'never'"
    assert lines[1].startswith("[trajectory] score=0.00 (missing: #1 b")
    assert lines[2] == "[max_cost_cents] it cost 5 cents; at most 4.9 are allowed"


def test_a_case_with_a_limit_of_cost_fails_if_the_agent_does_not_say_what_it_cost(tmp_path: Path) -> None:
    made = run(Scripted(echo), tmp_path, case(matchers=(Says("hello"),), max_cost_cents=1))
    assert verdicts(made) == {"c": CaseVerdict.FAILED}


def test_a_flaky_case_is_a_verdict_of_its_own_and_is_not_tried_into_green(tmp_path: Path) -> None:
    def every_other(task: Task) -> Answer:
        return Answer("hello" if task.attempt % 2 else "no")

    agent = Scripted(every_other)
    made = run(
        agent,
        tmp_path,
        case("strict", matchers=(Says("hello"),), repeat=4, min_pass=4),
        case("lenient", matchers=(Says("hello"),), repeat=4, min_pass=2),
        options=Options(retry_errors=3),
    )
    assert verdicts(made) == {"strict": CaseVerdict.FLAKY, "lenient": CaseVerdict.FLAKY}
    assert [result.holds for result in made.results] == [False, True]
    assert len(agent.tasks) == 8
    assert len({task.seed for task in agent.tasks}) == 8


def test_only_errors_are_tried_again_and_only_so_often(tmp_path: Path) -> None:
    failures = {"twice": 2, "always": 99}

    def failing(task: Task) -> Answer:
        if failures.get(task.case_id, 0) > 0:
            failures[task.case_id] -= 1
            return Answer(error="the agent: no model")
        return echo(task)

    made = run(
        Scripted(failing),
        tmp_path,
        case("twice", matchers=(Says("hello"),)),
        case("always", matchers=(Says("hello"),)),
        options=Options(retry_errors=2),
    )
    assert verdicts(made) == {"twice": CaseVerdict.PASSED, "always": CaseVerdict.ERROR}
    assert failures["always"] == 99 - 3


def test_skipped_cases_do_not_run_and_expected_failures_that_pass_are_told(tmp_path: Path) -> None:
    agent = Scripted(echo)
    made = run(
        agent,
        tmp_path,
        case("skipped", matchers=(Says("hello"),), skip="no stock"),
        case("fails", matchers=(Says("never"),), xfail="not yet"),
        case("passes", matchers=(Says("hello"),), xfail="not yet"),
    )
    assert list(verdicts(made).values()) == [
        CaseVerdict.SKIPPED,
        CaseVerdict.EXPECTED,
        CaseVerdict.UNEXPECTED,
    ]
    assert [task.case_id for task in agent.tasks] == ["fails", "passes"]


def test_cases_are_selected_by_id_and_tag(tmp_path: Path) -> None:
    cases = [case("refund one", tags=("money",)), case("refund two"), case("read", tags=("money",))]
    agent = Scripted(echo)
    run(agent, tmp_path, *cases, options=Options(keyword="refund", tags=("money",)))
    assert [task.case_id for task in agent.tasks] == ["refund one"]
    with pytest.raises(UsageError, match=r'did you mean "money"'):
        run(agent, tmp_path, *cases, options=Options(tags=("mony",)))
    with pytest.raises(UsageError, match="no case's id contains 'refnd'"):
        run(agent, tmp_path, *cases, options=Options(keyword="refnd"))


def test_no_case_begins_once_the_run_has_cost_what_it_may(tmp_path: Path) -> None:
    agent = Scripted(lambda task: Answer("hello", cost_cents=4))
    cases = [case(f"c{number}", matchers=(Says("hello"),)) for number in range(4)]
    made = run(agent, tmp_path, *cases, options=Options(max_cost_cents=8))
    assert len(agent.tasks) == 2
    assert [result.verdict for result in made.results] == [
        *[CaseVerdict.PASSED] * 2,
        *[CaseVerdict.ERROR] * 2,
    ]


def test_an_interrupted_run_reports_what_had_ended_and_stops_the_agent(tmp_path: Path) -> None:
    agent = Scripted(echo)

    def hanging(task: Task) -> Answer:
        if task.case_id == "hangs":
            agent.stopped.wait(120)
            return Answer(error="the agent: stopped")
        return echo(task)

    agent._answers = hanging

    def interrupt(progress: Any, result: Any) -> None:
        if progress.done == 2:
            raise KeyboardInterrupt

    begun = time.monotonic()
    cases = [case("a"), case("b"), case("hangs"), *(case(f"later {number}") for number in range(50))]
    made = run(agent, tmp_path, *cases, options=Options(jobs=1), watch=interrupt)
    assert made.interrupted
    assert [result.id for result in made.results] == ["a", "b"]
    assert time.monotonic() - begun < 100
    assert len(agent.tasks) <= 3


def digest_of(folder: Path) -> dict[str, str]:
    """Everything in a folder, byte for byte."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_the_real_home_is_the_same_byte_for_byte_after_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = tmp_path / "real"
    monkeypatch.setenv("SB_HOME", str(real))
    create_home(load_config(env=os.environ, cwd=tmp_path, flags={}))
    (real / "keys").mkdir(exist_ok=True)
    (real / "keys" / "ada.key").write_text("secret", encoding="utf-8")
    before = digest_of(real)
    seen: list[str] = []

    def curious(text: str, *, tools: Any, ctx: Any) -> str:
        tools.execute("files.write", {"path": "mine.txt", "content": "x"})
        for path in (real / "keys" / "ada.key", real / "config.yaml", "../home/config.yaml"):
            found = tools.execute("files.read", {"path": str(path)})
            seen.append(str(found.error_code))
        tools.memory.remember("The harbour opens at nine")
        assert str(real) not in str(ctx.runtime.config.home)
        return "done"

    made = run(FunctionAgent(curious), tmp_path, case(matchers=(Says("done"),)))
    assert verdicts(made) == {"c": CaseVerdict.PASSED}, made.results[0].attempts[0].failures
    assert "None" not in seen
    assert digest_of(real) == before


@pytest.mark.parametrize(
    "config",
    [
        {"files": {"roots": ["{real}"]}},
        {"files": {"roots": ["{parent}"]}},
        {"files": {"roots": ["{suites}"]}},
        {"database": "{real}/brain.db"},
        {"operators": {"file": "{real}/operators.json"}},
        {"no_such_setting": 1},
        {"tools": ["no_such_module:register"]},
    ],
)
def test_a_configuration_that_is_wrong_or_reaches_the_real_home_is_refused_before_anything_runs(
    config: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "suites").mkdir()
    places = {"real": str(tmp_path / "real"), "parent": str(tmp_path), "suites": str(tmp_path / "suites")}

    def filled(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: filled(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return list(map(filled, value))
        return value.format(**places) if isinstance(value, str) else value

    ran: list[str] = []
    agent = FunctionAgent(ran.append)
    with pytest.raises(ConfigError) as refused:
        run(agent, tmp_path, case(), config=filled(config))
    assert ran == []
    assert refused.value.message.startswith("suite.yaml: config")


def test_the_database_that_an_organization_prescribes_is_never_that_of_an_eval(tmp_path: Path) -> None:
    prescribed = tmp_path / "srv" / "brain.db"
    with managed(tmp_path / "etc") as system:
        system.install(f"database: {prescribed}")
        remembers = case(setup=Setup(records=({"content": "The vault is blue"},)))
        with pytest.raises(ConfigError, match="home of its own") as refused:
            run(FunctionAgent(lambda text: "done"), tmp_path, remembers)
        with pytest.raises(ConfigError, match="home of its own"):
            open_kernel(home_config(tmp_path / "home", tmp_path), seed=1, approve=())
    assert "policy.yaml" in refused.value.hint
    assert not prescribed.exists()


@pytest.mark.parametrize(
    ("setup", "reason"),
    [
        (Setup(files={"../out.txt": "x"}), "is not below the working folder"),
        (Setup(files={"/etc/out.txt": "x"}), "is not below the working folder"),
        (Setup(records=({"content": "x", "no_such_field": 1},)), "record 1"),
        (Setup(records=({"content": ""},)), "record 1"),
        (Setup(charter=CHARTER), "would refuse nothing (set agent_charters: enforce in the suite's config)"),
    ],
)
def test_a_setup_that_cannot_be_made_is_an_error_of_its_case(
    setup: Setup, reason: str, tmp_path: Path
) -> None:
    made = run(FunctionAgent(lambda text: "done"), tmp_path, case(setup=setup))
    assert verdicts(made) == {"c": CaseVerdict.ERROR}
    assert reason in made.results[0].attempts[0].failures[0]


@pytest.mark.parametrize(
    ("agent", "charter", "reason"),
    [
        ("clerk", CHARTER | {"intentions": ["x"]}, "intentions"),
        ("clerk", CHARTER | {"owner": ""}, "owner"),
        ("../../../clerk", CHARTER, "no charter can be named"),
    ],
)
def test_charter_of_a_case_that_cannot_count_is_an_error(
    agent: str, charter: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    config = ENFORCED | {"agents": {agent: {"ceiling": "read_only"}}}
    made = run(
        FunctionAgent(lambda text: "done"), tmp_path, case(setup=Setup(charter=charter)), config=config
    )
    assert reason in made.results[0].attempts[0].failures[0]
    assert not list(tmp_path.rglob("clerk.yaml"))


def test_charter_of_a_case_holds_its_agent_and_not_the_records_it_finds(tmp_path: Path) -> None:
    purpose = "Refunds " + "orders " * 2_000

    def agent(text: str, *, tools: Any, ctx: Any) -> str:
        charter = ctx.runtime.config.home.charters / "default.yaml"
        assert purpose.strip() in charter.read_text("utf-8")
        return str(tools.memory.search("Which lamp?")[0].content)

    def beside(text: str, *, tools: Any, ctx: Any) -> str:
        return str(tools.memory.search("Which lamp?", scope="project:shop"))

    lamp = {"content": "The lamp is green.", "scope": "project:shop"}
    setup = Setup(records=(lamp, lamp | {"scope": "global"}), charter=CHARTER | {"purpose": purpose})
    within = run(FunctionAgent(agent), tmp_path, case(setup=setup), config=ENFORCED)
    outside = run(FunctionAgent(beside), tmp_path, case(setup=setup), config=ENFORCED)
    assert within.results[0].attempts[0].answer.output == "The lamp is green."
    assert "outside the data scopes" in outside.results[0].attempts[0].answer.error


def test_the_release_of_a_run_is_the_same_each_time_and_names_what_changed(tmp_path: Path) -> None:
    agent = FunctionAgent(lambda text: "done")
    first, again = (run(agent, tmp_path, case()).release for _ in range(2))
    other = run(agent, tmp_path, case(), config={"safety_mode": "strict"}).release
    assert first == again
    assert {name for name in first if first[name] != other[name]} == {"policy"}


def test_nothing_of_a_run_is_left_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    run(FunctionAgent(lambda text: "done"), tmp_path, case("a"), case("b"))
    assert list(place.iterdir()) == []


def test_folders_nested_without_end_are_removed_and_end_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))

    def nest(task: Task) -> Answer:
        script = "import os\nfor _ in range(3000): os.mkdir('d'); os.chdir('d')"
        subprocess.run([sys.executable, "-c", script], cwd=task.folder, check=True)
        return Answer("done")

    agent = Scripted(nest)
    agent.has_kernel = True
    made = run(agent, tmp_path, case("a"), case("b"))
    assert [result.attempts[0].answer.output for result in made.results] == ["done", "done"]
    assert list(place.iterdir()) == []


def test_many_recorded_answers_are_graded_quickly(tmp_path: Path) -> None:
    """Where nothing has to be opened for an agent, a case costs its grading alone."""
    trajectory = Trajectory((TrajectoryStep("a"),))
    agent = Scripted(lambda task: Answer("hello", (RecordedCall("a", success=True),)))
    cases = tuple(case(f"c{number}", trajectory=trajectory) for number in range(2000))
    suite = Suite("s.yaml", tmp_path / "s.yaml", cases)
    begun = time.process_time()
    made = run_suites([suite], agent, Options(jobs=4), real=Home(tmp_path / "real"))
    assert all(result.holds for result in made.results)
    assert time.process_time() - begun < 3


@given(st.integers(1, 12), st.integers(1, 12), st.data())
def test_as_many_attempts_as_before_have_to_pass_of_each_hundred(repeat: int, other: int, data: Any) -> None:
    needed = data.draw(st.integers(1, repeat))
    runs, least = attempts_of(case(repeat=repeat, min_pass=needed), other)
    assert runs == other
    assert needed / repeat <= least / runs <= 1
    assert least - 1 < other * needed / repeat


@given(st.lists(st.sampled_from(["pass", "fail", "error"]), min_size=1, max_size=6), st.booleans())
def test_a_verdict_says_what_the_attempts_were(kinds: list[str], xfail: bool) -> None:
    attempts = [Attempt(Answer(error="x" if kind == "error" else ""), kind == "pass") for kind in kinds]
    result = case_result("s", case(xfail="later" if xfail else ""), attempts, len(kinds))
    assert (result.verdict is CaseVerdict.ERROR) == ("error" in kinds)
    if "error" not in kinds:
        clean = set(kinds) == {"pass"}
        assert (result.verdict in (CaseVerdict.PASSED, CaseVerdict.UNEXPECTED)) == clean
        assert (result.verdict is CaseVerdict.FLAKY) == (not xfail and len(set(kinds)) > 1)
