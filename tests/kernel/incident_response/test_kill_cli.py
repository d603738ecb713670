"""`sb kill` and `sb incident`: what is stopped, listed, lifted and put on record, by people and by scripts."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from sb.config import current_config
from sb.kernel import RunContext, SafetyClass, ToolResult
from sb.kernel.authority.authority import Authority
from sb.kernel.authority.enrolment import Enrolment
from sb.kernel.authority.keys import KeyFolder
from sb.kernel.authority.signing import Decider, Label
from sb.kernel.incident_response.kill_switch import KillSwitch
from sb.runtime import open_runtime
from sb.runtime.parts import open_log
from tests.conftest import CommandLine, approve_tools
from tests.kernel.authority.test_operator_cli import in_terminal


def call(agent: str = "clerk") -> ToolResult:
    """As another process would."""
    with open_runtime() as runtime:
        runtime.registry.register_fn("notes.append", "Append", lambda: 1, SafetyClass.LOCAL_WRITE)
        approve_tools(runtime)
        return runtime.executor.execute(RunContext.create(agent), "notes.append", {})


def enrol(passphrase: str | None = None) -> None:
    config = current_config()
    log = open_log(config)
    authority = Authority(config.operators.file, log)
    Enrolment(authority, KeyFolder(config.home.keys)).init("ada", passphrase)
    log.close()


def test_an_agent_is_stopped_listed_and_lifted(sb: CommandLine) -> None:
    sb("init")
    assert call().success
    stopped = sb("kill", "agent", "clerk", "--reason", "pays twice")
    assert stopped.code == 0
    assert "agent clerk was killed by" in stopped.out
    assert "to lift it: sb kill --lift agent:clerk --reason WHY" in stopped.err
    assert "spelled right" not in stopped.err
    assert "pays twice" in call().error_message
    assert call("courier").success
    assert "clerk" in sb("kill", "list").out
    (item,) = sb("kill", "list", "--json").json["items"]
    assert (item["scope"], item["target"], item["reason"]) == ("agent", "clerk", "pays twice")
    assert "agent clerk was killed" in sb("doctor").out
    assert "stopped agent clerk: pays twice" in sb("log", "tail").out
    lifted = sb("kill", "--lift", "agent:clerk", "--reason", "fixed")
    assert (lifted.code, lifted.out) == (0, "agent clerk may go on\n")
    assert call().success
    assert sb("kill", "list").err == "no kills in force\n"
    assert sb("kill", "list", "--json").json == {"items": []}


def test_a_project_file_that_cannot_be_read_keeps_nobody_from_stopping(
    sb: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sb("init")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sb.yaml").write_text("written by an agent: [\n", encoding="utf-8")
    assert sb("kernel", "tools").code == 2  # what runs tools stays stopped
    stopped = sb("kill", "agent", "clerk", "--reason", "breaks its project's configuration")
    assert stopped.code == 0
    assert "warning: project file ignored: " in stopped.err
    assert "sb.yaml" in stopped.err
    assert sb("incident", "open", "A broken file", "--kill", "global", "--reason", "look at it").code == 0
    assert len(sb("kill", "list", "--json").json["items"]) == 2
    (current_config(with_project=False).home.config_file).write_text("also: [\n", encoding="utf-8")
    assert sb("kill", "list").code == 2


@pytest.mark.parametrize("wrong", ["safety_mode: loud", "nonsense: 1", "kill: {dual_control: perhaps}"])
def test_a_wrong_setting_keeps_nobody_from_stopping_and_lets_nobody_lift(
    sb: CommandLine, home: Path, wrong: str
) -> None:
    call()
    (home / "config.yaml").write_text(wrong + "\n", encoding="utf-8")
    stopped = sb("kill", "global", "--reason", "runaway", "--yes")
    assert (stopped.code, "left out" in stopped.err) == (0, True)
    assert "global" in sb("kill", "list").out
    assert sb("kill", "global", "--lift", "--reason", "over").code == 2
    (home / "config.yaml").unlink()
    assert not call().success


@pytest.mark.parametrize("wrong", ["database: [1]", "operators: {file: []}", "a: b: c"])
def test_nothing_is_stopped_in_a_database_that_may_be_another(
    sb: CommandLine, home: Path, wrong: str
) -> None:
    call()
    (home / "config.yaml").write_text(wrong + "\n", encoding="utf-8")
    assert sb("kill", "global", "--reason", "runaway", "--yes").code == 2
    (home / "config.yaml").unlink()
    assert call().success


def test_everything_is_stopped_by_a_script_without_a_question(sb: CommandLine) -> None:
    sb("init")
    answer = sb("kill", "global", "--reason", "drill", "--json").json
    assert (answer["scope"], answer["running"]) == ("global", [])
    assert not call().success
    assert sb("doctor").code == 1
    assert sb("kill", "global", "--lift", "--reason", "over", "--json").json == {"lifted": True, "kill": None}


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["kill", "agnet", "x", "--reason", "y"], 2, 'did you mean "agent"'),
        (["kill", "agent", "x"], 2, "a decision needs a reason"),
        (["kill", "agent", "--reason", "y"], 2, "agent needs a target"),
        (["kill", "class", "wirte", "--reason", "y"], 2, "no safety class"),
        (["kill", "--lift", "agent:x", "--reason", "y"], 1, "no kill of agent:x is in force"),
        (["incident", "open", "x"], 2, "an incident needs a reason"),
        (["incident", "open", "x", "--severity", "sev9", "--reason", "y"], 2, "one of sev1"),
        (["incident", "open", "x", "--severity", "sev1", "--reach", "run", "--reason", "y"], 2, "twice"),
        (["incident", "open", "x", "--kill", "agent", "--reason", "y"], 2, "agent needs a target"),
        (["incident", "show", "inc_1"], 1, "no incident"),
        (["incident", "close", "inc_1"], 2, "a decision needs a reason"),
    ],
)
def test_what_cannot_be_done_is_said(sb: CommandLine, words: list[str], code: int, said: str) -> None:
    sb("init")
    answer = sb(*words)
    assert answer.code == code
    assert said in answer.err
    assert sb("kill", "list", "--json").json == {"items": []}
    assert sb("incident", "list", "--all", "--json").json == {"items": []}


def test_a_misspelled_target_is_stopped_and_pointed_out(sb: CommandLine) -> None:
    sb("init")
    assert "check the spelling" in sb("kill", "agent", "clrek", "--reason", "x").err


def test_an_open_key_signs_and_a_locked_one_does_not_hold_anybody_up(sb: CommandLine) -> None:
    sb("init")
    enrol()
    assert sb("kill", "agent", "clerk", "--reason", "x", "--json").json["signed"] is True
    assert sb("kill", "--lift", "agent", "clerk", "--reason", "x").code == 0


def test_with_a_locked_key_anybody_stops_and_nobody_lifts_without_a_terminal(
    sb: CommandLine,
) -> None:
    sb("init")
    enrol("correct horse battery")
    thrown = sb("kill", "global", "--reason", "x", "--json").json
    assert (thrown["signed"], thrown["by"].startswith("local:")) == (False, True)

    lifted = subprocess.run(
        [sys.executable, "-m", "sb", "kill", "--lift", "global", "--reason", "x"],
        capture_output=True,
        text=True,
        start_new_session=True,
        check=False,
    )
    assert (lifted.returncode, "there is no terminal to ask" in lifted.stderr) == (4, True)
    assert [item["scope"] for item in sb("kill", "list", "--json").json["items"]] == ["global"]


def test_a_kill_that_is_thrown_while_a_passphrase_is_asked_for_is_not_lifted(
    sb: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    sb("init")
    sb("kill", "agent", "clerk", "--reason", "a false alarm")

    def meanwhile(*asked: object) -> Decider:
        with closing(open_log(current_config())) as log:
            switch = KillSwitch(log)
            switch.lift("agent", "clerk", Label("grace"), "no alarm")
            switch.throw("agent", "clerk", Label("grace"), "it stole", wait_s=0)
        return Label("ada")

    monkeypatch.setattr("sb.commands.kill.decider", meanwhile)
    lifted = sb("kill", "--lift", "agent:clerk", "--reason", "no alarm")
    assert (lifted.code, "was killed by grace: it stole" in lifted.err) == (4, True)
    assert "a false alarm" in lifted.err.splitlines()[0]
    assert [item["reason"] for item in sb("kill", "list", "--json").json["items"]] == ["it stole"]


def test_the_setting_asks_for_a_second_operator(sb: CommandLine, home: Path) -> None:
    sb("init")
    (home / "config.yaml").write_text("kill: {dual_control: true}\n", encoding="utf-8")
    enrol()
    sb("operator", "add", "bob", "--no-passphrase", "--reason", "second", "--as", "ada")
    assert sb("kill", "agent", "clerk", "--reason", "x", "--as", "ada", "--json").json["people"] == 2
    first = sb("kill", "--lift", "agent", "clerk", "--reason", "fine", "--as", "ada")
    assert first.code == 4
    assert "until a second operator lifts it" in first.out
    assert "ada (1 of 2)" in sb("kill", "list").out
    assert sb("kill", "--lift", "agent", "clerk", "--reason", "fine", "--as", "bob").code == 0
    assert sb("kill", "list").err == "no kills in force\n"


def test_an_incident_stops_what_caused_it_and_shows_what_to_do(sb: CommandLine) -> None:
    sb("init")
    opened = sb(
        *("incident", "open", "Paid twice", "--impact", "irreversible", "--reach", "agent"),
        *("--kill", "agent:clerk", "--reason", "two invoices", "--json"),
    ).json
    assert (opened["severity"], opened["state"], opened["kill"]) == ("sev2", "open", "agent:clerk")
    assert not call().success
    (item,) = sb("incident", "list", "--json").json["items"]
    assert item["id"] == opened["id"]
    assert opened["id"] in sb("incident", "list").out
    shown = sb("incident", "show", opened["id"]).out
    assert " 1. It is stopped" in shown
    assert "sb kill --lift agent:clerk" in shown
    closed = sb("incident", "close", opened["id"], "--reason", "one was returned")
    assert "is closed by" in closed.out
    assert "agent:clerk is still stopped" in closed.err
    assert sb("incident", "list").err == "no incident is open\n"
    assert "Paid twice" in sb("incident", "list", "--all").out
    assert sb("incident", "close", opened["id"], "--reason", "again").code == 1


def test_on_a_terminal_everything_is_stopped_only_after_a_yes(sb: CommandLine) -> None:
    sb("init")
    code, seen = in_terminal("kill", "global", "--reason", "drill", answers={"stop every agent?": "n"})
    assert (code, "interrupted" in seen) == (130, True)
    assert sb("kill", "list", "--json").json == {"items": []}
    code, _ = in_terminal("kill", "global", "--reason", "drill", answers={"stop every agent?": "y"})
    assert code == 0
    assert in_terminal("kill", "global", "--reason", "again", "--yes", answers={})[0] == 0
    assert [item["reason"] for item in sb("kill", "list", "--json").json["items"]] == ["again"]


def test_what_a_kill_names_begins_no_line_of_its_own(sb: CommandLine) -> None:
    sb("init")
    hostile = "clerk\nmemory: all is well\x1b[2J"
    stopped = sb("kill", "agent", hostile, "--reason", "stop\nconfiguration: ok")
    shown = [stopped, sb("doctor"), sb("kill", "list")]
    incident = sb("incident", "open", "Odd", "--kill", f"agent:{hostile}", "--reason", "odd")
    shown += [incident, sb("incident", "list")]
    for outcome in shown:
        lines = (outcome.out + outcome.err).splitlines()
        assert not [line for line in lines if line.startswith(("memory: all", "configuration: ok"))]
        assert "\x1b" not in outcome.out + outcome.err
    lift = stopped.err.partition("to lift it: ")[2].splitlines()[0].removesuffix(" WHY")
    typed = subprocess.run(["bash", "-c", f"printf '%s\\0' {lift} over"], capture_output=True, check=True)
    assert sb(*typed.stdout.decode().split("\0")[1:-1]).code == 0
    assert call(hostile).success


def test_doctor_says_when_no_anchor_of_the_log_is_left(sb: CommandLine, home: Path) -> None:
    sb("init")
    assert "anchored up to" in sb("doctor").out
    (home / "anchors.jsonl").unlink()
    found = sb("doctor")
    assert found.code == 1
    assert "no anchor of them" in found.out
