"""A workflow may be killed at any line: nothing happens twice, and it can always go on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sb.kernel import WorkflowJournal
from sb.kernel.durable_execution import StepInDoubt, Workflow, WorkflowClaimed
from sb.kernel.durable_execution.claims import process_start
from sb.log.event_log import EventLog
from sb.store.database import open_database

KILLS = Path(__file__).with_name("workflow_kills.py")
EVERY_LINE = "SB_PROVE_ROUNDS" in os.environ
ONCE = ["reserve", "pay", "mail"]


@pytest.mark.prove
def test_killed_at_any_line_a_workflow_goes_on_and_nothing_happens_twice(tmp_path: Path) -> None:
    stride = 1 if EVERY_LINE else 5
    command = [sys.executable, str(KILLS), str(tmp_path), "1", str(stride)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    killed = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(killed) * stride > 150
    for item in killed:
        happened = item["effects"]
        assert [name for name in happened if name != "index"] == ONCE, item
        assert 1 <= happened.count("index") <= 2, item  # it was declared idempotent
        assert (
            item["result"]
            == item["again"]
            == [1, *({"did": name} for name in ["reserve", "index", "pay", "mail"])]
        )
        assert len(item["doubts"]) <= 1
    assert {doubt for entry in killed for doubt in entry["doubts"]} == set(ONCE)


def attempt_in_child(folder: Path, step: str, *, lease_s: float = 300.0) -> subprocess.Popen[str]:
    """A process that runs the workflow w-1, whose one step is the code given."""
    script = (
        "import os, sys, time\n"
        "from sb.kernel import WorkflowJournal\n"
        "from sb.kernel.durable_execution import WorkflowClaimed\n"
        "from sb.log.event_log import EventLog\n"
        "from sb.store.database import open_database\n"
        f"journal = WorkflowJournal(EventLog(open_database({str(folder / 'brain.db')!r})), lease_s={lease_s})\n"
        "def effect():\n"
        f"    open({str(folder / 'effects')!r}, 'a').write('x')\n"
        f"    print('inside', flush=True); {step}\n"
        "    return 'done'\n"
        "print('ready', flush=True)\n"
        "sys.stdin.readline()\n"
        "try: print(journal.run('w', 'w-1', lambda workflow: workflow.step('long', effect)), flush=True)\n"
        "except WorkflowClaimed as claimed: print('claimed', flush=True)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    return child


def begin(child: subprocess.Popen[str]) -> None:
    assert child.stdin is not None
    child.stdin.write("\n")
    child.stdin.flush()


@pytest.mark.parametrize("recovering", [False, True])
def test_of_many_processes_one_runs_it_and_the_others_are_told(tmp_path: Path, recovering: bool) -> None:
    log = EventLog(open_database(tmp_path / "brain.db"))
    if recovering:
        dead = attempt_in_child(tmp_path, "os.kill(os.getpid(), 9)")
        begin(dead)
        dead.communicate()
        WorkflowJournal(log).settle("w-1", "long", done=False)
        assert str(dead.pid) in log.database.query("SELECT owner FROM workflows")[0][0]
        (tmp_path / "effects").unlink()
    children = [attempt_in_child(tmp_path, "time.sleep(0.5)") for _ in range(4)]
    for child in children:
        begin(child)
    outputs = sorted(child.communicate(timeout=60)[0] for child in children)
    assert outputs.count("inside\ndone\n") == 1
    assert set(outputs) <= {"inside\ndone\n", "claimed\n", "done\n"}
    assert (tmp_path / "effects").read_text("utf-8") == "x"


def test_a_long_step_of_a_living_process_keeps_its_claim_beyond_the_lease(tmp_path: Path) -> None:
    open_database(tmp_path / "brain.db").close()
    child = attempt_in_child(tmp_path, "time.sleep(60)", lease_s=0.05)
    assert child.stdout is not None
    begin(child)
    assert child.stdout.readline() == "inside\n"
    time.sleep(0.2)  # the lease is over
    journal = WorkflowJournal(EventLog(open_database(tmp_path / "brain.db")))
    with pytest.raises(WorkflowClaimed, match=str(child.pid)):
        journal.run("w", "w-1", lambda workflow: workflow.step("long", lambda: "again"))
    with pytest.raises(WorkflowClaimed):
        journal.settle("w-1", "long", "done")
    with pytest.raises(WorkflowClaimed):
        journal.forget("w-1")
    assert [(w.claimed, w.in_doubt) for w in journal.unfinished()] == [(True, "")]
    child.send_signal(signal.SIGKILL)
    while process_start(child.pid) != "ended":  # nobody has asked how it ended: a zombie runs nothing
        time.sleep(0.01)
    with pytest.raises(StepInDoubt):
        journal.run("w", "w-1", lambda workflow: workflow.step("long", lambda: "again"))
    assert [(w.claimed, w.in_doubt) for w in journal.unfinished()] == [(False, "long")]
    child.communicate()
    journal.settle("w-1", "long", "done")
    assert journal.run("w", "w-1", lambda workflow: workflow.step("long", lambda: "again")) == "done"
    assert (tmp_path / "effects").read_text("utf-8") == "x"


def test_a_workflow_that_this_process_runs_is_claimed_for_its_other_callers_too(tmp_path: Path) -> None:
    log = EventLog(open_database(tmp_path / "brain.db"))
    journal = WorkflowJournal(log)

    def outer(workflow: Workflow) -> None:
        with pytest.raises(WorkflowClaimed):
            WorkflowJournal(log).run("w", "w-1", lambda workflow: None)

    journal.run("w", "w-1", outer)
    assert journal.unfinished() == []
