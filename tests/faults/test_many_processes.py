"""Many processes share one file: no lock error reaches a caller, nothing is lost, the chain verifies."""

from __future__ import annotations

from pathlib import Path

import pytest

from sb.kernel import RunBudget, RunContext, SafetyClass
from sb.kernel.execution.executor import ToolExecutor
from sb.kernel.registry.registry import ToolRegistry
from sb.kernel.review.log_verification import verify
from sb.log.event_log import EventLog
from sb.memory import Brain
from sb.memory.checks import check
from sb.store.anchor import Anchor
from sb.store.database import open_database
from tests.faults.at_once import run_at_once
from tests.rounds import rounds


def write(place: str, calls: str) -> None:
    folder = Path(place)
    log = EventLog(
        open_database(folder / "brain.db"), anchor=Anchor(folder / "anchors.jsonl"), anchor_every=50
    )
    registry = ToolRegistry()
    registry.register_fn("t.read", "Read", lambda n: n)
    registry.register_fn("t.write", "Write", lambda n: n, SafetyClass.LOCAL_WRITE)
    executor = ToolExecutor(registry, event_log=log)
    ctx = RunContext.create("agent", budget=RunBudget(max_tool_calls=10**6, max_latency_ms=10**9))
    for n in range(int(calls)):
        result = executor.execute(ctx, "t.write" if n % 2 else "t.read", {"n": n})
        assert result.success, result
        assert result.data == n, result
    log.close()


def remember(place: str, memories: str) -> None:
    with Brain("agent", path=f"{place}/brain.db", scope="project:shop") as brain:
        for n in range(int(memories)):
            print(brain.remember(f"the limit is {n} requests", force=True))
            brain.entity("orders", "service", observations=[f"answered {n} requests"])
            assert brain.search("which limit?")


@pytest.mark.prove
@pytest.mark.parametrize("round_number", range(rounds(3) // 3))
def test_eight_processes_that_all_create_the_file_and_write(tmp_path: Path, round_number: int) -> None:
    processes, calls = 8, 60
    run_at_once(write, processes, tmp_path, calls)
    log = EventLog(open_database(tmp_path / "brain.db"), anchor=Anchor(tmp_path / "anchors.jsonl"))
    found = verify(log)
    assert found.problems == []
    assert found.rows == processes * (1 + calls + calls // 2)
    assert found.anchored_seq > 0
    assert log.database.query("SELECT count(*) FROM intents") == [(0,)]


def test_eight_processes_that_all_create_the_file_and_remember(tmp_path: Path) -> None:
    processes, memories = 8, 15
    uids = set(run_at_once(remember, processes, tmp_path, memories))
    with Brain("agent", path=tmp_path / "brain.db", scope="project:shop") as brain:
        assert {row["uid"] for row in brain.space.records.select("r.kind = 'fact'", ())} == uids
        assert len(uids) == processes * memories
        assert len(brain.get("orders").details["observations"]) == memories
        assert {finding.status for finding in check(brain.space)} == {"ok"}
