"""Speed of the inbox: ten thousand requests that wait, grouped and ranked, against the plain SELECT of their rows."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from sb.kernel.approvals.queue import SELECT_APPROVALS
from sb.kernel.authority.authority import Authority
from sb.kernel.baselines.store import ContractBaselineStore
from sb.log.event_log import EventLog
from sb.operator.attention.inbox import InboxReader
from sb.store.database import open_database

WAITING, ROUNDS = 10_000, 7
MICROSECONDS = 1_000_000
LINES = (
    ("git branch -D topic-{}", "git branch -D: deletes or moves a branch, merged or not"),
    ("rm -rf build-{}", "rm -r: deletes a folder and its contents"),
    ("npm publish --tag t{}", "npm publish: publishes"),
    ("crontab -r", "crontab: changes scheduled commands"),
)


def fill(log: EventLog, count: int) -> None:
    """So many requests of command lines and payments, as the gate records them."""
    now = int(log.clock.now() * MICROSECONDS)
    with log.database.write() as write:
        for number in range(count):
            line, does = LINES[number % len(LINES)]
            args = {"command": line.format(number), "cwd": "/srv/shop", "why": does, "tool": "Bash"}
            tool = "host.shell.destructive"
            request: dict[str, Any] = {"args": args}
            if number % 5 == 0:
                tool = "payments.issue_refund"
                request = {"args": {"order": number}, "money": {"amount": number, "currency": "EUR"}}
            reasons = [
                {
                    "rule": "destructive",
                    "reason": f"{tool} can destroy or change for good, so a person must approve each call",
                }
            ]
            payload = json.dumps(
                {**request, "reasons": reasons, "history": ["files.read path=a"] * 5, "intent": "x" * 900}
            )
            event = log.first_id + number + 1
            write(
                "INSERT INTO events (id, at, kind, run_id, trace_id, agent, tool_id, call_id, payload_digest, prev, hash, salt,"
                " payload) VALUES (?, ?, 'approval.requested', 'run_1', '', ?, ?, ?, '', '', '', '', ?)",
                (event, now, f"agent{number % 7}", tool, f"apr_{number:016x}", payload),
            )
            write(
                "INSERT INTO approvals (id, state, agent, tool_id, fingerprint, args_digest, safety_class, run_id, call_id, waiter,"
                " needed, requested_at, due_at, expires_at, decided_by, reason, event_id)"
                " VALUES (?, 'waiting', ?, ?, '', ?, 'destructive', 'run_1', '', '', 1, ?, ?, ?, '', '', ?)",
                (
                    f"apr_{number:016x}",
                    f"agent{number % 7}",
                    tool,
                    str(number),
                    now,
                    now,
                    now + (number + 7200) * MICROSECONDS,
                    event,
                ),
            )


def cpu_ms(action: Callable[[], object]) -> float:
    """Milliseconds of this process alone: the machine is never quiet."""
    started = time.process_time()
    action()
    return (time.process_time() - started) * 1000


def report() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        log = EventLog(open_database(Path(folder) / "brain.db"))
        fill(log, WAITING)
        contracts = ContractBaselineStore(log, Authority(None, log)).entries()
        rounds = []
        for _ in range(ROUNDS):
            read = partial(InboxReader(log).waiting, contracts)
            floor = cpu_ms(lambda: log.database.query(f"{SELECT_APPROVALS} WHERE a.state = 'waiting'"))
            rounds.append((floor, cpu_ms(read), cpu_ms(read)))
        floor, first, again = (median(column) for column in zip(*rounds, strict=True))
        verdict = "ok" if first <= 5 * floor else "OVER"
        yield (
            f"{WAITING:,} requests grouped and ranked: {first:.0f} ms CPU, again {again:.0f} ms; plain SELECT of the same rows"
            f" {floor:.0f} ms  {first / floor:.1f}x and {again / floor:.1f}x  aim 100 ms  bar 5x  {verdict}"
        )
        log.database.close()


if __name__ == "__main__":
    for shown in report():
        print(shown, flush=True)
