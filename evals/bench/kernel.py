"""The kernel's cost on top of the tool that it governs."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from evals.bench.reference import DurableReference, MemoryReference
from evals.bench.timing import Comparison, block, compare
from sb.kernel import RunBudget, RunContext, SafetyClass, ToolPolicy, ToolRegistry
from sb.kernel.authority.signing import Label
from sb.kernel.baselines.store import ContractBaselineStore
from sb.kernel.execution.executor import ToolExecutor
from sb.kernel.registry.workers import Workers
from sb.log.event_log import EventLog
from sb.store.anchor import Anchor
from sb.store.database import open_database

ARGS = {
    "path": "notes/today.md",
    "limit": 100,
    "deep": True,
    "query": "hello world",
    "page": 3,
    "tags": ["a", "b"],
}


def tool(path: str, limit: int, deep: bool, query: str, page: int, tags: list[str]) -> dict[str, Any]:
    return {"items": [1, 2, 3]}


class InlineWorkers(Workers):
    """Calls in the caller's thread, so that the price of the thread can be shown apart."""

    def call(self, fn: Callable[[], Any], timeout_s: float) -> Any:
        return fn()


def registry() -> ToolRegistry:
    made = ToolRegistry()
    made.register_fn("bench.read", "Read", tool)
    made.register_fn("bench.write", "Write", tool, SafetyClass.LOCAL_WRITE)
    return made


def context() -> RunContext:
    return RunContext.create("agent", budget=RunBudget(max_tool_calls=10**9, max_latency_ms=10**9))


def policy_lines() -> Iterator[str]:
    spec = registry().get("bench.read")
    if spec is None:
        raise RuntimeError("the tool was not registered")
    costs = {}
    for entries in (1, 1000):
        names = {f"other.tool{number}" for number in range(entries)}
        policy = ToolPolicy.normal(
            blocked_tools=names, allowed_tools={f"{name}.too" for name in names} | {"bench.read"}
        )
        ask = partial(policy.evaluate, spec, "agent", ARGS)
        costs[entries] = median(block(ask, 20_000) for _ in range(7))
    yield f"policy, 1 entry {costs[1]:.2f} us, 1 000 entries {costs[1000]:.2f} us  bar 3 us, flat"


def comparisons(folder: Path) -> Iterator[Comparison]:
    tools, ctx = registry(), context()
    memory = ToolExecutor(tools)
    by_hand = MemoryReference(tool)
    yield compare(
        "read-only call in memory, audit on",
        lambda: memory.execute(ctx, "bench.read", ARGS),
        "digest, link and redaction by hand",
        lambda: by_hand.call(ARGS),
        calls=500,
        bar=5.0,
    )
    durable_reference = DurableReference(folder / "reference.db", tool)
    log = EventLog(open_database(folder / "brain.db"), anchor=Anchor(folder / "anchors.jsonl"))
    inline = ToolExecutor(tools, event_log=log, workers=InlineWorkers())
    yield compare(
        "durable call, without the thread hop",
        lambda: inline.execute(ctx, "bench.write", ARGS),
        "two WAL commits by hand",
        lambda: durable_reference.call(ARGS),
        calls=300,
        bar=3.0,
    )
    store = ContractBaselineStore(log)
    store.seen.note_all(tools)
    store.approve({spec.tool_id: spec.contract_fingerprint() for spec in tools.list_all()}, Label("ada"))
    compared = ToolExecutor(
        tools,
        event_log=log,
        workers=InlineWorkers(),
        contract_enforcement="enforce",
        contract_baseline_store=store,
    )
    yield compare(
        "durable call, contract baseline enforced",
        lambda: compared.execute(ctx, "bench.write", ARGS),
        "the same without baselines",
        lambda: inline.execute(ctx, "bench.write", ARGS),
        calls=300,
        bar=None,
    )
    threaded = ToolExecutor(tools, event_log=log)
    yield compare(
        "durable call with its hard deadline",
        lambda: threaded.execute(ctx, "bench.write", ARGS),
        "the same without the thread hop",
        lambda: inline.execute(ctx, "bench.write", ARGS),
        calls=300,
        bar=None,
    )
    workers = Workers()
    yield compare(
        "thread hop of a hard deadline",
        lambda: workers.call(lambda: tool(**ARGS), 5.0),  # type: ignore[arg-type]
        "the tool itself",
        lambda: tool(**ARGS),  # type: ignore[arg-type]
        calls=2000,
        bar=None,
    )


def report() -> Iterator[str]:
    yield from policy_lines()
    with tempfile.TemporaryDirectory() as folder:
        for comparison in comparisons(Path(folder)):
            yield comparison.line()
