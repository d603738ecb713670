"""Agents' runs in a home: begun, stopped by anything, resumed from another process, shown."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sb.agent import Agent, RunState
from sb.agent.agentic import AGENT_RUN
from sb.errors import NotFoundError
from sb.kernel import governed
from sb.runtime import open_runtime
from tests.agent import counter
from tests.agent.test_plan_file import REFUND
from tests.conftest import CommandLine

TOOLS = 'tools: ["tests.agent.counter:register"]\ncontract_enforcement: observe\nreversibility: observe\n'
ONCE = ["read 1002", "refund 1002 4900", "pack lamp of Grace", "pack bulb of Grace"]


@pytest.fixture
def plan(home: Path, sb: CommandLine) -> str:
    """The file of a plan, in a home whose tools ask for nothing."""
    assert sb("init").code == 0
    (home / "config.yaml").write_text(TOOLS)
    path = home.parent / "refund.yaml"
    path.write_text(REFUND)
    return str(path)


def asking(plan: str) -> str:
    """The same plan, in which a person has to agree to the refund."""
    text = (
        Path(plan)
        .read_text(encoding="utf-8")
        .replace("    when:", '    ask: "Refund {{look.cents}} cents?"\n    when:')
    )
    Path(plan).write_text(text, encoding="utf-8")
    return plan


def killed(plan: str, home: Path) -> None:
    """Run it in a process that is killed in the middle of the refund."""
    (home / "die").touch()
    command = [sys.executable, "-m", "sb", "agent", "run", "refund", "--plan", plan]
    done = subprocess.run(command, env=os.environ, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr


def test_a_plan_is_run_from_a_terminal_and_shown(sb: CommandLine, plan: str) -> None:
    done = sb("agent", "run", "refund", "--plan", plan)
    assert (done.code, done.out) == (0, "Grace of order 1002\n")
    assert "✓ back" in done.err
    assert counter.done() == ONCE
    (listed,) = sb("agent", "list", "--all", "--json").json["items"]
    assert (listed["agent"], listed["goal"], listed["state"]) == ("clerk", "refund", "finished")
    assert [step["name"] for step in listed["steps"]] == ["look", "back", "item[0]", "item[1]"]
    assert "finished" in sb("agent", "show", listed["run_id"]).out
    assert sb("agent", "list").err == "no agent's run is unfinished\n"


def test_a_dry_run_leaves_nothing_behind(sb: CommandLine, plan: str) -> None:
    done = sb("agent", "run", "refund", "--plan", plan, "--dry-run", "--json")
    assert (done.code, done.json["dry_run"], done.json["critique"]["passed"]) == (0, True, True)
    assert [step["step"] for step in done.json["steps"]] == ["look", "back", "item[0]"]
    assert counter.done() == []
    assert sb("agent", "list", "--all", "--json").json["items"] == []


def test_killed_in_a_step_a_run_is_settled_resumed_and_makes_nothing_twice(
    sb: CommandLine, plan: str, home: Path
) -> None:
    killed(plan, home)
    (stopped,) = sb("agent", "list", "--json").json["items"]
    doubt = sb("agent", "resume", stopped["workflow_id"], "--json")
    assert (doubt.code, doubt.json["state"]) == (1, "unknown")
    (listed,) = sb("agent", "list", "--json").json["items"]
    reference = next(step["reference"] for step in listed["steps"] if step["reference"])
    assert reference in sb("agent", "show", stopped["workflow_id"]).err
    settled = sb(
        "recovery",
        "settle",
        reference,
        "done",
        "--reason",
        "the bank says so",
        "--result",
        '{"refunded": 4900}',
    )
    assert settled.code == 0, settled.err
    done = sb("agent", "resume", stopped["workflow_id"])
    assert (done.code, done.out) == (0, "Grace of order 1002\n"), done.err
    assert counter.done() == ONCE


def test_a_run_that_waits_goes_on_once_it_is_approved(sb: CommandLine, plan: str) -> None:
    waits = sb("agent", "run", "refund", "--plan", asking(plan), "--json")
    assert (waits.code, waits.json["state"]) == (4, "waits")
    request = waits.json["steps"][-1]["approval_id"]
    assert "Refund 4900 cents?" in sb("approvals", "show", request).out
    assert f"sb approvals show {request}" in sb("agent", "show", waits.json["workflow_id"]).err
    assert sb("approvals", "approve", request, "--reason", "fine").code == 0
    done = sb("agent", "resume", waits.json["workflow_id"], "--plan", plan, "--json")
    assert (done.json["state"], done.json["run_id"]) == ("done", waits.json["run_id"])
    assert counter.done() == ONCE


def test_a_run_waits_for_the_decision_where_it_is_told_to(sb: CommandLine, plan: str) -> None:
    command = [
        sys.executable,
        "-m",
        "sb",
        "agent",
        "run",
        "refund",
        "--plan",
        asking(plan),
        "--wait",
        "60s",
    ]
    child = subprocess.Popen(
        command, env=os.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stderr is not None
    shown = next(line for line in child.stderr if line.startswith("sb approvals show "))
    assert sb("approvals", "approve", shown.split()[-1], "--reason", "fine").code == 0
    out, _ = child.communicate(timeout=60)
    assert (child.returncode, out) == (0, "Grace of order 1002\n")


def test_a_changed_plan_is_refused_with_the_difference(sb: CommandLine, plan: str) -> None:
    waits = sb("agent", "run", "refund", "--plan", asking(plan), "--json").json
    Path(plan).write_text(
        Path(plan).read_text(encoding="utf-8").replace("below: 10000", "below: 90000"), encoding="utf-8"
    )
    refused = sb("agent", "resume", waits["workflow_id"], "--plan", plan)
    assert refused.code == 2
    assert "steps[1].when.look.cents.below" in refused.err


def test_variables_given_beside_the_file_are_no_change_of_it(sb: CommandLine, plan: str) -> None:
    waits = sb("agent", "run", "refund", "--plan", asking(plan), "--var", "limit=5", "--json").json
    resumed = sb("agent", "resume", waits["run_id"][:12], "--plan", plan, "--json")
    assert (resumed.code, resumed.json["run_id"]) == (4, waits["run_id"])


def test_a_run_of_which_something_was_undone_goes_on_no_more(sb: CommandLine, plan: str, home: Path) -> None:
    config = home / "config.yaml"
    config.write_text(config.read_text() + f"files: {{roots: ['{home.parent}']}}\n")
    write = f"{{name: w, tool: files.write, args: {{path: '{home.parent}/a.txt', content: x}}}}"
    ask = "{name: p, tool: pack.item, ask: sure, args: {item: lamp}}"
    Path(plan).write_text(f"agent: clerk\nsteps: [{write}, {ask}]\n", encoding="utf-8")
    waits = sb("agent", "run", "g", "--plan", plan, "--json").json
    assert waits["state"] == "waits", waits
    undone = sb("undo", "--run", waits["run_id"], "--yes")
    assert undone.code == 0, undone.err
    refused = sb("agent", "resume", waits["run_id"])
    assert refused.code == 2
    assert "what it did was undone (files.write)" in refused.err


def test_a_stopped_run_makes_no_call_until_that_is_lifted(sb: CommandLine, plan: str) -> None:
    waits = sb("agent", "run", "refund", "--plan", asking(plan), "--json").json
    assert sb("agent", "stop", waits["workflow_id"]).code == 2  # without a reason
    assert sb("agent", "stop", waits["workflow_id"], "--reason", "wrong orders").code == 0
    shown = sb("agent", "show", waits["run_id"])
    assert "killed, started" in shown.out
    assert f"sb kill run:{waits['run_id']} --lift" in shown.err
    request = waits["steps"][-1]["approval_id"]
    assert sb("approvals", "approve", request, "--reason", "fine").code == 0
    stopped = sb("agent", "resume", waits["workflow_id"])
    assert stopped.code == 1
    assert "wrong orders" in stopped.err
    assert counter.done() == ["read 1002"]


def test_bad_input_is_one_line_and_begins_nothing(sb: CommandLine, plan: str) -> None:
    for arguments, code in (
        (("agent", "show", "run_none"), 1),
        (("agent", "run", "refund", "--plan", plan, "--var", "order"), 2),
        (("agent", "run", "refund", "--var", "order=1"), 2),
        (("agent", "run", "refund", "--plan", plan, "--var", "ordr=1"), 1),
        (("agent", "run", "refund", "--plan", plan, "--wait", "soon"), 2),
    ):
        done = sb(*arguments)
        assert (done.code, done.out) == (code, ""), (arguments, done.err)
        assert done.err.startswith("sb: error: ")
    assert sb("agent", "list", "--all", "--json").json["items"] == []


def test_secrets_in_goals_and_outcomes_are_not_shown(sb: CommandLine, plan: str) -> None:
    key = "AKIA" + "Q3EGRIZ4TWPDF6XM"
    Path(plan).write_text(
        f"steps: [{{tool: pack.item, args: {{item: '{key}'}}}}]\noutput: '{key}'", encoding="utf-8"
    )
    done = sb("agent", "run", f"use {key}", "--plan", plan)
    shown = sb("agent", "list", "--all").out
    assert done.code == 0
    assert key not in done.out + done.err + shown


def test_an_agent_of_ten_lines_runs_its_own_functions(sb: CommandLine, plan: str) -> None:
    @governed(tool_id="town.rooms")
    def rooms(town: str) -> int:
        """Free rooms in a town."""
        return 3

    with open_runtime() as runtime:
        agent = Agent("clerk", tools=[rooms], runtime=runtime)
        assert agent.run("rooms of town=Ulm").output == 3
        refund = Agent("clerk", plan=plan, runtime=runtime)
        assert refund.run("refund", order=1003).state is RunState.DONE
        assert refund.run("refund", dry_run=True).dry_run
        with pytest.raises(NotFoundError):
            refund.run("refund", run="run_0000typo")
        names = {flow.name for flow in runtime.workflows.unfinished()}
        assert AGENT_RUN not in names
    assert counter.done() == ["read 1003"]
