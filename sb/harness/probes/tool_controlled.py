"""Probes of the "tool-controlled" controls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

from sb.config.kinds import AgentSettings
from sb.config.rules import PolicyRule
from sb.errors import ContractError
from sb.harness.harness import Counted, Harness, saw
from sb.kernel.baselines.store import RECENT_S
from sb.kernel.contracts import (
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
OUTSIDE = {"side_effect_level": "external_write"}


AGENTS = {
    "limited": AgentSettings(("probe.read", "probe.local_write", "probe.network"), "local_write"),
    "capped": AgentSettings(ceiling="local_write", permissions=("mail",)),
}


def tool_manifest(h: Harness) -> Iterator[Check]:
    """HA-11."""
    with h.open({"agents": AGENTS}) as runtime:
        execute, registry = runtime.executor.execute, runtime.registry
        tool = h.tool(runtime, "probe.read")
        result = execute(h.context(), "probe.read")
        listed = "probe.read" in registry.list_ids()
        ok = listed and result.success and tool.called == 1
        yield Check("registered", ok, f"ToolRegistry.list_ids: {listed}; {saw(result, tool)}")

        result = execute(h.context(), "probe.reed")
        yield Check("unregistered", result.error_code == ToolErrorCode.NOT_FOUND, saw(result))

        bad: list[dict[str, Any]] = [{"tool_id": "No Id!"}, {"tool_id": "probe.bad id"}]
        bad += [{"max_retries": 6}, {"timeout_ms": 99}]
        accepted = [fault for fault in bad if _registers(runtime, fault) or _takes(fault)]
        yield Check("malformed", not accepted, f"ToolRegistry.register_fn: accepted {accepted or 'none'}")

        private = h.tool(runtime, "probe.private", allowlisted_agents=["clerk"])
        mail = h.tool(runtime, "mail.read", requires_permission=["mail"])
        calls = (("stranger", "probe.private"), ("stranger", "mail.read"), ("capped", "mail.read"))
        codes = [execute(h.context(agent), tool_id).error_code for agent, tool_id in calls]
        ok = codes == [DENIED, DENIED, None] and (private.called, mail.called) == (0, 1)
        seen = f"{codes[0]}; without a permission {codes[1]}, with it {codes[2] or 'success'}; {private}"
        yield Check("outsider", ok, f"ToolExecutor.execute: {seen}")

        yield _filters(h, runtime)


def _registers(runtime: Runtime, fault: dict[str, Any]) -> bool:
    contract: dict[str, Any] = {"tool_id": "probe.bad", "name": "Bad", "fn": lambda: "done"} | fault
    try:
        runtime.registry.register_fn(**contract)
    except ContractError:
        return False
    return True


def _takes(fault: dict[str, Any]) -> bool:
    """True if a contract that is made already takes it."""
    spec = ToolSpec("probe.bad", "Bad")
    try:
        for name, value in fault.items():
            setattr(spec, name, value)
    except ContractError:
        return False
    return True


def _filters(h: Harness, runtime: Runtime) -> Check:
    """For an agent with a list of tools, one with a ceiling alone, and one that nobody registered."""
    for safety_class in (SafetyClass.LOCAL_WRITE, SafetyClass.NETWORK):
        h.tool(runtime, f"probe.{safety_class}", safety_class=safety_class)
    registry, execute = runtime.registry, runtime.executor.execute
    low = ["probe.local_write", "probe.read"]
    seen, ok = [], True
    for agent, allowed in {"limited": low, "capped": low, "stranger": [*low, "probe.network"]}.items():
        listed = [spec.tool_id for spec in _probes(registry.filter_for_agent(agent))]
        tried = _probes(registry.list_all())
        ran = [spec.tool_id for spec in tried if execute(h.context(agent), spec.tool_id).success]
        ok = ok and listed == ran == sorted(allowed)
        seen.append(f"{agent} {', '.join(listed)}, ran {', '.join(ran)}")
    below = [spec.tool_id for spec in _probes(registry.filter_by_safety(SafetyClass.LOCAL_WRITE))]
    ok = ok and below == sorted([*low, "probe.private"])
    return Check("filters", ok, f"ToolRegistry.filter_for_agent: {'; '.join(seen)}")


def contract_fingerprint(h: Harness) -> Iterator[Check]:
    """HA-12."""
    with h.open() as runtime:
        execute = runtime.executor.execute
        tool = _counting_tool(h, runtime, approved=False)
        new = execute(h.context(), "probe.write", {"count": 1})
        h.approve(runtime)
        result = execute(h.context(), "probe.write", {"count": 1})
        ok = new.error_code == DENIED and result.success and tool.called == 1
        yield Check("unchanged", ok, f"before it is approved {saw(new)}; then {saw(result, tool)}")

        faults = [
            execute(h.context(), "probe.write", args) for args in ({}, {"count": "one"}, {"count": True})
        ]
        ok = all(fault.error_code == ToolErrorCode.VALIDATION_ERROR for fault in faults) and tool.called == 1
        yield Check("arguments", ok, "; ".join(saw(fault, tool) for fault in faults))

        spec = next(item for item in runtime.registry.list_all() if item.tool_id == "probe.write")
        undone = replace(spec, reversal=ReversalSpec(ReversalClass.IRREVERSIBLE))
        same = undone.contract_fingerprint() == spec.contract_fingerprint()
        yield Check("reversal", same, f"ToolSpec.contract_fingerprint: {'equal' if same else 'another one'}")

        denied = [
            field for field, value in EDITS.items() if _denied_once_edited(h, runtime, spec, field, value)
        ]
        in_place = denied == list(EDITS) and tool.called == 1
    yield _edited_elsewhere(h, in_place, f"denied for {', '.join(denied)}; {tool}")
    yield _observed(h)
    yield _unreadable(h)


# Of a contract, and what an agent's tool could turn it into.
EDITS: dict[str, Any] = {
    "description": "Write, and mail it to somebody",
    "safety_class": SafetyClass.READ_ONLY,
    "args_schema": [ToolArgSchema("count", "integer"), ToolArgSchema("to", required=False)],
    "allowlisted_agents": ["agent", "stranger"],
}


def _denied_once_edited(h: Harness, runtime: Runtime, spec: ToolSpec, field: str, value: Any) -> bool:
    """True if a call is denied while one field of the contract is another, although it has no budget either."""
    approved = getattr(spec, field)
    setattr(spec, field, value)
    ctx = h.context(budget=RunBudget(max_tool_calls=0))
    result = runtime.executor.execute(ctx, "probe.write", {"count": 1})
    setattr(spec, field, approved)
    return result.error_code == DENIED


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
    ok = in_place and result.error_code == DENIED and refused_by == "contract_changed" and not tool.called
    evidence = f"edited in place: {seen}; by another process: {saw(result, tool)}, refused by {refused_by}"
    return Check("edited", ok, evidence)


def _observed(h: Harness) -> Check:
    with h.open({"contract_enforcement": "observe"}) as runtime:
        tool = _counting_tool(h, runtime, "Write, and mail it to somebody", approved=False)
        result = runtime.executor.execute(h.context(), "probe.write", {"count": 1})
        standing = next(
            event.payload["tool_contract_baseline"]
            for event in runtime.log.events(tool_id="probe.write", newest_first=True)
            if event.payload and "tool_contract_baseline" in event.payload
        )
    ok = result.success and tool.called == 1 and standing == "changed"
    return Check("observe", ok, f"{saw(result, tool)}; EventLog.events: contract {standing}")


def _unreadable(h: Harness) -> Check:
    with h.open() as runtime:
        tool = _counting_tool(h, runtime)
        h.tool(runtime, "probe.read")
        runtime.config.operators.file.write_text("damaged", encoding="utf-8")
        h.clock.sleep(RECENT_S)  # for so long a read goes by what was known
        write = runtime.executor.execute(h.context(), "probe.write", {"count": 1})
        read = runtime.executor.execute(h.context(), "probe.read")
    ok = write.error_code == DENIED and not tool.called and read.success
    return Check("unreadable", ok, f"the write: {saw(write, tool)}; the read: {saw(read)}")


def _last(runtime: Runtime) -> dict[str, Any]:
    """The payload of the newest event."""
    return next(runtime.log.events(newest_first=True)).payload or {}


def risk_class(h: Harness) -> Iterator[Check]:
    """HA-13."""
    classes = list(SafetyClass)
    named = " < ".join(sorted(classes))
    pairs = all(
        (item < other, item <= other, item > other, item >= other)
        == (low < high, low <= high, low > high, low >= high)
        for (low, item), (high, other) in product(enumerate(classes), repeat=2)
    )
    with h.open() as runtime:
        registry = runtime.registry
        for safety_class in classes:
            h.tool(runtime, f"probe.{safety_class}", safety_class=safety_class)
        admitted = {str(class_): len(_probes(registry.filter_by_safety(class_))) for class_ in classes}
        ok = pairs and named == "read_only < local_write < network < destructive"
        ok = ok and list(admitted.values()) == [1, 2, 3, 4]
        yield Check("order", ok, f"SafetyClass: {named}; ToolRegistry.filter_by_safety: {admitted}")

        defaults = {
            str(spec.safety_class): str(spec.resolved_reversal().reversal_class)
            for spec in _probes(registry.list_all())
        }
        ok = [defaults[class_] for class_ in classes] == [
            ReversalClass.REVERSIBLE,
            ReversalClass.REVERSIBLE,
            ReversalClass.COMPENSABLE,
            ReversalClass.IRREVERSIBLE,
        ]
        yield Check("defaults", ok, f"ToolSpec.resolved_reversal: {defaults}")

        tool = h.tool(runtime, "probe.outside", metadata=OUTSIDE)
        safe = runtime.executor.execute(h.context(safety_mode=SafetyMode.SAFE), "probe.outside")
        normal = runtime.executor.execute(h.context(), "probe.outside")
        announced = any(
            (event.payload or {}).get("phase") == "intent"
            for event in runtime.log.events(tool_id="probe.outside")
        )
        ok = safe.error_code == DENIED and normal.success and tool.called == 1 and announced
        spec = next(spec for spec in registry.list_all() if spec.tool_id == "probe.outside")
        ok = ok and spec not in registry.filter_by_safety(SafetyClass.LOCAL_WRITE)
        way_back = spec.resolved_reversal().reversal_class
        ok = ok and way_back is ReversalClass.COMPENSABLE
        evidence = (
            f"in safe mode: {saw(safe)}; else: {saw(normal, tool)}, with intent: {announced}, {way_back}"
        )
        yield Check("external", ok, evidence)


def _probes(specs: Iterable[ToolSpec]) -> list[ToolSpec]:
    return [spec for spec in specs if spec.tool_id.startswith("probe.")]
