"""Probes of the "policy-governed" controls."""

from __future__ import annotations

from collections.abc import Iterator

from sb.config.rules import PolicyRule
from sb.harness.harness import Harness, broken, saw
from sb.kernel.calls.approval import ApprovalState
from sb.kernel.contracts import ReversalClass, ReversalSpec, SafetyClass, ToolErrorCode
from sb.kernel.harness_audit import Check
from sb.kernel.run_context import SafetyMode
from sb.log.kinds import TOOL_POLICY_BLOCKED

DENIED = ToolErrorCode.PERMISSION_DENIED
WAY_BACK = ReversalSpec(ReversalClass.COMPENSABLE)


def policy_engine(h: Harness) -> Iterator[Check]:
    """HA-07."""
    rules = (PolicyRule("allow", ("probe.*",)), PolicyRule("deny", ("probe.blocked",)))
    with h.open({"policy": rules}) as runtime:
        read = h.tool(runtime, "probe.read")
        write = h.tool(runtime, "probe.write", safety_class=SafetyClass.LOCAL_WRITE)
        send = h.tool(runtime, "probe.send", safety_class=SafetyClass.NETWORK)
        # One that cannot be undone would wait for that alone.
        drop = h.tool(runtime, "probe.drop", safety_class=SafetyClass.DESTRUCTIVE, reversal=WAY_BACK)
        blocked = h.tool(runtime, "probe.blocked")
        execute = runtime.executor.execute
        safe = h.context(safety_mode=SafetyMode.SAFE)

        result = execute(safe, "probe.read")
        yield Check("read", result.success and read.called == 1, saw(result, read))

        strict = h.context(safety_mode=SafetyMode.STRICT)
        results = [execute(safe, "probe.write"), execute(safe, "probe.send"), execute(strict, "probe.write")]
        refused = all(item.error_code == DENIED for item in results) and not write.called and not send.called
        seen = f"{saw(results[0], write)}; {saw(results[1], send)}; in strict mode {saw(results[2], write)}"

        result = execute(h.context(), "probe.drop")
        waiting = runtime.approvals.count(states=[ApprovalState.WAITING])
        ok = result.error_code == DENIED and not drop.called and waiting == 1
        yield Check("destructive", ok, f"{saw(result, drop)}; Approvals.count: {waiting} waiting")

        results = [execute(ctx, "probe.blocked") for ctx in (h.context(), safe)]
        ok = all(item.error_code == DENIED for item in results) and not blocked.called
        yield Check("blocked", ok, "; ".join(saw(item, blocked) for item in results))

        recorded = [event.subject.tool_id for event in runtime.log.events(kind=TOOL_POLICY_BLOCKED)]
        ok = recorded == [
            "probe.write",
            "probe.send",
            "probe.write",
            "probe.drop",
            "probe.blocked",
            "probe.blocked",
        ]
        yield Check("recorded", ok, f"EventLog.events: {TOOL_POLICY_BLOCKED} of {', '.join(recorded)}")

        with broken(runtime.executor.policy, "evaluate"):
            result = execute(h.context(), "probe.read")
        yield Check("raises", result.error_code == DENIED and read.called == 1, saw(result, read))
    configured = _configured(h)
    yield Check("safe", refused and configured, f"{seen}; where the configuration says so: {configured}")


def _configured(h: Harness) -> bool:
    """True if the mode of the configuration holds where a run has none of its own."""
    with h.open({"safety_mode": "safe"}) as runtime:
        read = h.tool(runtime, "probe.read")
        write = h.tool(runtime, "probe.write", safety_class=SafetyClass.LOCAL_WRITE)
        results = [
            runtime.executor.execute(h.context(), tool_id) for tool_id in ("probe.read", "probe.write")
        ]
    return [result.error_code for result in results] == [None, DENIED] and (read.called, write.called) == (
        1,
        0,
    )
