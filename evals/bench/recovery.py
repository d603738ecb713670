"""The cost of an undo record for each call, and of limits on what a run may do that stays."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evals.bench.kernel import ARGS, InlineWorkers, context
from evals.bench.timing import compare
from sb.kernel import BlastRadius, ReversalClass, ReversalSpec, SafetyClass, ToolExecutor, ToolRegistry
from sb.log.event_log import EventLog
from sb.store.anchor import Anchor
from sb.store.database import open_database

_WAY_BACK = ReversalSpec(
    ReversalClass.COMPENSABLE,
    "bench.undo",
    reversal_window_ms=3_600_000,
    reversal_args={"id": "result.id", "path": "args.path"},
    external_handle="result.id",
    blast_radius=BlastRadius(max_calls_per_run=10**9, max_value_per_run=1e15),
)


def _tool(path: str, limit: int, deep: bool, query: str, page: int, tags: list[str]) -> dict[str, Any]:
    return {"items": [1, 2, 3], "id": "w1"}


def _registry() -> ToolRegistry:
    made = ToolRegistry()
    risk = {"risk_dimension": "money", "value_arg": "limit"}
    made.register_fn(
        "bench.write", "Write", _tool, SafetyClass.LOCAL_WRITE, reversal=_WAY_BACK, metadata=risk
    )
    return made


def report() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as place:
        folder, registry = Path(place), _registry()

        def executor(name: str, reversibility: str) -> ToolExecutor:
            log = EventLog(open_database(folder / f"{name}.db"), anchor=Anchor(folder / f"{name}.jsonl"))
            workers = InlineWorkers()
            return ToolExecutor(registry, event_log=log, workers=workers, reversibility=reversibility)

        bound, plain = executor("bound", "enforce"), executor("plain", "off")
        ctx, other = context(), context()
        yield compare(
            "durable call, way back and budget kept",
            lambda: bound.execute(ctx, "bench.write", ARGS),
            "the same without",
            lambda: plain.execute(other, "bench.write", ARGS),
            calls=300,
            bar=1.3,
            rounds=25,
        ).line()
