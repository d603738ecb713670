"""Cost of capturing a governed call for a replay."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from evals.bench.timing import Comparison, compare
from sb.config import Config, Home
from sb.kernel import SafetyClass
from sb.kernel.authority.signing import Label
from sb.runtime import Runtime, open_runtime
from sb.runtime.parts import open_packets


def comparisons(folder: Path) -> Iterator[Comparison]:
    for name, safety in (
        ("a call that changes something", SafetyClass.LOCAL_WRITE),
        ("a call that reads", SafetyClass.READ_ONLY),
    ):
        config = Config(Home(folder / safety / "home"))
        open_packets(config).capture("captured", on=True)
        with open_runtime(config) as runtime:
            runtime.registry.register_fn("bench.do", "do", lambda text: {"length": len(text)}, safety)
            live = runtime.baselines.seen.fingerprints(runtime.registry)
            runtime.baselines.seen.note_all(runtime.registry)
            runtime.baselines.approve({"bench.do": live["bench.do"]}, Label("bench"), "bench")
            call, floor = (_calling(runtime, agent) for agent in ("captured", "other"))
            yield compare(f"{name}, captured", call, "the same, not captured", floor, calls=300, bar=1.2)


def _calling(runtime: Runtime, agent: str) -> Callable[[], object]:
    ctx = runtime.context(agent)
    ctx.budget.max_tool_calls = ctx.budget.max_latency_ms = 10**9

    def call() -> object:
        result = runtime.executor.execute(ctx, "bench.do", {"text": "a line of text " * 20})
        assert result.success, result.error_message
        return result

    return call


def report() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        for comparison in comparisons(Path(folder)):
            yield comparison.line()
