"""Cost of holding a call to the level of its agent: the look at admission, and that in the transaction of its intent."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from evals.bench.timing import Comparison, compare
from sb.kernel import RunContext, SafetyClass, ToolRegistry
from sb.kernel.authority.authority import Authority
from sb.kernel.autonomy.judging import Autonomy
from sb.kernel.autonomy.levels import Levels
from sb.kernel.calls.call import ToolCall
from sb.log.event_log import EventLog
from sb.store import driver
from sb.store.anchor import Anchor
from sb.store.database import open_database


def comparisons(folder: Path) -> Iterator[Comparison]:
    log = EventLog(open_database(folder / "brain.db"), anchor=Anchor(folder / "anchors.jsonl"))
    levels = Levels(log, Authority(None, log))
    for number in range(100):
        with log.write() as write:
            levels.fall(write, f"agent_{number}", "", "bench.write", "", "bench", safety=False)
    observed = Autonomy(levels, enforced=False)
    bare = driver.connect(folder / "brain.db")

    def select() -> object:
        return bare.execute("SELECT value FROM meta WHERE key = ?", ("database_id",)).fetchall()

    for tool_id, of in (("bench.read", SafetyClass.READ_ONLY), ("bench.write", SafetyClass.LOCAL_WRITE)):
        call = _call(tool_id, of)
        with log.write() as write:
            levels.current(write.execute)

            def look(call: ToolCall = call, execute: object = write.execute) -> None:
                call.boundary = {}
                observed.judge(call)
                observed.hold(call, execute)  # type: ignore[arg-type]

            name = f"autonomy of a call that {'only reads' if of is SafetyClass.READ_ONLY else 'writes'}"
            yield compare(name, look, "a bare one-row SELECT", select, calls=3000, bar=2.0)


def _call(tool_id: str, of: SafetyClass) -> ToolCall:
    registry = ToolRegistry()
    registry.register_fn(tool_id, tool_id, lambda: None, of)
    tool = registry.tool(tool_id)
    assert tool is not None
    call = ToolCall(RunContext.create("clerk", "refund.issue"), tool_id, "call_1", "")
    call.attach(tool)
    call.contract = {"tool_contract_fingerprint": tool.current_fingerprint()}
    return call


def report() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        for comparison in comparisons(Path(folder)):
            yield comparison.line()
