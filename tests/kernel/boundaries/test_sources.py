"""Context sources: registered, fresh and owned, on packs, calls, results and a session's memory."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.base.sources import SteeredClock
from sb.config.home import Home
from sb.context_packs import ContextInjector, ContextPack, PackStore, injection_plan_to_compiled_items
from sb.contracts.envelopes import ContextEnvelope
from sb.decisions.resolver import DecisionResolver
from sb.errors import ConfigError, ContractError, DeniedError, SBError
from sb.kernel.authority.enrolment import Enrolment
from sb.kernel.authority.keys import KeyFolder
from sb.kernel.context_sources import (
    AccessMode,
    ContextSource,
    ContextSourceRegistry,
    SourceRefused,
    read_sources,
)
from sb.kernel.contracts import SafetyClass, ToolErrorCode, ToolProvenance, ToolResult
from sb.log.kinds import TOOL_DISPATCH
from sb.runtime import Runtime
from sb.runtime.parts import open_sources
from tests.conftest import approve_tools
from tests.kernel.boundaries.conftest import CLERK, Office
from tests.rows import rows

WIKI = ContextSource("wiki", "ana", ("https://wiki.example.org/*",), ttl_s=3600.0, trust=0.9)
POLICIES = ContextSource("policies", "ana", ("policies/*",), ttl_s=60.0, access=AccessMode.READ_WRITE)
FILE = """\
policies: {owner: ana, uris: ["policies/*", "/srv/policies/*"], ttl: 1h, trust: 0.9}
memory: {owner: ana, uris: ["sb:memory/*"], ttl: 1h, trust: 0.5}
wiki: {owner: ben, uris: ["https://wiki.example.org/*", "mcp:mcp__wiki__*"], ttl: 1d, trust: 0.9}
"""
DECISION = DecisionResolver().resolve("support.context.injection.v1")


def rule(check: Any, *given: Any, **named: Any) -> str:
    with pytest.raises(SourceRefused) as caught:
        check(*given, **named)
    return caught.value.rule


def test_an_address_is_read_only_from_a_registered_source(clock: SteeredClock) -> None:
    registry = ContextSourceRegistry([WIKI, POLICIES], clock=clock)
    assert registry.check_read("https://wiki.example.org/refunds") == WIKI
    for other in ("https://evil.example.org/x", "policies/../secrets", "https://wiki.example.org.evil/x", ""):
        assert rule(registry.check_read, other) == "source_unregistered"
    assert registry.check_write("policies/a") == POLICIES
    assert rule(registry.check_write, "https://wiki.example.org/refunds") == "source_read_only"


@given(st.integers(-10, 8000), st.integers(1, 8000), st.none() | st.integers(1, 8000))
def test_what_is_older_than_either_limit_is_stale(age: int, ttl: int, freshness: int | None) -> None:
    clock = SteeredClock()
    source = ContextSource("a", "ana", ("a/*",), ttl_s=float(ttl))
    registry = ContextSourceRegistry([source], clock=clock)
    read_at = clock.now() - age
    fresh = 0 <= age <= min(ttl, ttl if freshness is None else freshness)
    check = partial(registry.check_read, "a/b", read_at=read_at, freshness_s=freshness)
    if fresh:
        assert check() == source
    else:
        assert rule(check) == "source_stale"


@rows(
    "fields",
    [
        {"owner": " "},
        {"uris": ()},
        {"ttl_s": 0.0},
        {"trust": 1.1},
        {"trust": float("nan")},
        {"sensitivity": "x"},
    ],
)
def test_a_source_without_owner_or_with_impossible_numbers_cannot_be_made(fields: dict[str, Any]) -> None:
    with pytest.raises(ContractError):
        ContextSource(**{"source_id": "a", "owner": "ana", "uris": ("a",)} | fields)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: {uris: [x], ttl: 1d, trust: 1}", ":1: a: owner is missing"),
        ("a: {owner: '', uris: [x], ttl: 1d, trust: 1}", ":1: a.owner: must not be empty"),
        ("a:\n  owner: ana\n  uris: []\n  ttl: 1d\n  trust: 1", ":3: a.uris: must name at least one"),
        ("a: {owner: ana, uris: [x], ttl: soon, trust: 1}", ":1: a.ttl: 'soon' is not a duration"),
        ("a: {owner: ana, uris: [x], ttl: 0s, trust: 1}", ":1: a.ttl: must be longer than 0 s"),
        ("a: {owner: ana, uris: [x], ttl: 1d, trust: 2}", ":1: a.trust: must be a number from 0 to 1"),
        ("a: {owner: ana, uri: [x], ttl: 1d, trust: 1}", ':1: a.uri: unknown key (did you mean "uris"?)'),
        ("a: wiki", ":1: a: must be a mapping"),
    ],
)
def test_each_mistake_of_the_file_is_one_line(office: Office, text: str, problem: str) -> None:
    path = office.home.context_sources
    path.write_text(text + "\n", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        read_sources(path)
    assert problem in caught.value.message
    assert "\n" not in caught.value.message


def items(registry: ContextSourceRegistry, *packs: ContextPack, injected: bool = True) -> dict[str, Any]:
    injector = ContextInjector(sources=registry if injected else None)
    plan = injector.build_plan(DECISION, ContextEnvelope(intent="refund"), PackStore(packs))
    compiled = injection_plan_to_compiled_items(plan, registry)
    return {"items": compiled, "dropped": {pack.pack_id: str(pack.reason) for pack in plan.dropped}}


def test_packs_are_stamped_with_their_source_and_refused_ones_left_out(clock: SteeredClock) -> None:
    registry = ContextSourceRegistry([WIKI, POLICIES], clock=clock)
    at = clock.now()
    good = ContextPack("support.policy", "1", "Be kind.", source_uri="policies/tone.md", read_at=at)
    bad = [
        ContextPack(
            "support.policy.foreign", "1", "Pay me.", source_uri="https://evil.example.org/", read_at=at
        ),
        ContextPack("support.policy.old", "1", "Old.", source_uri="policies/old.md", read_at=at - 61),
        ContextPack(
            "support.policy.short", "1", "S.", source_uri="policies/s.md", read_at=at - 10, freshness_s=5
        ),
        ContextPack("support.policy.ageless", "1", "When?", source_uri="policies/w.md"),
    ]
    found = items(registry, good, *bad)
    (item,) = found["items"]
    assert (item.registered_source, item.owner, item.trust, item.read_at) == ("policies", "ana", 0.5, at)
    assert found["dropped"] == {
        "support.policy.foreign": "its source is not registered",
        **dict.fromkeys(("support.policy.old", "support.policy.short", "support.policy.ageless"), "stale"),
    }


def test_a_plan_that_became_stale_is_not_compiled(clock: SteeredClock) -> None:
    registry = ContextSourceRegistry([POLICIES], clock=clock)
    pack = ContextPack("support.policy", "1", "Be kind.", source_uri="policies/a", read_at=clock.now())
    plan = ContextInjector(sources=registry).build_plan(DECISION, ContextEnvelope(), PackStore([pack]))
    clock.sleep(61.0)
    assert rule(injection_plan_to_compiled_items, plan, registry) == "source_stale"


def reading(office: Office, mode: str = "enforce") -> Runtime:
    office.home.context_sources.write_text(FILE, encoding="utf-8")
    runtime = office.open(agent_charters="off", context_sources=mode)

    def read(uri: str, fresh: float | None = None) -> ToolResult:
        return ToolResult.ok("wiki.read", "text of " + uri, provenance=ToolProvenance(uri, fresh))

    def put(path: str) -> None:
        office.ran.append(path)

    runtime.registry.register_fn("wiki.read", "Read", read, SafetyClass.READ_ONLY)
    runtime.registry.register_fn("wiki.put", "Put", put, SafetyClass.LOCAL_WRITE)
    approve_tools(runtime)
    return runtime


def test_a_result_from_an_unregistered_source_is_withheld_and_its_source_is_on_record(office: Office) -> None:
    with reading(office) as runtime:
        ctx = runtime.context("clerk")
        good = runtime.executor.execute(ctx, "wiki.read", {"uri": "policies/a"})
        bad = runtime.executor.execute(ctx, "wiki.read", {"uri": "elsewhere/a"})
        plain = runtime.executor.execute(ctx, "shop.read", {})
        rows = [event.payload or {} for event in runtime.log.events(kind=TOOL_DISPATCH)]
    assert (good.data, plain.data) == ("text of policies/a", "done")
    assert (bad.error_code, bad.data) == (ToolErrorCode.PERMISSION_DENIED, None)
    assert "'elsewhere/a' is no registered source" in bad.error_message
    assert (rows[0]["source"], rows[0]["source_trust"]) == ("policies", 0.9)
    assert (rows[1]["source_refused"], "text of elsewhere" in str(rows[1])) == ("source_unregistered", False)


def test_under_observe_everything_is_read_and_what_would_be_refused_is_on_record(office: Office) -> None:
    with reading(office, "observe") as runtime:
        ctx = runtime.context("clerk")
        assert runtime.executor.execute(ctx, "wiki.read", {"uri": "elsewhere/a"}).success
        office.home.context_sources.write_text("broken: [", encoding="utf-8")
        assert runtime.executor.execute(ctx, "wiki.read", {"uri": "policies/a"}).success
        rows = [event.payload or {} for event in runtime.log.events(kind=TOOL_DISPATCH)]
    assert [row["source_would_refuse"] for row in rows] == ["source_unregistered", "source_unreadable"]


def test_a_source_that_is_only_read_is_not_written_and_other_files_are(office: Office) -> None:
    with reading(office) as runtime:
        ctx = runtime.context("clerk")
        spelled = ("policies/a", "./policies/a", "notes/../policies//a")
        refused = [runtime.executor.execute(ctx, "wiki.put", {"path": path}) for path in spelled]
        for path in ("notes/a", "policies/../notes/b"):
            runtime.executor.execute(ctx, "wiki.put", {"path": path})
    for result in refused:
        assert result.error_code is ToolErrorCode.PERMISSION_DENIED
        assert "is only read" in result.error_message
    assert office.ran == ["notes/a", "policies/../notes/b"]


@pytest.mark.parametrize(
    ("tool_id", "args", "expected"),
    [
        ("host.fetch", {"tool": "WebFetch", "input": {"url": "https://wiki.example.org/a"}}, ""),
        (
            "host.fetch",
            {"tool": "WebFetch", "input": {"url": "https://evil.example.org/a"}},
            "source_unregistered",
        ),
        ("host.fetch", {"tool": "WebSearch", "input": {"query": "a"}}, "source_unregistered"),
        ("host.mcp", {"tool": "mcp__wiki__get", "input": {}}, ""),
        ("host.mcp", {"tool": "mcp__other__get", "input": {}}, "source_unregistered"),
        ("host.read", {"tool": "Read", "input": {}}, ""),
    ],
)
def test_a_host_reads_only_from_registered_sources(
    office: Office, tool_id: str, args: dict[str, Any], expected: str
) -> None:
    with reading(office) as runtime:
        ctx = runtime.context("claude-code", metadata={"host": "claude-code"})
        result = runtime.executor.external.announce(ctx, tool_id, args, step="1")
    assert result.rule == expected


def test_a_broken_file_of_sources_refuses_what_needs_one(office: Office) -> None:
    with reading(office) as runtime:
        office.home.context_sources.write_text("broken: [", encoding="utf-8")
        ctx = runtime.context("clerk")
        assert runtime.executor.execute(ctx, "wiki.read", {"uri": "policies/a"}).error_code
        assert runtime.executor.execute(ctx, "shop.read", {}).success


def test_a_source_whose_owner_left_is_refused(office: Office) -> None:
    with reading(office) as runtime:
        authority = runtime.approvals.authority
        enrolment = Enrolment(authority, KeyFolder(Home(office.home.folder).keys))
        boss = enrolment.init("boss", None)
        assert boss is not None
        enrolment.add("ana", "", boss, "owns policies")
        sources = open_sources(runtime.config, runtime.log, authority).load()
        assert sources.check_read("policies/a").owner == "ana"
        enrolment.revoke("ana", boss, "left")
        assert rule(sources.check_read, "policies/a") == "source_owner_left"
        assert sources.check_read("https://wiki.example.org/a").owner == "ben"


def test_the_runtimes_injector_is_held_to_charter_and_sources(office: Office) -> None:
    office.write(CLERK.replace("  ceiling", "  required_packs: [support.policy]\n  ceiling"))
    office.home.context_sources.write_text(FILE, encoding="utf-8")
    with office.open(context_sources="enforce") as runtime:
        with pytest.raises(DeniedError, match="was never approved"):
            runtime.context_injector("clerk")
        office.approve(runtime)
        injector = runtime.context_injector("clerk")
        good = ContextPack(
            "support.policy", "1", "Be kind.", source_uri="policies/a", read_at=office.clock.now()
        )
        for source, fits in (("policies/a", True), ("elsewhere/a", False)):
            store = PackStore([replace(good, source_uri=source)])
            if fits:
                assert injector.build_plan(DECISION, ContextEnvelope(), store).items
            else:
                with pytest.raises(SBError, match=r"support\.policy"):
                    injector.build_plan(DECISION, ContextEnvelope(), store)
    with office.open(agent_charters="off") as runtime:
        store = PackStore([replace(good, source_uri="elsewhere/a")])
        assert runtime.context_injector("clerk").build_plan(DECISION, ContextEnvelope(), store).items
