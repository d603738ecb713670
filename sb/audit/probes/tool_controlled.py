"""Do the controls of "tool-controlled" hold?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any

from sb.audit.harness import Counted, Harness, saw
from sb.config.rules import PolicyRule
from sb.errors import ContractError
from sb.kernel.contracts import (
    AgentCapabilities,
    ReversalClass,
    ReversalSpec,
    SafetyClass,
    ToolArgSchema,
    ToolErrorCode,
    ToolSpec,
)
from sb.kernel.harness_audit import Check
from sb.kernel.run_context import RunBudget, SafetyMode
from sb.runtime import Runtime

DENIED = ToolErrorCode.PERMISSION_DENIED


def tool_manifest(h: Harness) -> Iterator[Check]:
    """HA-11."""
    with h.open() as runtime:
        execute, registry = runtime.executor.execute, runtime.registry
        tool = h.tool(runtime, "probe.read")
        result = execute(h.context(), "probe.read")
        listed = "probe.read" in registry.list_ids()
        held = listed and result.success and tool.called == 1
        yield Check("registered", held, f"ToolRegistry.list_ids: {listed}; {saw(result, tool)}")

        result = execute(h.context(), "probe.reed")
        yield Check("unregistered", result.error_code == ToolErrorCode.NOT_FOUND, saw(result))

        bad: list[dict[str, Any]] = [{"tool_id": "No Id!"}, {"max_retries": 6}, {"timeout_ms": 99}]
        accepted = [fault for fault in bad if _registers(runtime, fault)]
        yield Check("malformed", not accepted, f"ToolRegistry.register_fn: accepted {accepted or 'none'}")

        private = h.tool(runtime, "probe.private", allowlisted_agents=["clerk"])
        result = execute(h.context("stranger"), "probe.private")
        yield Check("outsider", result.error_code == DENIED and not private.called, saw(result, private))

        yield _filters(h, runtime)


def _registers(runtime: Runtime, fault: dict[str, Any]) -> bool:
    contract: dict[str, Any] = {"tool_id": "probe.bad", "name": "Bad", "fn": lambda: "done"} | fault
    try:
        runtime.registry.register_fn(**contract)
    except ContractError:
        return False
    return True


def _filters(h: Harness, runtime: Runtime) -> Check:
    registry = runtime.registry
    classes = (SafetyClass.READ_ONLY, SafetyClass.LOCAL_WRITE, SafetyClass.NETWORK)
    own = [f"probe.{safety_class}" for safety_class in classes]
    for tool_id, safety_class in zip([*own, "probe.foreign"], [*classes, SafetyClass.READ_ONLY], strict=True):
        h.tool(runtime, tool_id, safety_class=safety_class)
    registry.register_agent(AgentCapabilities("limited", tool_allowlist=own, safety_class_ceiling=classes[1]))
    mine = {spec.tool_id for spec in registry.filter_for_agent("limited")}
    low = {spec.tool_id for spec in registry.filter_by_safety(classes[1])}
    ran = {
        spec.tool_id
        for spec in registry.list_all()
        if spec.tool_id.startswith("probe.")
        and runtime.executor.execute(h.context("limited"), spec.tool_id).success
    }
    held = ran == mine == set(own[:2]) and mine <= low
    evidence = f"ToolRegistry.filter_for_agent: {sorted(mine)}; ToolExecutor.execute ran: {sorted(ran)}"
    return Check("filters", held, evidence)


def contract_fingerprint(h: Harness) -> Iterator[Check]:
    """HA-12."""
    with h.open() as runtime:
        execute = runtime.executor.execute
        tool = _counting_tool(h, runtime)
        result = execute(h.context(), "probe.write", {"count": 1})
        yield Check("unchanged", result.success and tool.called == 1, saw(result, tool))

        faults = [execute(h.context(), "probe.write", args) for args in ({}, {"count": "one"})]
        held = all(one.error_code == ToolErrorCode.VALIDATION_ERROR for one in faults) and tool.called == 1
        yield Check("arguments", held, "; ".join(saw(one, tool) for one in faults))

        spec = next(one for one in runtime.registry.list_all() if one.tool_id == "probe.write")
        undone = replace(spec, reversal=ReversalSpec(ReversalClass.IRREVERSIBLE))
        same = undone.contract_fingerprint() == spec.contract_fingerprint()
        yield Check("reversal", same, f"ToolSpec.contract_fingerprint: {'equal' if same else 'another one'}")

        spec.description = "Write, and mail it to somebody"
        edited = execute(h.context(budget=RunBudget(max_tool_calls=0)), "probe.write", {"count": 1})
        in_place = edited.error_code == DENIED and tool.called == 1
    yield _edited_elsewhere(h, in_place, saw(edited, tool))
    yield _observed(h)
    yield _unreadable(h)


def _counting_tool(h: Harness, runtime: Runtime, description: str = "", *, approved: bool = True) -> Counted:
    return h.tool(
        runtime,
        "probe.write",
        lambda count: count,
        SafetyClass.LOCAL_WRITE,
        approved=approved,
        description=description,
        args_schema=[ToolArgSchema("count", "integer")],
    )


def _edited_elsewhere(h: Harness, in_place: bool, seen: str) -> Check:
    """The contract comes back edited in another process, where policy and budget would refuse the call too."""
    with h.open({"policy": (PolicyRule("deny", ("probe.write",)),)}) as runtime:
        tool = _counting_tool(h, runtime, "Write, and mail it to somebody", approved=False)
        ctx = h.context(budget=RunBudget(max_tool_calls=0))
        result = runtime.executor.execute(ctx, "probe.write", {"count": 1})
        refused_by = _last(runtime)["rule"]
    held = in_place and result.error_code == DENIED and refused_by == "contract_changed" and not tool.called
    evidence = f"edited in place: {seen}; by another process: {saw(result, tool)}, refused by {refused_by}"
    return Check("edited", held, evidence)


def _observed(h: Harness) -> Check:
    with h.open({"contract_enforcement": "observe"}) as runtime:
        tool = _counting_tool(h, runtime, "Write, and mail it to somebody", approved=False)
        result = runtime.executor.execute(h.context(), "probe.write", {"count": 1})
        standing = next(
            event.payload["tool_contract_baseline"]
            for event in runtime.log.events(tool_id="probe.write", newest_first=True)
            if event.payload and "tool_contract_baseline" in event.payload
        )
    held = result.success and tool.called == 1 and standing == "changed"
    return Check("observe", held, f"{saw(result, tool)}; EventLog.events: contract {standing}")


def _unreadable(h: Harness) -> Check:
    with h.open() as runtime:
        tool = _counting_tool(h, runtime)
        runtime.config.operators.file.write_text("damaged", encoding="utf-8")
        h.tool(runtime, "probe.read", approved=False)
        write = runtime.executor.execute(h.context(), "probe.write", {"count": 1})
        read = runtime.executor.execute(h.context(), "probe.read")
    held = write.error_code == DENIED and not tool.called and read.success
    return Check("unreadable", held, f"the write: {saw(write, tool)}; the read: {saw(read)}")


def _last(runtime: Runtime) -> dict[str, Any]:
    """What the newest event says."""
    return next(runtime.log.events(newest_first=True)).payload or {}


def risk_class(h: Harness) -> Iterator[Check]:
    """HA-13."""
    classes = list(SafetyClass)
    named = " < ".join(sorted(classes))
    pairs = all(low < high and not high < low for low, high in combinations(classes, 2))
    with h.open() as runtime:
        registry = runtime.registry
        for safety_class in classes:
            h.tool(runtime, f"probe.{safety_class}", safety_class=safety_class)
        admitted = {str(one): len(_probes(registry.filter_by_safety(one))) for one in classes}
        held = pairs and named == "read_only < local_write < network < destructive"
        held = held and list(admitted.values()) == [1, 2, 3, 4]
        yield Check("order", held, f"SafetyClass: {named}; ToolRegistry.filter_by_safety: {admitted}")

        defaults = {
            str(spec.safety_class): str(spec.resolved_reversal().reversal_class)
            for spec in _probes(registry.list_all())
        }
        held = [defaults[one] for one in classes] == [
            ReversalClass.REVERSIBLE,
            ReversalClass.REVERSIBLE,
            ReversalClass.COMPENSABLE,
            ReversalClass.IRREVERSIBLE,
        ]
        yield Check("defaults", held, f"ToolSpec.resolved_reversal: {defaults}")

        outside = {"side_effect_level": "external_write"}
        tool = h.tool(runtime, "probe.outside", metadata=outside)
        safe = runtime.executor.execute(h.context(safety_mode=SafetyMode.SAFE), "probe.outside")
        normal = runtime.executor.execute(h.context(), "probe.outside")
        announced = any(
            (event.payload or {}).get("phase") == "intent"
            for event in runtime.log.events(tool_id="probe.outside")
        )
        held = safe.error_code == DENIED and normal.success and tool.called == 1 and announced
        evidence = f"in safe mode: {saw(safe)}; else: {saw(normal, tool)}, with intent: {announced}"
        yield Check("external", held, evidence)


def _probes(specs: Iterable[ToolSpec]) -> list[ToolSpec]:
    return [spec for spec in specs if spec.tool_id.startswith("probe.")]
