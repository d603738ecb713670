"""Runs one workflow again and again, killed at another line each time, and tells what became of it.

    python workflow_kills.py FOLDER FIRST STRIDE

One line of JSON for each place: where it was killed, what resuming it met, and every effect. Each attempt is a
process of its own, forked before a database is open.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from sb.kernel import RunContext, SafetyClass, ToolExecutor, ToolRegistry, WorkflowJournal
from sb.kernel.authority.signing import Label
from sb.kernel.durable_execution import StepInDoubt, Workflow
from sb.kernel.recovery_loop.service import Recovery
from sb.kernel.recovery_loop.settling import Settlement, Settling
from sb.log.event_log import EventLog
from sb.store.database import open_database

WATCHED = ("sb/kernel/durable_execution/", "workflow_kills.py")


def effect(folder: Path, name: str) -> dict[str, str]:
    with (folder / "effects").open("a", encoding="utf-8") as file:
        file.write(name + "\n")
    return {"did": name}


def effects(folder: Path) -> list[str]:
    path = folder / "effects"
    return path.read_text(encoding="utf-8").split() if path.exists() else []


class Attempt:
    """An open database, and the workflow over it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        log = EventLog(open_database(folder / "brain.db"))
        registry = ToolRegistry()
        registry.register_fn("t.pay", "Pay", lambda: effect(folder, "pay"), SafetyClass.LOCAL_WRITE)
        self.executor = ToolExecutor(registry, event_log=log)
        self.journal = WorkflowJournal(log)

    def order(self, workflow: Workflow, number: int) -> list[Any]:
        ctx = RunContext.create("clerk")
        reserved = workflow.step("reserve", self._effect, "reserve")
        indexed = workflow.step("index", self._effect, "index", idempotent=True)
        paid = workflow.call(self.executor, ctx, "t.pay")
        mailed = workflow.step("mail", self._effect, "mail")
        return [number, reserved, indexed, paid, mailed]

    def _effect(self, name: str) -> dict[str, str]:
        return effect(self.folder, name)

    def run(self) -> Any:
        return self.journal.run("order", "order-1", self.order, {"number": 1})

    def settle(self) -> str:
        """Say of the step in doubt what is true of it; returns its name."""
        doubtful = self.executor.in_doubt()
        if doubtful:
            verdict = Settlement.DONE if "pay" in effects(self.folder) else Settlement.NOT_DONE
            Settling(Recovery(self.executor)).settle(
                doubtful[0].call_id, verdict, Label("ada"), "looked", {"did": "pay"}
            )
            return "pay"
        (pending,) = self.journal.unfinished()
        done = pending.in_doubt in effects(self.folder)
        self.journal.settle(
            "order-1", pending.in_doubt, {"did": pending.in_doubt} if done else None, done=done
        )
        return pending.in_doubt


def killing(at: int, target: Path) -> Callable[[FrameType, str, Any], Any]:
    """A trace function that ends the process at a line of the watched files, by count."""
    seen = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal seen
        if not any(part in frame.f_code.co_filename for part in WATCHED):
            return None
        if event == "line":
            seen += 1
            if seen == at:
                target.write_text(f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}", encoding="utf-8")
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    return trace


def make_database(folder: Path) -> None:
    Attempt(folder).executor.event_log.close()


def first_attempt(folder: Path, at: int) -> None:
    attempt = Attempt(folder)
    trace = killing(at, folder / "where")
    threading.settrace(trace)
    sys.settrace(trace)
    attempt.run()


def second_attempt(folder: Path) -> None:
    attempt = Attempt(folder)
    doubts: list[str] = []
    while True:
        try:
            result = attempt.run()
            break
        except StepInDoubt:
            before = effects(folder)
            doubts.append(attempt.settle())
            assert effects(folder) == before, "settling ran something"
    again = Attempt(folder).run()
    report = {"doubts": doubts, "result": result, "again": again, "effects": effects(folder)}
    (folder / "said").write_text(json.dumps(report), encoding="utf-8")


def in_child(action: Callable[..., None], *arguments: Any) -> int:
    """The exit of a process that did this: 0, or minus the signal."""
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            action(*arguments)
            code = 0
        except BaseException:
            traceback.print_exc()
            raise
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def main() -> None:
    root, at, stride = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    empty = root / "empty"
    empty.mkdir()
    if in_child(make_database, empty) != 0:
        raise SystemExit("no database could be made")
    while True:
        folder = root / str(at)
        shutil.copytree(empty, folder)  # of migrations no line is watched
        ended = in_child(first_attempt, folder, at)
        if ended == 0:
            return  # it has fewer lines than that
        if ended != -signal.SIGKILL or in_child(second_attempt, folder) != 0:
            raise SystemExit(f"killed at line {at}, it could not be resumed")
        report = json.loads((folder / "said").read_text(encoding="utf-8"))
        print(json.dumps({"where": (folder / "where").read_text(encoding="utf-8"), **report}), flush=True)
        at += stride


if __name__ == "__main__":
    main()
