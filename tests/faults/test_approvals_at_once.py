"""Many processes use the same approvals at the same moments: each approval runs one call, and the log says which."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from sb.kernel import RunBudget, RunContext, SafetyClass, ToolExecutor, ToolRegistry
from sb.kernel.authority.signing import Label
from sb.kernel.calls.approval import ApprovalState
from sb.kernel.review.log_verification import verify
from sb.log.event_log import EventLog
from sb.log.kinds import APPROVAL_USED
from sb.store.database import open_database
from tests.faults.at_once import run_at_once
from tests.rounds import rounds

PROCESSES = 8


def executor(folder: Path) -> ToolExecutor:
    registry = ToolRegistry()

    def pay(number: int) -> int:
        fd = os.open(folder / "paid", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(fd, f"{number}\n".encode())
        os.close(fd)
        return number

    registry.register_fn("bank.pay", "Pay", pay, SafetyClass.DESTRUCTIVE)
    return ToolExecutor(registry, event_log=EventLog(open_database(folder / "brain.db")))


def context() -> RunContext:
    return RunContext.create("clerk", budget=RunBudget(max_tool_calls=10**6, max_latency_ms=10**9))


def use_all(place: str, count: str) -> None:
    """One process's work: make every call, naming its approval."""
    folder = Path(place)
    ready, ctx = executor(folder), context()
    ids = (folder / "ids").read_text().split()
    for number in range(int(count)):
        ready.execute(ctx, "bank.pay", {"number": number}, approval_id=ids[number])


@pytest.mark.prove
def test_each_approval_is_used_exactly_once(tmp_path: Path) -> None:
    count = rounds(150)
    asking = executor(tmp_path)
    ctx = context()
    ids = [asking.execute(ctx, "bank.pay", {"number": number}).data["approval_id"] for number in range(count)]
    for approval_id in ids:
        asking.approvals.approve(approval_id, Label("ada"), "the bill is right")
    (tmp_path / "ids").write_text(" ".join(ids))
    run_at_once(use_all, PROCESSES, tmp_path, count)
    paid = Counter((tmp_path / "paid").read_text().split())
    assert paid == Counter(str(number) for number in range(count))
    assert asking.approvals.count(states=[ApprovalState.USED]) == count
    used = Counter(event.subject.call_id for event in asking.event_log.events(kind=APPROVAL_USED))
    assert used == Counter(ids)
    assert verify(asking.event_log).ok
