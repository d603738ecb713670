"""Probes of charters, releases and context sources."""

from __future__ import annotations

from collections.abc import Iterator

from sb.context_packs import ContextInjector, ContextPack, PackStore, injection_plan_to_compiled_items
from sb.contracts.envelopes import ContextEnvelope
from sb.decisions.resolver import DecisionResolver
from sb.errors import ContractError
from sb.harness.harness import AUDITOR, Harness, saw
from sb.kernel.agent_charter.charter import AgentCharter
from sb.kernel.context_sources.sources import ContextSource, ContextSourceRegistry
from sb.kernel.contracts import SafetyClass, ToolErrorCode, ToolProvenance, ToolResult
from sb.kernel.harness_audit import Check
from sb.kernel.release_tuple.release import PARTS, ReleasePart, ReleaseTuple, diff
from sb.log.kinds import RUN_STARTED
from sb.runtime import Runtime
from sb.runtime.parts import open_charters, open_releases, open_sources

DENIED = ToolErrorCode.PERMISSION_DENIED
_CHARTER = """\
agent: agent
purpose: Answers the audit.
owner: auditor
review_by: 2099-01-01
intents: {allow: ["probe.*"], deny: [probe.never]}
capabilities: {tools: [probe.read, probe.send], ceiling: local_write}
"""


def agent_charter(h: Harness) -> Iterator[Check]:
    """HA-06."""
    folder = h.folder / "home" / "charters"
    folder.mkdir(parents=True)
    folder.parent.chmod(0o700)
    (folder / "agent.yaml").write_text(_CHARTER, encoding="utf-8")
    with h.open({"agent_charters": "enforce"}) as runtime:
        read, other = h.tool(runtime, "probe.read"), h.tool(runtime, "probe.other")
        send = h.tool(runtime, "probe.send", safety_class=SafetyClass.NETWORK)
        unapproved = runtime.executor.execute(h.context(intent="probe.look"), "probe.read")
        _approve(runtime)
        h.clock.sleep(2.0)  # what is approved is read again after a second

        def call(intent: str, tool: str = "probe.read") -> tuple[bool, str]:
            counted = {"probe.read": read, "probe.other": other, "probe.send": send}[tool]
            before = counted.called
            result = runtime.executor.execute(h.context(intent=intent), tool)
            refused = result.error_code == DENIED and counted.called == before
            return refused, saw(result, counted)

        refused, seen = call("probe.look")
        ok = not refused and read.called == 1 and unapproved.error_code == DENIED
        yield Check("intent", ok, f"unapproved {saw(unapproved)}; approved {seen}")
        refused, seen = call("probe.never")
        both = AgentCharter("agent", "p", "o", ("probe.never",), ("probe.never",)).permits("probe.never")
        yield Check("both", refused and not both, f"{seen}; AgentCharter.permits: {both}")
        found = [call(intent) for intent in ("elsewhere", "")]
        yield Check("unknown", all(item for item, _ in found), "; ".join(seen for _, seen in found))
        found = [call("probe.look", tool) for tool in ("probe.other", "probe.send")]
        yield Check("capabilities", all(item for item, _ in found), "; ".join(seen for _, seen in found))
    yield Check("unowned", _unowned(), "AgentCharter without owner, and without purpose: ContractError")


def _approve(runtime: Runtime) -> None:
    charters = open_charters(runtime.config, runtime.log, runtime.approvals.authority)
    charters.approve("agent", "", AUDITOR, "the probe's own charter")


def _unowned() -> bool:
    refused = 0
    for purpose, owner in (("", "o"), ("p", "")):
        try:
            AgentCharter("agent", purpose, owner)
        except ContractError:
            refused += 1
    return refused == 2


def release_tuple(h: Harness) -> Iterator[Check]:
    """HA-39."""
    parts = {name: ReleasePart.of(name, name) for name in PARTS}
    first, second = ReleaseTuple(**parts), ReleaseTuple(**parts)
    other = ReleasePart.of("other", "other")
    found = {name: diff(first, ReleaseTuple(**parts | {name: other})) for name in PARTS}
    ids = {ReleaseTuple(**parts | {name: other}).id for name in PARTS} | {first.id}
    named = all([change.part for change in changes] == [name] for name, changes in found.items())
    yield Check(
        "changed", named and len(ids) == len(PARTS) + 1, f"diff: {len(ids)} ids, each part named: {named}"
    )
    refused = 0
    for name in PARTS:
        try:
            ReleaseTuple.from_document(
                {item: part for item, part in first.document().items() if item != name}
            )
        except ContractError:
            refused += 1
    yield Check(
        "missing", refused == len(PARTS), f"ReleaseTuple.from_document: {refused} of {len(PARTS)} refused"
    )
    with h.open({"release.check": "observe"}) as runtime:
        recorded = [_recorded(runtime, h, "a-model") for _ in range(2)]
        another = _recorded(runtime, h, "b-model")
    same = first.id == second.id and recorded[0] == recorded[1] != another
    yield Check("same", same, f"ReleaseTuple.id: equal: {first.id == second.id}; of two runs: {same}")
    carried = bool(recorded[0]) and recorded[0].startswith("sha256:")
    yield Check("carried", carried, f"EventLog.events: {RUN_STARTED} names its release: {carried}")


def _recorded(runtime: Runtime, h: Harness, model: str) -> str:
    """The id of the release that a run of this model has on record."""
    ctx = h.context(metadata={"model": model})
    with runtime.executor.run(ctx):
        pass
    event = next(runtime.log.events(run_id=ctx.run_id, kind=RUN_STARTED))
    return str((event.payload or {}).get("release", ""))


def model_in_release(h: Harness) -> Check:
    """Check for HA-32: two runs of two models have two releases that differ in the model alone."""
    with h.open({"release.check": "observe"}) as runtime:
        ids = [_recorded(runtime, h, model) for model in ("a-model", "b-model")]
        releases = open_releases(runtime.config, runtime.log, runtime.approvals.authority)
        tuples = [releases.entry("agent", item).release for item in ids if item]
    parts = [change.part for change in diff(tuples[0], tuples[1])] if len(tuples) == 2 else []
    return Check(
        "tuple", parts == ["model"], f"diff: of two models' runs {', '.join(parts) or 'nothing'} differs"
    )


def secret_names(h: Harness) -> Iterator[Check]:
    """Of HA-10: what release and checkpoint hold of a secret."""
    secret = "sk-" + "proj-Zx8qW3" * 4
    settings = {
        "release.check": "observe",
        "release.model": secret,
        "memory.ollama_url": f"http://u:{secret}@host",
    }
    with h.open(settings) as runtime:
        with runtime.executor.run(h.context()):
            pass
        releases = open_releases(runtime.config, runtime.log, runtime.approvals.authority)
        found = [str(entry.release.document()) for entry in releases.entries()]
        with runtime.entity("ada") as entity:
            name = entity.checkpoint(f"before {secret}")
        path = runtime.config.home.folder / "checkpoints" / f"{name}.json"
        found.append(path.read_text(encoding="utf-8"))
    ok = len(found) == 2 and not any(secret in text for text in found)
    yield Check("names", ok, f"release and checkpoint: {len(found)} looked at, without the value: {ok}")


def context_sources(h: Harness) -> Iterator[Check]:
    """HA-01."""
    path = h.folder / "home" / "sources.yaml"
    path.parent.mkdir(mode=0o700)
    path.write_text(_SOURCES, encoding="utf-8")
    with h.open({"context_sources": "enforce"}) as runtime:
        h.tool(runtime, "probe.read", _read)
        write = h.tool(runtime, "probe.write", _write, SafetyClass.LOCAL_WRITE)

        def read(uri: str) -> ToolResult:
            return runtime.executor.execute(h.context(), "probe.read", {"uri": uri})

        def put(folder: str) -> ToolResult:
            return runtime.executor.execute(h.context(), "probe.write", {"path": f"{folder}/a"})

        sources = open_sources(runtime.config, runtime.log, runtime.approvals.authority).load()
        allowed = read("wiki/a")
        source = next(iter(sources))
        seen = (
            f"{source.source_id}: {source.owner}, {source.sensitivity}, {source.access}, {source.ttl_s:g} s"
        )
        ok = allowed.data == "text" and bool(source.owner) and source.ttl_s > 0
        yield Check("registered", ok, f"{saw(allowed)}; ContextSourceRegistry: {seen}")
        refused, written, free = read("elsewhere/a"), put("wiki"), put("notes")
        ok = refused.data is None and refused.error_code == written.error_code == DENIED
        ok = ok and free.success and write.called == 1
        yield Check("unregistered", ok, f"{saw(refused)}; to one that is only read {saw(written, write)}")
        pack = ContextPack("support.policy", "1", "Be kind.", source_uri="wiki/a", read_at=h.clock.now())
        compiled = [_compiled(pack, sources, wait, h) for wait in (0.0, 61.0)]
        yield Check(
            "stale",
            compiled == [1, 0],
            f"build_plan: {compiled[0]} pack while fresh, {compiled[1]} after its TTL",
        )
    yield Check("unowned", _unowned_source(), "ContextSource without owner: ContractError")


_SOURCES = "wiki: {owner: auditor, uris: [wiki/*], ttl: 60s, trust: 0.9, sensitivity: internal}\n"


def _read(uri: str) -> ToolResult:
    return ToolResult.ok("probe.read", "text", provenance=ToolProvenance(uri))


def _write(path: str) -> str:
    return path


def _compiled(pack: ContextPack, sources: ContextSourceRegistry, wait_s: float, h: Harness) -> int:
    """The number of items compiled of a pack that is this many seconds older."""
    h.clock.sleep(wait_s)
    spec = DecisionResolver().resolve("support.context.injection.v1")
    plan = ContextInjector(sources=sources).build_plan(spec, ContextEnvelope(), PackStore([pack]))
    return len(injection_plan_to_compiled_items(plan, sources))


def _unowned_source() -> bool:
    try:
        ContextSource("wiki", " ", ("wiki/*",))
    except ContractError:
        return True
    return False
