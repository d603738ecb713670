"""A process may be killed at any point of a call: no effect happens twice, no acknowledged row is lost."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from sb.kernel.calls.intents import Intents
from sb.kernel.review.log_verification import verify
from sb.log.event_log import EventLog
from sb.store.anchor import Anchor
from sb.store.database import open_database
from tests.faults.child import CALLS, FOR_EVER, POINTS
from tests.forked import Forks
from tests.rounds import rounds

CHILD = Path(__file__).with_name("child.py")
ROUNDS = rounds(15)


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    with Forks("tests.faults.child") as forks:
        yield forks


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []


@pytest.mark.prove
@pytest.mark.parametrize("point", POINTS)
def test_killed_at_any_point_nothing_happens_twice_and_nothing_acknowledged_is_lost(
    tmp_path: Path, point: str, forks: Forks
) -> None:
    def run_child(point: str) -> int:
        return forks.run(str(CHILD), str(tmp_path), point, run_id, str(last)).returncode

    expected_effects = 0
    for number in range(ROUNDS):
        run_id, last = f"run_{number:016x}", number % CALLS
        assert run_child(point) == -signal.SIGKILL
        # The agent comes back and asks for every step of the same run again, after one that dies nowhere.
        assert run_child("nowhere") == 0
        happened = point not in ("after-intent", "inside-tool")
        expected_effects += CALLS if happened else CALLS - 1
    effects = lines(tmp_path / "effects")
    assert len(effects) == len(set(effects)) == expected_effects
    log = EventLog(open_database(tmp_path / "brain.db"), anchor=Anchor(tmp_path / "anchors.jsonl"))
    assert verify(log).problems == []
    done = {event.subject.call_id for event in log.events() if (event.payload or {}).get("state") == "done"}
    assert {line.split()[0] for line in lines(tmp_path / "acknowledged")} <= done
    doubtful = Intents(log).in_doubt()
    interrupted = point in ("after-intent", "inside-tool", "after-effect", "after-tool")
    assert len(doubtful) == (ROUNDS if interrupted else 0)
    assert {intent.step for intent in doubtful} <= {f"step-{step}" for step in range(CALLS)}


def test_a_process_killed_while_it_writes_leaves_a_log_that_verifies(tmp_path: Path, forks: Forks) -> None:
    for _ in range(5):
        child = forks.start(str(CHILD), str(tmp_path), FOR_EVER, env=os.environ)
        for _ in range(50):
            acknowledged = int(child.stdout.readline())
        child.kill()
        acknowledged = max([acknowledged, *map(int, child.stdout.read().split())])
        child.wait()
        child.stdout.close()
        child.stdin.close()
        log = EventLog(open_database(tmp_path / "brain.db"))
        assert verify(log).problems == []
        last = max(
            json.loads(json.dumps(event.payload))["n"] for event in log.events(newest_first=True, limit=1)
        )
        assert last >= acknowledged
        log.close()
