"""An agent's process for the fault tests: it makes governed calls until it is killed.

`python child.py FOLDER POINT`: kills itself with SIGKILL at POINT of the third call. Effects are lines of
FOLDER/effects, appended and synced by the tool itself; acknowledged outcomes are lines of FOLDER/acknowledged.
`python child.py FOLDER for-ever` prints the number of each event that it has written.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
from pathlib import Path
from typing import Any

from sb.kernel import RunBudget, RunContext, SafetyClass
from sb.kernel.baselines.seen import SeenContracts
from sb.kernel.execution.executor import ToolExecutor
from sb.kernel.execution.recorder import Recorder
from sb.kernel.registry.registry import ToolRegistry
from sb.log.event_log import EventLog
from sb.store.anchor import Anchor
from sb.store.database import open_database

POINTS = ("before-intent", "after-intent", "inside-tool", "after-effect", "after-tool", "after-outcome")
CALLS = 3


FOR_EVER = "for-ever"


def append(path: Path, line: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(fd, line.encode() + b"\n")
    os.close(fd)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main(folder: Path, point: str, run_id: str, last: int) -> None:
    step = 0

    def at(here: str) -> None:
        if point == here and step == last:
            die()

    def pay(amount: int, idempotency_key: str) -> dict[str, int]:
        at("inside-tool")
        append(folder / "effects", f"{idempotency_key} {amount}")
        at("after-effect")
        return {"paid": amount}

    class Dying(Recorder):
        """The real recorder, with a process that dies around its commits."""

        def intent(self, call: Any, deadline_s: float) -> int:
            at("before-intent")
            made = super().intent(call, deadline_s)
            at("after-intent")
            return made

        def outcome(self, call: Any, outcome: Any, intent_id: int | None) -> Any:
            at("after-tool")
            state = super().outcome(call, outcome, intent_id)
            at("after-outcome")
            return state

    registry = ToolRegistry()
    registry.register_fn("bank.pay", "Pay", pay, SafetyClass.NETWORK)
    log = EventLog(open_database(folder / "brain.db"), anchor=Anchor(folder / "anchors.jsonl"))
    executor = ToolExecutor(registry, event_log=log)
    executor._recorder = Dying(log, executor._gate, SeenContracts(log), executor.kill)
    executor.settle_orphans()
    ctx = RunContext.create("agent", budget=RunBudget(max_tool_calls=1000))
    ctx.run_id = run_id
    for step in range(CALLS):
        result = executor.execute(ctx, "bank.pay", {"amount": step}, step=f"step-{step}")
        if result.success:
            append(folder / "acknowledged", f"{result.call_id} {step}")


def write_on(folder: Path) -> None:
    log = EventLog(open_database(folder / "brain.db"))
    for number in itertools.count(1):
        log.append("kernel.tool.dispatch", {"n": number})
        print(number, flush=True)


if __name__ == "__main__" and sys.argv[2] == FOR_EVER:
    write_on(Path(sys.argv[1]))
elif __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]))
