"""Many processes share one file: no lock error reaches a caller, nothing is lost, the chain verifies."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sb.kernel.review.log_verification import verify
from sb.log.event_log import EventLog
from sb.memory import Brain
from sb.memory.checks import check
from sb.store.anchor import Anchor
from sb.store.database import open_database
from tests.rounds import rounds

WRITER = """
import sys
from pathlib import Path
from sb.kernel import RunBudget, RunContext, SafetyClass
from sb.kernel.execution.executor import ToolExecutor
from sb.kernel.registry.registry import ToolRegistry
from sb.log.event_log import EventLog
from sb.store.anchor import Anchor
from sb.store.database import open_database
folder, calls = Path(sys.argv[1]), int(sys.argv[2])
log = EventLog(open_database(folder / "brain.db"), anchor=Anchor(folder / "anchors.jsonl"), anchor_every=50)
registry = ToolRegistry()
registry.register_fn("t.read", "Read", lambda n: n)
registry.register_fn("t.write", "Write", lambda n: n, SafetyClass.LOCAL_WRITE)
executor = ToolExecutor(registry, event_log=log)
ctx = RunContext.create("agent", budget=RunBudget(max_tool_calls=10**6, max_latency_ms=10**9))
for n in range(calls):
    result = executor.execute(ctx, "t.write" if n % 2 else "t.read", {"n": n})
    assert result.success and result.data == n, result
log.close()
"""

REMEMBERING = """
import sys
from sb.memory import Brain
folder, memories = sys.argv[1], int(sys.argv[2])
with Brain("agent", path=f"{folder}/brain.db", scope="project:shop") as brain:
    for n in range(memories):
        print(brain.remember(f"the limit is {n} requests", force=True))
        brain.entity("orders", "service", observations=[f"answered {n} requests"])
        assert brain.search("which limit?")
"""


def run_writers(folder: Path, processes: int, calls: int) -> None:
    command = [sys.executable, "-c", WRITER, str(folder), str(calls)]
    children = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(processes)]
    outcomes = [(child.communicate(timeout=120)[1], child.returncode) for child in children]
    assert [code for _, code in outcomes] == [0] * processes, outcomes


@pytest.mark.prove
@pytest.mark.parametrize("round_number", range(rounds(3) // 3))
def test_eight_processes_that_all_create_the_file_and_write(tmp_path: Path, round_number: int) -> None:
    processes, calls = 8, 60
    run_writers(tmp_path, processes, calls)
    log = EventLog(open_database(tmp_path / "brain.db"), anchor=Anchor(tmp_path / "anchors.jsonl"))
    found = verify(log)
    assert found.problems == []
    assert found.rows == processes * (1 + calls + calls // 2)
    assert found.anchored_seq > 0
    assert log.database.query("SELECT count(*) FROM intents") == [(0,)]


def test_eight_processes_that_all_create_the_file_and_remember(tmp_path: Path) -> None:
    processes, memories = 8, 15
    command = [sys.executable, "-c", REMEMBERING, str(tmp_path), str(memories)]
    pipe = subprocess.PIPE
    children = [subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) for _ in range(processes)]
    outcomes = [(*child.communicate(timeout=120), child.returncode) for child in children]
    assert [code for _, _, code in outcomes] == [0] * processes, outcomes
    kept = {uid for out, _, _ in outcomes for uid in out.split()}
    with Brain("agent", path=tmp_path / "brain.db", scope="project:shop") as brain:
        assert {row["uid"] for row in brain.space.records.select("r.kind = 'fact'", ())} == kept
        assert len(kept) == processes * memories
        assert len(brain.get("orders").details["observations"]) == memories
        assert {finding.status for finding in check(brain.space)} == {"ok"}
