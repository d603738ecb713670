"""Benchmark of boundaries: calls, runs and searches with them beside the same without."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from evals.bench.kernel import ARGS, InlineWorkers, context, registry
from evals.bench.timing import Comparison, compare
from sb.config.credentials import CredentialSource
from sb.config.home import Home
from sb.config.model import assemble
from sb.config.scopes import scopes_of
from sb.kernel.agent_charter.charters import Charters
from sb.kernel.authority.signing import Label
from sb.kernel.baselines.store import ContractBaselineStore
from sb.kernel.boundaries.boundaries import Boundaries
from sb.kernel.context_sources.reading import SourceGuard
from sb.kernel.context_sources.source_files import SourceFile
from sb.kernel.contracts import CHARTER_SURFACE, RELEASE_SURFACE, ToolProvenance, ToolResult
from sb.kernel.execution.executor import ToolExecutor
from sb.kernel.release_tuple.releases import Releases
from sb.log.event_log import EventLog
from sb.runtime import Runtime, open_runtime
from sb.runtime.parts import shipped_registry
from sb.store.anchor import Anchor
from sb.store.database import open_database

_CHARTER = """\
agent: {agent}
purpose: Measures.
owner: bench
review_by: 2099-01-01
intents: {{allow: ["bench.*"], deny: [bench.never], default: bench.call}}
capabilities: {{tools: ["bench.*"], ceiling: destructive}}
"""
_PROSE = "The committee met in the old library and agreed on the colour of the chairs. " * 13


def comparisons(folder: Path) -> Iterator[Comparison]:
    """Each boundary that is on, beside the same without it."""
    log = EventLog(open_database(folder / "charters.db"), anchor=Anchor(folder / "charters.jsonl"))
    ctx, tools = context(), registry()
    place = folder / "charters"
    place.mkdir()
    (place / f"{ctx.agent_name}.yaml").write_text(_CHARTER.format(agent=ctx.agent_name), encoding="utf-8")
    charters = Charters(place, log, ContractBaselineStore(log, surface=CHARTER_SURFACE))
    charters.approve(ctx.agent_name, "", Label("bench"))
    yield _gated_result(folder)
    yield _credentialed_call(folder)
    yield _read_for_a_purpose(folder)
    yield _released_run(folder, log)
    yield _sourced_call(folder, log)
    plain = ToolExecutor(tools, event_log=log, workers=InlineWorkers())
    bound = ToolExecutor(
        tools, event_log=log, workers=InlineWorkers(), boundaries=Boundaries(charters=charters)
    )
    for what, tool_id, bar in (("durable", "bench.write", 1.3), ("read-only", "bench.read", 1.8)):

        def call(executor: ToolExecutor, tool_id: str = tool_id) -> object:
            return executor.execute(ctx, tool_id, ARGS)

        yield compare(
            f"{what} call, charter enforced",
            lambda: call(bound),
            "the same without charters",
            lambda: call(plain),
            calls=300,
            bar=bar,
        )


def _released_run(folder: Path, log: EventLog) -> Comparison:
    """A run begun and finished under a pinned release that is enforced, with a prompt of 8 KB."""
    prompt = folder / "prompt.md"
    prompt.write_text("be kind " * 1000, encoding="utf-8")
    config = assemble(Home(folder), {"release.prompt": (prompt,), "release.check": "enforce"}, {}, ())
    tools = shipped_registry(config)
    releases = Releases(config, log, ContractBaselineStore(log, surface=RELEASE_SURFACE), tools)
    released = ToolExecutor(tools, event_log=log, boundaries=Boundaries(releases=releases, pinned=True))
    plain = ToolExecutor(tools, event_log=log)

    def run(executor: ToolExecutor) -> None:
        with executor.run(context()):
            pass

    run(released)
    releases.pin("agent", releases.entry("agent").id, Label("bench"))
    return compare(
        "run begun and finished, its release enforced",
        lambda: run(released),
        "the same without releases",
        lambda: run(plain),
        calls=100,
        bar=8.0,
    )


def _sourced_call(folder: Path, log: EventLog) -> Comparison:
    """A call whose result is held to a registered source."""
    path = folder / "sources.yaml"
    path.write_text("wiki: {owner: bench, uris: [wiki/*], ttl: 1d, trust: 0.5}\n", encoding="utf-8")
    tools, ctx = registry(), context()
    tools.register_fn("bench.wiki", "Wiki", _from_wiki)
    guard = SourceGuard(SourceFile(path).load, enforce=True)
    sourced = ToolExecutor(tools, event_log=log, boundaries=Boundaries(sources=guard))
    plain = ToolExecutor(tools, event_log=log)
    return compare(
        "read-only call, the source of its result enforced",
        lambda: sourced.execute(ctx, "bench.wiki"),
        "the same without sources",
        lambda: plain.execute(ctx, "bench.wiki"),
        calls=200,
        bar=2.0,
    )


def _of_tools(
    runtime: Runtime, name: str, tool_id: str, floor: str, floor_id: str, *, bar: float
) -> Comparison:
    """A tool's call in proportion to that of another one."""
    return compare(name, _executed(runtime, tool_id), floor, _executed(runtime, floor_id), calls=200, bar=bar)


def _gated_result(folder: Path) -> Comparison:
    """A call whose result, a kilobyte of prose, passes the output gate."""
    with _runtime(folder / "gated", {"output_gate.results": ("bench.text",)}) as runtime:
        runtime.registry.register_fn("bench.text", "Text", lambda: _PROSE)
        runtime.registry.register_fn("bench.free", "Free", lambda: _PROSE)
        name = "read-only call, a kilobyte of its result through the output gate"
        return _of_tools(runtime, name, "bench.text", "the same call without the gate", "bench.free", bar=2.5)


def _credentialed_call(folder: Path) -> Comparison:
    """A call of a tool that gets a secret of the environment."""
    sources = {"bench": CredentialSource("env", "SB_BENCH_TOKEN")}
    os.environ["SB_BENCH_TOKEN"] = "correct horse battery"
    with _runtime(folder / "credentials", {"credentials": sources}) as runtime:
        given = {"credentials": {"token": "bench"}}
        runtime.registry.register_fn("bench.pay", "Pay", _length, metadata=given)
        runtime.registry.register_fn("bench.plain", "Plain", lambda: 21)
        name = "read-only call with a credential of the environment"
        return _of_tools(runtime, name, "bench.pay", "the same without", "bench.plain", bar=3.0)


def _read_for_a_purpose(folder: Path) -> Comparison:
    """A search of 1 000 memories in a scope with a reading rule."""
    bench = ("bench",)
    rule = {"read": bench, "write": bench, "purpose": "support", "consent": True, "max_age": 86_400}
    with _runtime(folder / "reading", {"memory.scopes": scopes_of({"customer:a": rule})}) as runtime:
        ruled, free = (runtime.brain("bench", scope=f"customer:{name}") for name in "ab")
        for number in range(1000):
            for brain in (ruled, free):
                brain.remember(f"Lamp {number} of the hall is lit at {number} o'clock.", force=True)
        return compare(
            "search of 1 000 memories under a reading rule",
            lambda: ruled.search("lamp of the hall"),
            "the same in a scope without a rule",
            lambda: free.search("lamp of the hall"),
            calls=30,
            bar=1.5,
        )


def _runtime(folder: Path, settings: dict[str, object]) -> Runtime:
    return open_runtime(assemble(Home(folder), {"contract_enforcement": "observe", **settings}, {}, ()))


def _executed(runtime: Runtime, tool_id: str) -> Callable[[], ToolResult]:
    """A function that calls a tool; it has succeeded once."""
    ctx = context()
    result = runtime.executor.execute(ctx, tool_id)
    if not result.success:
        raise RuntimeError(result.error_message)
    return lambda: runtime.executor.execute(ctx, tool_id)


def _length(token: str) -> int:
    return len(token)


def _from_wiki() -> ToolResult:
    return ToolResult.ok("bench.wiki", "text", provenance=ToolProvenance("wiki/a"))


def report() -> Iterator[str]:
    """The comparisons, a line each."""
    with tempfile.TemporaryDirectory() as folder:
        for comparison in comparisons(Path(folder)):
            yield comparison.line()
