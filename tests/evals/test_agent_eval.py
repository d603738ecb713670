"""`sb agent eval` as people and CI call it: exit codes, reports, gates, interruption."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from sb.commands.agent_eval_progress import progress_on

from sb.evals.answer import Answer
from sb.evals.results import Attempt, CaseResult, CaseVerdict
from sb.evals.running import Progress
from sb.runtime import open_runtime
from tests.conftest import CommandLine
from tests.evals.test_command_agents import gone

SUITE = """\
version: 1
cases:
- id: greets
  input: Greet Ada
  tags: [words]
  matchers:
  - {kind: contains, text: Ada}
- id: adds
  input: What is 2 and 3?
  matchers:
  - {kind: contains, text: "5"}
"""
FINAL = '{"type": "final", "output": "%s", "cost_cents": 2}'
GOOD, WRONG, BROKEN = "Hello Ada, 5", "Hello Ada, 6", None


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    Path("evals").mkdir()
    Path("evals/words.yaml").write_text(SUITE, encoding="utf-8")
    for name, output in (("good", GOOD), ("wrong", WRONG)):
        Path(f"{name}.sh").write_text(f"read line\necho '{FINAL % output}'\n", encoding="utf-8")
    Path("broken.sh").write_text("exit 3\n", encoding="utf-8")
    return tmp_path


def agent(name: str) -> list[str]:
    return ["--agent", f"cmd:sh {name}.sh"]


def evaluate(sb: CommandLine, name: str, *more: str) -> Any:
    return sb("agent", "eval", "evals", *agent(name), *more)


def test_the_exit_code_and_the_last_line_say_the_same(sb: CommandLine) -> None:
    good = evaluate(sb, "good")
    assert (good.code, good.out.splitlines()[-1]) == (0, "PASSED 2 of 2 cases hold")
    wrong = evaluate(sb, "wrong")
    assert wrong.code == 1
    assert wrong.out.splitlines()[-1] == "FAILED 1 of 2 cases hold; 1 of 2 cases fails"
    assert "  failed adds" in wrong.out
    broken = evaluate(sb, "broken")
    assert broken.code == 5
    assert "exit code 3" in broken.out
    assert broken.out.splitlines()[-1].startswith("FAILED 0 of 2 cases hold; the agent could not be run")


def test_fewer_cases_may_have_to_hold(sb: CommandLine) -> None:
    assert evaluate(sb, "wrong", "--fail-under", "0.5").code == 0
    assert evaluate(sb, "wrong", "--fail-under", "0.51").code == 1


def test_quiet_prints_the_verdict_alone(sb: CommandLine) -> None:
    done = evaluate(sb, "wrong", "--quiet")
    assert done.out.splitlines() == ["FAILED 1 of 2 cases hold; 1 of 2 cases fails"]
    assert done.err == ""


def test_a_baseline_lets_old_failures_be_and_stops_new_ones(sb: CommandLine) -> None:
    assert evaluate(sb, "wrong", "--save-baseline", "before.json").code == 1
    assert evaluate(sb, "wrong", "--baseline", "before.json").code == 0
    better = evaluate(sb, "good", "--baseline", "before.json", "--save-baseline", "now.json")
    assert better.code == 0
    assert "fixed: evals/words.yaml adds" in better.out
    worse = evaluate(sb, "wrong", "--baseline", "now.json")
    assert worse.code == 1
    assert "worse: evals/words.yaml adds: passed before, failed now" in worse.out
    assert evaluate(sb, "wrong", "--baseline", "now.json", "--max-regressions", "1").code == 0
    assert sb("agent", "eval", "./evals/words.yaml", *agent("good"), "--baseline", "now.json").code == 0


def test_the_last_run_is_a_baseline_too(sb: CommandLine) -> None:
    first = evaluate(sb, "good", "--baseline", "last")
    assert (first.code, "--baseline last: no earlier run" in first.err) == (2, True)
    evaluate(sb, "good")
    Path("good.sh").write_text(Path("wrong.sh").read_text("utf-8"), encoding="utf-8")
    assert evaluate(sb, "good", "--baseline", "last").code == 1


def test_interrupted_run_is_not_as_good_as_the_one_before(sb: CommandLine) -> None:
    evaluate(sb, "good", "--json", "before.json")
    document = json.loads(Path("before.json").read_text("utf-8"))
    cut = document | {"interrupted": True, "cases": document["cases"][:1]}
    Path("after.json").write_text(json.dumps(cut), "utf-8")
    done = sb("agent", "eval", "diff", "before.json", "after.json")
    assert (done.code, done.out) == (1, "interrupted: 1 of 2 cases ran, so no others are compared\n")


def test_a_removed_case_is_a_regression_unless_it_is_allowed(sb: CommandLine) -> None:
    evaluate(sb, "good", "--save-baseline", "before.json")
    Path("evals/words.yaml").write_text(SUITE.partition("- id: adds")[0], encoding="utf-8")
    assert evaluate(sb, "good", "--baseline", "before.json").code == 1
    assert evaluate(sb, "good", "--baseline", "before.json", "--allow-removed").code == 0
    Path("evals/words.yaml").write_text(SUITE, encoding="utf-8")
    assert evaluate(sb, "good", "--baseline", "before.json", "-k", "greets").code == 0


def test_cases_of_a_suite_that_was_deleted_are_removed_and_of_one_that_did_not_run_are_not(
    sb: CommandLine,
) -> None:
    Path("evals/more.yaml").write_text(SUITE, encoding="utf-8")
    evaluate(sb, "good", "--save-baseline", "before.json")
    alone = sb("agent", "eval", "evals/words.yaml", *agent("good"), "--baseline", "before.json")
    assert alone.code == 0
    Path("evals/more.yaml").unlink()
    gone = evaluate(sb, "good", "--baseline", "before.json")
    assert gone.code == 1
    assert "removed: evals/more.yaml greets" in gone.out
    assert evaluate(sb, "good", "--baseline", "before.json", "--allow-removed").code == 0


@pytest.mark.parametrize(
    "given",
    [
        ["run"],
        ["evals"],
        ["evals/missing.yaml", "--agent", "cmd:sh good.sh"],
        ["evals", "--agent", "cmd:no-such-program"],
        ["evals", "--agent", "smoke:signals"],
        ["evals", "--agent", "python:no_such_module:run"],
        ["evals", "--agent", "recorded:missing.jsonl"],
        ["evals", *agent("good"), "--from-run", "run_1"],
        ["evals", *agent("good"), "--json", "missing/folder/out.json"],
        ["evals", *agent("good"), "--junit", "evals"],
        ["evals", *agent("good"), "--markdown", "evals/words.yaml"],
        ["evals", *agent("good"), "--json", "-", "--junit", "-"],
        ["evals", *agent("good"), "--json", "a", "--junit", "a"],
        ["evals", *agent("good"), "--baseline", "missing.json"],
        ["evals", *agent("good"), "--baseline", "evals/words.yaml"],
        ["evals", *agent("good"), "--baseline", "other.json"],
        ["evals", *agent("good"), "--fail-under", "nan"],
        ["evals", *agent("good"), "--timeout", "0"],
        ["evals", *agent("good"), "--timeout", "nan"],
        ["evals", *agent("good"), "--max-cost", "-1"],
        ["evals", *agent("good"), "-j", "0"],
        ["evals", *agent("good"), "-k", "nothing"],
        ["evals", *agent("good"), "--tag", "nothing"],
        ["evals", "--agent", "http://127.0.0.1:9/run", "--reuse"],
        ["toothless.yaml", *agent("good")],
    ],
    ids=lambda given: " ".join(given)[-40:],
)
def test_what_is_wrong_is_said_before_anything_runs(given: list[str], sb: CommandLine) -> None:
    Path("toothless.yaml").write_text("version: 1\ncases:\n- {id: a, input: b}\n", encoding="utf-8")
    evaluate(sb, "good", "--save-baseline", "saved.json", "--no-save")
    other = json.loads(Path("saved.json").read_text("utf-8"))
    Path("other.json").write_text(json.dumps(other | {"suites": {"other.yaml": "d"}}), encoding="utf-8")
    Path("good.sh").write_text("echo ran > ran\n", encoding="utf-8")
    done = sb("agent", "eval", *given)
    assert done.code == 2
    assert "error" in done.err + done.out
    assert "Traceback" not in done.err
    assert not list(Path().rglob("ran"))
    assert Path("evals/words.yaml").read_text("utf-8") == SUITE


def test_every_report_is_written(sb: CommandLine) -> None:
    reports = "--json out.json --junit out.xml --markdown out.md --record runs.jsonl".split()
    assert evaluate(sb, "wrong", *reports).code == 1
    document = json.loads(Path("out.json").read_text("utf-8"))
    assert (document["exit_code"], [case["verdict"] for case in document["cases"]]) == (
        1,
        ["passed", "failed"],
    )
    assert "<failure" in Path("out.xml").read_text("utf-8")
    assert "sb agent eval run evals/words.yaml --agent 'cmd:sh wrong.sh' -k adds" in Path("out.md").read_text(
        "utf-8"
    )
    graded = sb("agent", "eval", "evals", "--agent", "recorded:runs.jsonl", "--json")
    assert graded.code == 1
    assert [case["verdict"] for case in graded.json["cases"]] == ["passed", "failed"]


def test_a_key_in_the_agents_command_is_in_no_report(sb: CommandLine, home: Path) -> None:
    key = f"sk-ant-api03-{'a' * 93}AA"
    keyed = ["--agent", f"cmd:sh wrong.sh --key {key}"]
    written = [
        "--json",
        "run.json",
        "--junit",
        "run.xml",
        "--markdown",
        "run.md",
        "--save-baseline",
        "base.json",
    ]
    assert sb("agent", "eval", "evals", *keyed, *written).code == 1
    reports = [Path(name) for name in written[1::2]] + list((home / "evals").iterdir())
    assert [path for path in reports if key in path.read_text(encoding="utf-8")] == []
    assert sb("agent", "eval", "evals", *keyed, "--baseline", "last").code == 0


def test_json_goes_to_stdout_alone(sb: CommandLine) -> None:
    done = evaluate(sb, "good", "--json")
    assert done.json["agent"] == "cmd:sh good.sh"
    assert done.json["comparison"] is None
    assert done.json["release"].keys() >= {"policy", "tools", "eval"}


def test_repeats_report_how_often_all_attempts_pass(sb: CommandLine) -> None:
    done = evaluate(sb, "wrong", "--repeat", "3", "--pass-k", "2")
    assert "1 passed, 1 failed, pass@2 0.500, pass^2 0.500, median case 2 cents" in done.out


def test_cases_are_listed_without_being_run(sb: CommandLine) -> None:
    done = sb("agent", "eval", "evals", "--list", "--tag", "words", "--json")
    assert done.json == {
        "items": [{"suite": "evals/words.yaml", "id": "greets", "tags": ["words"], "attempts": 1, "note": ""}]
    }


def test_words_of_the_group_are_commands_and_paths_are_suites(sb: CommandLine) -> None:
    Path("init").mkdir()
    Path("init/words.yaml").write_text(SUITE, encoding="utf-8")
    assert sb("agent", "eval", "./init", *agent("good")).code == 0
    assert sb("agent", "eval", "init").code == 2
    mistyped = sb("agent", "eval", "dif")
    assert (mistyped.code, 'did you mean "diff"' in mistyped.err) == (2, True)


def test_from_nothing_to_a_gate(sb: CommandLine) -> None:
    Path("shop.py").write_text(
        "def run(text, *, tools):\n    tools.call('files.write', path='out.txt', content='x')\n    return 'done'\n",
        encoding="utf-8",
    )
    given = ["--agent", "python:shop:run"]
    first = sb("agent", "eval", "init", *given, "--input", "Write it", "--to", "first.yaml")
    assert first.code == 0, first.err
    assert sb("agent", "eval", "init", *given, "--input", "Write it", "--to", "first.yaml").code == 2
    assert sb("agent", "eval", "first.yaml", *given, "--save-baseline", "baseline.json").code == 0
    assert sb("agent", "eval", "first.yaml", *given, "--baseline", "baseline.json").code == 0
    Path("shop.py").write_text("def run(text):\n    return 'done'\n", encoding="utf-8")
    broken = sb("agent", "eval", "first.yaml", *given, "--baseline", "baseline.json")
    assert broken.code == 1
    assert "missing: #1 files.write" in broken.out
    found = sb("agent", "eval", "diff", "baseline.json", "last", "--json")
    assert (found.code, [item["id"] for item in found.json["regressed"]]) == (1, ["first"])


def test_first_suite_of_an_agent_whose_calls_are_not_seen_says_so(sb: CommandLine) -> None:
    done = sb("agent", "eval", "init", *agent("good"), "--input", "Greet Ada")
    assert "--agent 'cmd:sh good.sh'" in done.out
    assert "no call was seen" in done.err
    assert "no call was seen" in Path("evals/first.yaml").read_text(encoding="utf-8")


def test_failing_function_is_reported_with_its_line(sb: CommandLine) -> None:
    Path("cart.py").write_text("def run(text):\n    return {}['ale']\n", encoding="utf-8")
    done = sb("agent", "eval", "evals", "--agent", "python:cart:run")
    assert done.code == 5
    assert "KeyError: 'ale' (cart.py:2)" in done.out


def test_key_on_the_command_line_of_an_agent_is_in_no_report(sb: CommandLine, project: Path) -> None:
    key = "sk-proj-" + "a1B2" * 12
    reports = [
        "--json",
        "run.json",
        "--junit",
        "run.xml",
        "--markdown",
        "run.md",
        "--save-baseline",
        "base.json",
    ]
    assert sb("agent", "eval", "evals", "--agent", f"cmd:sh good.sh --key {key}", *reports).code == 0
    written = [file for file in project.rglob("*") if file.is_file()]
    assert [file.name for file in written if key.encode() in file.read_bytes()] == []
    assert (
        sb("agent", "eval", "evals", "--agent", f"cmd:sh good.sh --key {key}", "--baseline", "last").code == 0
    )


def test_an_agent_that_cannot_be_run_gives_no_first_suite(sb: CommandLine) -> None:
    done = sb("agent", "eval", "init", *agent("broken"), "--input", "x", "--to", "first.yaml")
    assert done.code == 5
    assert not Path("first.yaml").exists()


SLEEPS = """\
import os, time
def run(text):
    if "Ada" in text:
        return "Ada"
    child = os.fork()
    if child == 0:
        time.sleep(60)
    with open({pids!r}, "w") as file:
        file.write(f"{{os.getpid()}} {{child}}")
    time.sleep(60)
"""


@pytest.mark.parametrize(
    ("number", "slow"), [(signal.SIGINT, "cmd:sh slow.sh"), (signal.SIGTERM, "python:slow:run")]
)
def test_an_interrupted_run_reports_in_part_and_leaves_no_child(
    number: signal.Signals, slow: str, project: Path
) -> None:
    Path("slow.py").write_text(SLEEPS.format(pids=str(project / "pids")), encoding="utf-8")
    Path("slow.sh").write_text(
        f"read line\ncase \"$line\" in *greets*) echo '{FINAL % GOOD}'; exit;; esac\necho $$ >> pids.txt\n"
        f"cp pids.txt {project}/pids\nsleep 60 & echo $! >> {project}/pids\nwait\n",
        encoding="utf-8",
    )
    # A shell starts what is in the background with an ignored SIGINT, which this process would pass on.
    begin = (
        "import runpy, signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "runpy.run_module('sb', run_name='__main__', alter_sys=True)"
    )
    options = ["agent", "eval", "evals", "--agent", slow, "-j", "1", "--json", "out.json"]
    command = [sys.executable, "-c", begin, *options]
    env = os.environ | {"SB_HOME": str(project / "home")}
    process = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    pids, until = project / "pids", time.monotonic() + 60
    while time.monotonic() < until and (not pids.exists() or len(pids.read_text("utf-8").split()) < 2):
        time.sleep(0.02)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "interrupted" in out
    document = json.loads(Path("out.json").read_text("utf-8"))
    assert (document["interrupted"], [case["id"] for case in document["cases"]]) == (True, ["greets"])
    assert all(gone(int(pid)) for pid in pids.read_text("utf-8").split())
    assert "Traceback" not in err


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_one_line_changes_and_is_gone_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sb.commands.agent_eval_progress._DRAWN_S", 0.0)
    screen = Screen()
    with progress_on(screen, quiet=False) as watch:
        progress = Progress(3, done=1, failed=1)
        progress.running["suite.yaml", "b\x1b[31m#0"] = time.monotonic() - 7
        watch(progress, None)
        failed = CaseResult(
            "suite.yaml", "a", CaseVerdict.FAILED, (Attempt(Answer("x"), False, ("no\x1b[31m",)),)
        )
        watch(progress, failed)
    shown = screen.getvalue()
    assert "\r1 of 3 cases, 1 failing, b#0 for 7 s, " in shown
    assert "failed: suite.yaml a: no\n" in shown
    assert shown.endswith("\r\x1b[K")
    assert "\x1b[31m" not in shown


def test_elsewhere_a_line_comes_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    with progress_on(stream, quiet=False) as watch:
        watch(Progress(3, done=1), None)
        assert stream.getvalue() == ""
        monkeypatch.setattr("sb.commands.agent_eval_progress._EVERY_S", 0.0)
        watch(Progress(3, done=2), None)
    assert stream.getvalue().startswith("2 of 3 cases, ")
    assert stream.getvalue().count("\n") == 1


def test_a_run_of_the_log_is_graded(sb: CommandLine) -> None:
    with open_runtime() as runtime, runtime.run("clerk", "look") as ctx:
        runtime.executor.execute(ctx, "files.list", {"path": "."})
    suite = "version: 1\ncases:\n- {id: looks, input: look, trajectory: {steps: [{tool: files.list}]}}\n"
    Path("looks.yaml").write_text(suite, encoding="utf-8")
    graded = sb("agent", "eval", "looks.yaml", "--from-run", ctx.run_id[:12], "--json")
    assert (graded.code, graded.json["agent"]) == (0, f"run:{ctx.run_id[:12]}")
    assert [call["tool"] for call in graded.json["cases"][0]["attempts"][0]["calls"]] == ["files.list"]
    missing = sb("agent", "eval", "looks.yaml", "--from-run", "run_ffffff")
    assert (missing.code, "no run" in missing.err) == (2, True)


def test_a_person_records_on_the_run_whether_the_eval_holds(sb: CommandLine) -> None:
    with open_runtime() as runtime, runtime.run("clerk", "look") as ctx:
        runtime.executor.execute(ctx, "files.list", {"path": "."})
    grounded = []
    for tool, code in (("files.list", 0), ("files.read", 1), ("files.list", 0)):
        suite = (
            f"version: 1\ncases:\n- {{id: looks, input: look, trajectory: {{steps: [{{tool: {tool}}}]}}}}\n"
        )
        Path("looks.yaml").write_text(suite, encoding="utf-8")
        assert sb("agent", "eval", "looks.yaml", "--from-run", ctx.run_id).code == code
        grounded.append(sb("outcome", "show", ctx.run_id, "--json").json["grounded"])
        assert sb("agent", "eval", "looks.yaml", "--from-run", ctx.run_id, "--ground").code == code
        grounded.append(sb("outcome", "show", ctx.run_id, "--json").json["grounded"])
    assert grounded == [None, True, True, False, False, True]
    part = sb("agent", "eval", "looks.yaml", "--from-run", ctx.run_id, "--ground", "-k", "looks")
    assert (part.code, "--ground needs" in part.err) == (2, True)
