"""Benchmark of charters and releases: calls and runs with them beside the same without."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from evals.bench.kernel import ARGS, InlineWorkers, context, registry
from evals.bench.timing import Comparison, compare
from sb.config.home import Home
from sb.config.model import assemble
from sb.kernel.authority.signing import Label
from sb.kernel.baselines.store import ContractBaselineStore
from sb.kernel.boundaries.boundaries import Boundaries
from sb.kernel.boundaries.charters import Charters
from sb.kernel.boundaries.reading import SourceGuard
from sb.kernel.boundaries.releases import Releases
from sb.kernel.boundaries.source_files import SourceFile
from sb.kernel.contracts import CHARTER_SURFACE, RELEASE_SURFACE, ToolProvenance, ToolResult
from sb.kernel.execution.executor import ToolExecutor
from sb.log.event_log import EventLog
from sb.parts import shipped_registry
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


def comparisons(folder: Path) -> Iterator[Comparison]:
    """An enforced charter on a durable call, and on a call that only reads."""
    log = EventLog(open_database(folder / "charters.db"), anchor=Anchor(folder / "charters.jsonl"))
    ctx, tools = context(), registry()
    place = folder / "charters"
    place.mkdir()
    (place / f"{ctx.agent_name}.yaml").write_text(_CHARTER.format(agent=ctx.agent_name), encoding="utf-8")
    charters = Charters(place, log, ContractBaselineStore(log, surface=CHARTER_SURFACE))
    charters.approve(ctx.agent_name, "", Label("bench"))
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


def _from_wiki() -> ToolResult:
    return ToolResult.ok("bench.wiki", "text", provenance=ToolProvenance("wiki/a"))


def report() -> Iterator[str]:
    """The comparisons, a line each."""
    with tempfile.TemporaryDirectory() as folder:
        for comparison in comparisons(Path(folder)):
            yield comparison.line()
