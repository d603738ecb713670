"""A plain step whose process died is seen wherever a call with unknown outcome is, and settled the same way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sb.kernel import WorkflowJournal
from sb.kernel.durable_execution.doubt import steps_in_doubt
from sb.kernel.review.log_verification import verify
from sb.log.event_log import EventLog
from sb.runtime import open_runtime
from sb.store.database import open_database
from tests.conftest import CommandLine

SCRIPT = """
import os
from sb.runtime import open_runtime
def send(to): os.kill(os.getpid(), 9)
def letter(workflow, to):
    workflow.step("look up", str, to)
    return workflow.step("send the letter", send, to)
with open_runtime() as runtime:
    runtime.workflows.run("letter", "letter-7", letter, {"to": "grace"})
"""


@pytest.fixture
def killed(home: Path, sb: CommandLine) -> str:
    """The id of the step during which the process of a workflow was killed."""
    assert sb("init").code == 0
    done = subprocess.run([sys.executable, "-c", SCRIPT], check=False, env=os.environ)
    assert done.returncode == -signal.SIGKILL
    (listed,) = sb("recovery", "list", "--json").json["in_doubt"]
    assert (listed["workflow"], listed["step"]) == ("letter-7", "send the letter")
    return str(listed["call_id"])


def test_every_list_of_unknown_outcomes_has_the_step(sb: CommandLine, killed: str) -> None:
    assert "send the letter" in sb("recovery", "list").out
    status = sb("status", "--json").json
    (need,) = [item for item in status["items"] if item["kind"] == "unknown"]
    assert (need["id"], need["command"]) == (killed, "sb workflow show letter-7")
    assert "send the letter" in need["object"]
    assert need["since"] is not None
    assert "send the letter" in sb("watch", "--once").out
    assert f"1 unknown outcome: workflow.step ({killed})" in sb("doctor").out


def test_the_step_is_logged_once_by_whoever_opens_the_runtime_first(sb: CommandLine, killed: str) -> None:
    for _ in range(2):
        open_runtime().close()
    with open_runtime() as runtime:
        (event,) = runtime.log.events(kind="workflow.in_doubt")
        assert event.subject.call_id == killed
        assert (event.payload or {})["args"] == {"step": "send the letter", "workflow": "letter-7"}
        assert verify(runtime.log).ok
    assert "send the letter" in sb("log", "tail").out


@pytest.mark.parametrize("by_name", [True, False])
def test_a_step_that_happened_is_settled_with_its_result(
    sb: CommandLine, killed: str, *, by_name: bool
) -> None:
    named = (
        ("workflow", "settle", "letter-7", "send the letter") if by_name else ("recovery", "settle", killed)
    )
    assert sb(*named, "done").code == 2, "a decision needs a reason"
    settled = sb(*named, "done", "--reason", "the relay has it", "--result", '{"sent": true}', "--json")
    assert settled.code == 0, settled.err
    assert settled.json == {"call_id": killed, "verdict": "done", "mutation_id": ""}
    assert sb("recovery", "list", "--json").json["in_doubt"] == []
    with open_runtime() as runtime:

        def letter(workflow: object, to: str) -> object:
            workflow.step("look up", str, to)  # type: ignore[attr-defined]
            return workflow.step("send the letter", str, to)  # type: ignore[attr-defined]

        assert runtime.workflows.run("letter", "letter-7", letter, {"to": "grace"}) == {"sent": True}
        (event,) = runtime.log.events(kind="workflow.settled")
        payload = event.payload or {}
        assert (payload["done"], payload["verdict"], payload["reason"]) == (True, "done", "the relay has it")
        assert payload["signed"]["statement"]["action"] == "settle"
        assert verify(runtime.log).ok


def test_a_step_that_did_not_happen_runs_again(sb: CommandLine, killed: str) -> None:
    assert sb("recovery", "settle", killed, "not-done", "--reason", "the relay knows nothing").code == 0
    with open_runtime() as runtime:
        assert steps_in_doubt(runtime.log) == []
        (left,) = runtime.workflows.unfinished()
        assert left.steps == 1


def test_a_plain_function_has_neither_a_probe_nor_an_undo(sb: CommandLine, killed: str) -> None:
    assert "has no probe" in sb("recovery", "settle", killed).err
    refused = sb("recovery", "settle", killed, "compensate", "--reason", "no")
    assert refused.code != 0
    assert "declares no undo" in refused.err
    assert len(sb("recovery", "list", "--json").json["in_doubt"]) == 1


def test_a_workflow_is_listed_and_shown_without_its_arguments(sb: CommandLine, killed: str) -> None:
    (listed,) = sb("workflow", "list", "--json").json["items"]
    assert (listed["workflow_id"], listed["state"]) == ("letter-7", "unknown")
    shown = sb("workflow", "show", "letter-7")
    assert "grace" not in shown.out
    assert [line.split()[0] for line in shown.out.splitlines()[-2:]] == ["done", "unknown"]
    assert killed in shown.out
    assert "letter-7" in sb("workflow", "show", "letter-8").err
    assert sb("workflow", "settle", "letter-7", "look up", "done", "--reason", "no").code == 1


def test_a_running_step_is_not_in_doubt_and_one_that_timed_out_is_logged_at_once(tmp_path: Path) -> None:
    log = EventLog(open_database(tmp_path / "brain.db"))
    seen: list[int] = []

    def slow() -> None:
        seen.append(len(steps_in_doubt(log)))
        raise TimeoutError("no answer")

    for _ in range(2):
        with pytest.raises(Exception, match=r"no answer|not repeated"):
            WorkflowJournal(log).run("w", "w-1", lambda workflow: workflow.step("slow", slow))
    assert seen == [0]
    assert len(steps_in_doubt(log)) == 1
    assert len(list(log.events(kind="workflow.in_doubt"))) == 1
