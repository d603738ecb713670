"""Attacks by SQL on the workflow journal: no step is repeated or forged, and verification reports them."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sb.errors import SBError, StoreCorrupt
from sb.kernel import WorkflowJournal
from sb.kernel.durable_execution import StepInDoubt
from sb.kernel.review.log_verification import verify
from sb.log.event_log import EventLog
from sb.store.anchor import Anchor
from sb.store.database import open_database
from tests.sql_attacker import SqlAttacker


class Home:
    """A home with a journal; `paid` are the effects of its plain steps."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.paid: list[str] = []
        self.open()

    def open(self) -> None:
        """As another process would."""
        anchor = Anchor(self.folder / "anchors.jsonl")
        self.log = EventLog(open_database(self.folder / "brain.db"), anchor=anchor, digest_key=b"k" * 32)
        self.journal = WorkflowJournal(self.log)

    def pay(self, to: str) -> str:
        self.paid.append(to)
        if to == "lost":
            raise ConnectionResetError("before or after it paid?")
        return f"paid {to}"

    def order(self, workflow: Any, last: str) -> list[str]:
        return [workflow.step(f"pay {to}", self.pay, to) for to in ("ada", "grace", last)]

    def run(self, last: str, name: str = "order-1") -> Any:
        self.open()
        return self.journal.run("order", name, self.order, {"last": last})


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


STEPS = "workflow_steps"
EDITS = {
    "delete the step in doubt": f"DELETE FROM {STEPS} WHERE id & 1048575 = 2",
    "delete the last two": f"DELETE FROM {STEPS} WHERE id & 1048575 > 0",
    "call it repeatable": f"UPDATE {STEPS} SET kind = 'idempotent' WHERE id & 1048575 = 2",
    "call it a call": f"UPDATE {STEPS} SET kind = 'call' WHERE id & 1048575 = 2",
    "forge what it gave": f"UPDATE {STEPS} SET result = '\"paid lost\"' WHERE id & 1048575 = 2",
    "change what one gave": f"UPDATE {STEPS} SET result = '\"paid eve\"' WHERE id & 1048575 = 0",
    "exchange two results": f"UPDATE {STEPS} SET result = (SELECT result FROM {STEPS} AS o"
    f" WHERE o.id = (1 - ({STEPS}.id & 1)) + ({STEPS}.id >> 1 << 1)) WHERE id & 1048575 < 2",
    "delete the workflow": "DELETE FROM workflows",
    "delete all": f"DELETE FROM {STEPS}; DELETE FROM workflows",
    "rename the workflow": "UPDATE workflows SET id = 'order-2'",
    "give it another run": "UPDATE workflows SET run_id = 'run_0000000000000000'",
    "make it another workflow": "UPDATE workflows SET number = 7; UPDATE workflow_steps SET id = id + (6 << 20)",
    "finish it": "UPDATE workflows SET result = '[]'",
    "empty the tags": f"UPDATE {STEPS} SET result = '\"paid lost\"', tag = '' WHERE id & 1048575 = 2",
}


@pytest.mark.parametrize("edit", EDITS)
def test_no_edit_repeats_a_step_or_forges_its_result(home: Home, edit: str) -> None:
    with pytest.raises(ConnectionResetError):
        home.run("lost")
    attacker = SqlAttacker(home.folder / "brain.db")
    for statement in EDITS[edit].split("; "):
        assert attacker.run(statement)
    with pytest.raises(StoreCorrupt):
        home.run("lost")
    assert home.paid == ["ada", "grace", "lost"]
    assert any("workflow" in problem for problem in verify(home.log).problems)


def test_a_finished_workflow_that_was_deleted_does_not_begin_anew(home: Home) -> None:
    home.run("bob")
    attacker = SqlAttacker(home.folder / "brain.db")
    for table in (STEPS, "workflows"):
        attacker.run(f"DELETE FROM {table}")
    with pytest.raises(StoreCorrupt, match="3 steps were announced, and the database has 0"):
        home.run("bob")
    assert len(home.paid) == 3
    assert verify(home.log).problems == ["workflows: one of which steps were announced is gone"]
    home.journal.forget("order-1")
    assert home.run("bob") == ["paid ada", "paid grace", "paid bob"]
    assert verify(home.log).problems == []


def test_an_edited_step_cannot_be_settled(home: Home) -> None:
    with pytest.raises(ConnectionResetError):
        home.run("lost")
    SqlAttacker(home.folder / "brain.db").run(f"UPDATE {STEPS} SET args_digest = '' WHERE id & 1048575 = 2")
    with pytest.raises(StoreCorrupt, match="was changed in the database"):
        home.journal.settle("order-1", "pay lost", done=False)


def test_a_row_of_an_earlier_workflow_does_not_fit_the_next_one(home: Home) -> None:
    home.run("bob")
    attacker = SqlAttacker(home.folder / "brain.db")
    rows = attacker.rows(f"SELECT * FROM {STEPS}")
    home.journal.forget("order-1")
    with pytest.raises(ConnectionResetError):
        home.run("lost")
    attacker.run(f"DELETE FROM {STEPS} WHERE id = ?", rows[1][0])
    attacker.run(f"INSERT INTO {STEPS} VALUES ({', '.join('?' * len(rows[1]))})", *rows[1])
    with pytest.raises(StoreCorrupt):
        home.run("lost")


def test_everyday_work_goes_on(home: Home) -> None:
    with pytest.raises(ConnectionResetError):
        home.run("lost")
    with pytest.raises(StepInDoubt):
        home.run("lost")
    assert verify(home.log).problems == []
    home.journal.settle("order-1", "pay lost", done=False)
    assert verify(home.log).problems == []
    with pytest.raises(ConnectionResetError):
        home.run("lost")
    home.journal.settle("order-1", "pay lost", "it came")
    assert home.run("lost") == ["paid ada", "paid grace", "it came"]
    assert verify(home.log).problems == []
    home.journal.forget("order-1")
    assert verify(home.log).problems == []
    assert not list((home.folder / "workflows").glob("*/*"))


def test_a_step_that_cannot_be_counted_does_not_run(home: Home) -> None:
    (home.folder / "workflows").write_text("in the way")
    with pytest.raises(SBError, match="workflows"):
        home.run("bob")
    assert home.paid == []
    (home.folder / "workflows").unlink()
    assert home.run("bob") == ["paid ada", "paid grace", "paid bob"]


_KILLED = """
import os, sys
from pathlib import Path
from tests.kernel.durable_execution.test_workflows_by_sql import Home
at, lines = int(sys.argv[2]), 0
def trace(frame, event, arg):
    global lines
    if event == "line" and frame.f_code.co_filename.endswith(("step_count.py", "durable/workflow.py")):
        lines += 1
        if lines == at:
            os.kill(os.getpid(), 9)
    return trace
home = Home(Path(sys.argv[1]))
sys.settrace(trace)
home.run("bob")
"""


@pytest.mark.parametrize("at", [20, 45, 60, 75, 90, 105, 120, 150])
def test_a_process_that_is_killed_anywhere_leaves_nothing_that_looks_edited(home: Home, at: int) -> None:
    command = [sys.executable, "-c", _KILLED, str(home.folder), str(at)]
    subprocess.run(command, check=False, cwd=Path(__file__).parents[3])
    assert verify(home.log).problems == []
    with contextlib.suppress(StepInDoubt):
        home.run("bob")
    assert verify(home.log).problems == []
