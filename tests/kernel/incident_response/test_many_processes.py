"""Several processes call at once while a kill is thrown in another: none starts a call after it was acknowledged."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from sb.kernel import KillSwitch
from sb.kernel.review.log_verification import verify
from sb.log.event_log import EventLog
from sb.store.database import open_database
from tests.kernel.incident_response.conftest import ADA

CALLER = """
import os, sys, time
from pathlib import Path
from sb.kernel import RunBudget, RunContext, SafetyClass, ToolExecutor, ToolRegistry
from sb.log.event_log import EventLog
from sb.store.database import open_database

out = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
registry = ToolRegistry()
mark = lambda: os.write(out, f"{time.monotonic()}\\n".encode())
registry.register_fn("plant.write", "Write", mark, SafetyClass.LOCAL_WRITE)
executor = ToolExecutor(registry, event_log=EventLog(open_database(sys.argv[1])))
budget = RunBudget(max_tool_calls=10**6, max_latency_ms=10**9)
ctx = RunContext.create("clerk", budget=budget)
refused = 0
while refused < 20:
    result = executor.execute(ctx, "plant.write", {})
    assert result.success or "was killed by ada" in result.error_message, result
    refused += not result.success
"""


def started(path: Path) -> list[float]:
    return [float(line) for line in path.read_text(encoding="utf-8").split()] if path.exists() else []


def test_no_process_starts_a_call_after_the_kill_was_acknowledged(tmp_path: Path) -> None:
    log, marks = EventLog(open_database(tmp_path / "brain.db")), tmp_path / "marks"
    command = [sys.executable, "-c", CALLER, str(tmp_path / "brain.db"), str(marks)]
    children = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    deadline = time.monotonic() + 60
    while len(started(marks)) < 200:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    thrown = KillSwitch(log).throw("agent", "clerk", ADA, "stop", wait_s=60)
    acknowledged = time.monotonic()
    ended = [(child.communicate(timeout=60)[1], child.returncode) for child in children]
    assert [code for _, code in ended] == [0] * 4, ended
    assert thrown.running == ()
    assert max(started(marks)) < acknowledged
    assert verify(log).problems == []
