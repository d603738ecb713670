"""Probe of the "reversible" control about who decides."""

from __future__ import annotations

from collections.abc import Iterator

from sb.base.sources import micros
from sb.harness.harness import Harness, saw
from sb.harness.probes.failures import refusal
from sb.harness.probes.operators import enrolled
from sb.kernel.authority.keys import make_key
from sb.kernel.authority.signing import Decider, Label
from sb.kernel.contracts import ReversalClass, ReversalSpec, SafetyClass, ToolErrorCode, ToolResult
from sb.kernel.harness_audit import Check
from sb.log.kinds import APPROVAL_APPROVED
from sb.runtime import Runtime

DAY_S = 86_400
PAY, WIRE = "bank.pay", "bank.wire"
WHY = "the bill is right"
WAY_BACK = ReversalSpec(ReversalClass.COMPENSABLE)


class _Bank:
    """Two tools whose calls need one person or two, and an operator with a key."""

    def __init__(self, h: Harness, runtime: Runtime) -> None:
        self.h, self.runtime = h, runtime
        self.pay, self.wire = [
            # One that cannot be undone would need a person for that alone.
            h.tool(runtime, tool_id, lambda to: f"paid {to}", SafetyClass.DESTRUCTIVE, reversal=WAY_BACK)
            for tool_id in (PAY, WIRE)
        ]
        self.ada = enrolled(runtime)

    def call(self, to: str, tool_id: str = PAY, approval_id: str = "") -> ToolResult:
        ctx = self.h.context("clerk")
        return self.runtime.executor.execute(ctx, tool_id, {"to": to}, approval_id=approval_id)

    def ask(self, to: str, tool_id: str = PAY) -> str:
        """The request that a call has become."""
        data = self.call(to, tool_id).data
        return str(data["approval_id"]) if isinstance(data, dict) else ""

    def approve(self, approval_id: str, by: Decider) -> None:
        self.runtime.approvals.approve(approval_id, by, WHY)

    def decide(self, approval_id: str, by: Decider) -> str:
        """The error with which a decision is refused."""
        return refusal(lambda: self.approve(approval_id, by))


def human_approval(h: Harness) -> Iterator[Check]:
    """HA-30."""
    with h.open({"approvals.dual_control": (WIRE,)}) as runtime:
        bank = _Bank(h, runtime)
        approval_id = bank.ask("bob")
        waited = not bank.pay.called
        bank.approve(approval_id, bank.ada)
        result = bank.call("bob", approval_id=approval_id)
        seen = f"{saw(result, bank.pay)}, {'not' if waited else 'also'} before Approvals.approve"
        yield Check("approved", result.success and waited and bank.pay.called == 1, seen)
        yield _stored(bank, approval_id)
        yield _forged(bank)
        yield _alone(bank)
        yield _replayed(bank, approval_id)


def _forged(bank: _Bank) -> Check:
    """A key that the agent made signs in the agent's name, in that of a stranger, and in that of an operator; and
    somebody decides without any key."""
    approval_id = bank.ask("mallory")
    _, own = make_key("clerk", None)
    operator = own._replace(name="ada", public_key=bank.ada.public_key)
    signatories: list[Decider] = [own, own._replace(name="grace"), operator, Label("ada")]
    refused = [bank.decide(approval_id, by) for by in signatories]
    result = bank.call("mallory", approval_id=approval_id)
    uncalled = {"to": "mallory"} not in bank.pay.calls
    seen = f"Approvals.approve: {', '.join(refused)}; {saw(result)}"
    return Check("self", refused == _FORGED and not result.success and uncalled, seen)


_FORGED = ["DeniedError", "Unauthorised", "Unauthorised", "Unauthorised"]


def _alone(bank: _Bank) -> Check:
    approval_id = bank.ask("bob", WIRE)
    bank.approve(approval_id, bank.ada)
    refused = bank.decide(approval_id, bank.ada)
    result = bank.call("bob", WIRE, approval_id)
    seen = f"Approvals.approve: {refused} the second time; {saw(result, bank.wire)}"
    return Check("alone", refused == "DeniedError" and not result.success and not bank.wire.called, seen)


def _replayed(bank: _Bank, used: str) -> Check:
    """The same approval again, one for other arguments, one that only the database has, and one whose time is over."""
    fresh = bank.ask("carol")
    bank.approve(fresh, bank.ada)
    again, other = bank.call("bob", approval_id=used), bank.call("mallory", approval_id=fresh)
    invented = bank.ask("trudy")
    with bank.runtime.database.write() as execute:
        execute("UPDATE approvals SET state = 'approved', decided_by = 'ada' WHERE id = ?", (invented,))
    edited = bank.call("trudy", approval_id=invented)
    bank.h.clock.sleep(DAY_S)
    late = bank.call("carol", approval_id=fresh)
    results = {"replayed": again, "altered": other, "edited": edited, "expired": late}
    denied = all(result.error_code is ToolErrorCode.PERMISSION_DENIED for result in results.values())
    seen = "; ".join(f"{name} {saw(result)}" for name, result in results.items())
    return Check("replayed", denied and bank.pay.called == 1, f"{seen}; {bank.pay}")


def _stored(bank: _Bank, approval_id: str) -> Check:
    """Who, when and why: on the log, signed, and in the queue."""
    (event,) = bank.runtime.log.events(kind=APPROVAL_APPROVED)
    payload = event.payload or {}
    signed = payload.get("signed", {}).get("statement", {})
    approval = bank.runtime.approvals.get(approval_id)
    who, why = (
        (payload.get("by"), signed.get("by"), approval.decided_by),
        (payload.get("reason"), approval.reason),
    )
    when = bool(signed.get("at")) and approval.decided_at == event.at == micros(bank.h.clock.now())
    seen = f"Approvals.approve: by {approval.decided_by}, because {approval.reason}, {'with' if when else 'without'} its time"
    return Check("stored", set(who) == {"ada"} and set(why) == {WHY} and when, seen)
