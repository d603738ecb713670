"""Probes of autonomy that is persisted: proposed from the record, signed, held to, and lost by itself."""

from __future__ import annotations

from collections.abc import Iterator

from sb.errors import SBError
from sb.harness.harness import Harness
from sb.harness.probes.operators import enrolled
from sb.kernel.authority.signing import Decider, Label
from sb.kernel.autonomy.proposals import LEAST, Proposals
from sb.kernel.autonomy.scoring import AutonomyMode
from sb.kernel.contracts import SafetyClass, ToolResult
from sb.kernel.harness_audit import Check
from sb.runtime import Runtime
from sb.runtime.parts import open_proposals

ENFORCED = {"autonomy.mode": "enforce"}
_TOOL, _OTHER, _AGENT = "plant.write", "plant.send", "clerk"


def signed_levels(h: Harness) -> Iterator[Check]:
    """Of HA-37: a level that the record speaks for holds once an operator signed it, until an operator says no."""
    with h.open(ENFORCED) as runtime:
        h.tool(runtime, _TOOL, lambda n: n, SafetyClass.LOCAL_WRITE)
        h.tool(runtime, _OTHER, lambda n: n, SafetyClass.NETWORK)
        ada, proposals = enrolled(runtime), open_proposals(runtime.config, runtime.log)
        first = _asked(h, runtime, ada, _OTHER, 0, approved=False)
        for n in range(LEAST):
            _asked(h, runtime, ada, _TOOL, n)
        proposals.levels.evaluate(_AGENT, 1.0, ada, "the suite")
        found = proposals.all()
        before = _call(h, runtime, _TOOL, 100)
        forged = _signs(proposals, Label("ada"))
        still = _call(h, runtime, _TOOL, 101)
        right = len(found) == 1 and not (first or before or forged or still)
        yield Check(
            "unsigned",
            right,
            f"Proposals.all: {len(found)} proposed; unsigned, it ran {int(before + still)} of 2",
        )
        signed, after = _signs(proposals, ada), _call(h, runtime, _TOOL, 102)
        other = _call(h, runtime, _OTHER, 103)
        right = signed and after and not other
        yield Check("signed", right, f"Proposals.sign: {signed}; then it ran: {after}, another tool {other}")
    with h.open(ENFORCED | {"policy": _asking()}) as runtime:
        h.tool(runtime, _TOOL, lambda n: n, SafetyClass.LOCAL_WRITE, approved=False)
        _asked(h, runtime, ada, _TOOL, 200, approved=False)
    with h.open(ENFORCED) as runtime:
        h.tool(runtime, _TOOL, lambda n: n, SafetyClass.LOCAL_WRITE, approved=False)
        lost = _call(h, runtime, _TOOL, 201)
        level = open_proposals(runtime.config, runtime.log).levels.current().level(_AGENT, _TOOL)
        right = not lost and level.mode is AutonomyMode.EXECUTE_WITH_APPROVAL and not level.raised
        yield Check("falls", right, f"Levels.current after a denial: {level.mode}; then it ran: {lost}")


def _asking() -> object:
    from sb.config.rules import PolicyRule

    return (PolicyRule("approve", (_TOOL,), name="look"),)


def _execute(h: Harness, runtime: Runtime, tool_id: str, n: int) -> ToolResult:
    return runtime.executor.execute(h.context(_AGENT), tool_id, {"n": n})


def _call(h: Harness, runtime: Runtime, tool_id: str, n: int) -> bool:
    return _execute(h, runtime, tool_id, n).success


def _asked(h: Harness, runtime: Runtime, by: Decider, tool_id: str, n: int, *, approved: bool = True) -> bool:
    """Decide what a call asks, and repeat it; True if it ran."""
    data = _execute(h, runtime, tool_id, n).data or {}
    if not isinstance(data, dict) or "approval_id" not in data:
        return True
    decide = runtime.approvals.approve if approved else runtime.approvals.deny
    decide(data["approval_id"], by, "looked at")
    return approved and _call(h, runtime, tool_id, n)


def _signs(proposals: Proposals, by: Decider) -> bool:
    try:
        return [proposals.sign(it.id, by, "routine") for it in proposals.all()] != []
    except SBError:
        return False
