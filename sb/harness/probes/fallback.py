"""Probes of "measurable" controls about failures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sb.harness.harness import Harness
from sb.harness.probes.failures import dispatched
from sb.kernel.compensation.outcome import CompensationKind, CompensationOutcome
from sb.kernel.contracts import SafetyClass, ToolError, ToolErrorCode, ToolResult
from sb.kernel.error_classifier.verdicts import PLAYBOOK, CompensationAction, verdict_for
from sb.kernel.error_kinds import ErrorKind, tool_failure
from sb.kernel.events import AssumptionInvalidated
from sb.kernel.harness_audit import Check
from sb.kernel.reversibility.contracts import MutationState, ReversalClass, ReversalSpec
from sb.runtime import Runtime

HOUR_S = 3600
OPEN = "order 7 is open"
TRANSIENT = (ErrorKind.TIMEOUT, ErrorKind.TRANSIENT_NETWORK, ErrorKind.RATE_LIMITED, ErrorKind.SERVER)
NEVER = (ErrorKind.POLICY_DENIED, ErrorKind.CONTENT_FILTER, ErrorKind.REFUSAL)
# What is done about a call that left nothing behind, by what the playbook says of it.
DONE = {
    CompensationAction.RETRY_WITH_BACKOFF: CompensationKind.RETRIED,
    CompensationAction.REFRESH_EVIDENCE: CompensationKind.EVIDENCE_REFRESHED,
    CompensationAction.DEPRECATE_AND_REPLAN: CompensationKind.DEPRECATED,
    CompensationAction.ESCALATE_TO_HUMAN: CompensationKind.ESCALATED,
    CompensationAction.REVERSE: CompensationKind.REVERSAL_REFUSED,
    CompensationAction.REPLAN: CompensationKind.REPLAN,
    CompensationAction.ABORT: CompensationKind.ABORTED,
}


class _Failing:
    """A read-only tool that fails as told, then works; its executor repeats nothing by itself."""

    def __init__(self, h: Harness, runtime: Runtime, **metadata: Any) -> None:
        self.h, self.runtime = h, runtime
        self.left: list[Exception] = []
        self.tool = h.tool(runtime, "shop.price", self._answer, max_retries=0, metadata=metadata)
        self.ctx = h.context("clerk")

    def _answer(self, order: int) -> str:
        if self.left:
            raise self.left.pop(0)
        return "priced"

    def call(self, *failures: Exception) -> ToolResult:
        self.left = list(failures)
        self.tool.calls.clear()
        self.ctx = self.h.context("clerk")
        return self.runtime.executor.execute(self.ctx, "shop.price", {"order": 7})

    def handle(self, *failures: Exception) -> CompensationOutcome:
        """The outcome for a call that fails this often."""
        result = self.call(*failures)
        return dispatched(self.runtime, self.ctx, result, order=7)


def fallback_behaviour(h: Harness) -> Iterator[Check]:
    """HA-33."""
    with h.open() as runtime:
        look = h.tool(runtime, "shop.look", lambda order: "seen")
        shop = _Failing(h, runtime, evidence_tool="shop.look", evidence_args={"order": "args.order"})
        yield _transient(shop)
        once = shop.handle(tool_failure(ErrorKind.EVIDENCE_STALE, "the order has changed"))
        after = look.calls[:], shop.tool.called
        twice = shop.handle(*[tool_failure(ErrorKind.EVIDENCE_STALE, "it has changed again")] * 2)
        right = (once.kind, once.performed) == (CompensationKind.EVIDENCE_REFRESHED, True) and after == (
            [{"order": 7}],
            2,
        )
        stays = twice.kind is CompensationKind.ESCALATED and (look.called, shop.tool.called) == (2, 2)
        seen = f"CompensationDispatcher.dispatch: {once.kind}, still stale {twice.kind}; {shop.tool}"
        yield Check("evidence", right and stays, seen)
        yield _never(shop)
        yield _same(shop)
        yield _complete(shop)


def _transient(shop: _Failing) -> Check:
    seen, right = [], True
    for kind in TRANSIENT:
        shop.h.clock.slept.clear()
        outcome = shop.handle(*[tool_failure(kind, "later")] * 2)
        waits = list(shop.h.clock.slept)
        grows = len(waits) == 2 and 0 < waits[0] < waits[1]
        worked = outcome.result is not None and outcome.result.success
        right &= outcome.kind is CompensationKind.RETRIED and worked and grows
        seen.append(f"{kind} {outcome.kind} after {' s, '.join(f'{wait:g}' for wait in waits)} s")
    return Check("transient", right, f"CompensationDispatcher.dispatch: {'; '.join(seen)}")


def _never(shop: _Failing) -> Check:
    seen, right = [], True
    for kind in NEVER:
        outcome = shop.handle(tool_failure(kind, "no"))
        right &= outcome.kind is CompensationKind.ESCALATED and shop.tool.called == 1
        seen.append(f"{kind} {outcome.kind}, {shop.tool}")
    return Check("never", right, f"CompensationDispatcher.dispatch: {'; '.join(seen)}")


def _same(shop: _Failing) -> Check:
    """Check a tool's failure, as its result states it and as the exception does."""
    errors = [*(ToolError(code, "it went wrong") for code in ToolErrorCode), TimeoutError("no answer")]
    errors += [ConnectionResetError("cut off"), FileNotFoundError("not there"), ValueError("no number")]
    differ = []
    for error in errors:
        error_kind, raised = verdict_for(shop.call(error)).kind, verdict_for(error).kind
        if error_kind is not raised:
            differ.append(f"{type(error).__name__} {error_kind} and {raised}")
    seen = "; ".join(differ) or f"{len(errors)} failures have one kind each"
    return Check("same", not differ, f"verdict_for: {seen}")


def _complete(shop: _Failing) -> Check:
    """Every kind is in the playbook, and what stands there is what is done."""
    missing = [str(kind) for kind in ErrorKind if kind not in PLAYBOOK]
    done = {kind: shop.handle(tool_failure(kind, "it went wrong")).kind for kind in PLAYBOOK}
    other = [f"{kind} {done[kind]}" for kind, action in PLAYBOOK.items() if done[kind] is not DONE[action]]
    seen = f"PLAYBOOK: {len(PLAYBOOK)} of {len(ErrorKind)} kinds, {len(PLAYBOOK) - len(other)} acted on"
    return Check("complete", not missing and not other, "; ".join([seen, *missing, *other]))


def escalation_path(h: Harness) -> Iterator[Check]:
    """HA-35."""
    with h.open() as runtime:
        shop = _Failing(h, runtime)
        outcome = shop.handle(tool_failure(ErrorKind.POLICY_DENIED, "the customer is on the stop list"))
        yield _queued(shop, outcome)
        outcome = shop.handle(*[tool_failure(ErrorKind.SERVER, "out of order")] * 5)
        listed = [escalation.cause for escalation in runtime.recovery.escalations.page()]
        right = outcome.kind is CompensationKind.ESCALATED and "failed: server" in listed
        seen = f"CompensationDispatcher.dispatch: {outcome.kind}; {shop.tool}"
        yield Check("repeated", right and shop.tool.called == 3, seen)
        yield from _asked(h, runtime)


def _queued(shop: _Failing, outcome: CompensationOutcome) -> Check:
    queue = shop.runtime.recovery.escalations.page()
    found = [(escalation.cause, escalation.why, escalation.agent, escalation.tool_id) for escalation in queue]
    wanted = ("failed: policy_denied", "the customer is on the stop list", "clerk", "shop.price")
    traced = [(escalation.run_id, escalation.call_id) for escalation in queue] == [
        (shop.ctx.run_id, outcome.directive["call_id"])
    ]
    seen = f"Escalations.page: {'; '.join(', '.join(item) for item in found)}"
    return Check("queued", found == [wanted] and traced and outcome.performed, seen)


def _asked(h: Harness, runtime: Runtime) -> Iterator[Check]:
    """A way back that does not say who agrees to it goes before a person; who does not come is late."""
    undo = h.tool(runtime, "shop.undo", lambda: "undone", SafetyClass.NETWORK)
    way_back = ReversalSpec(ReversalClass.COMPENSABLE, "shop.undo")
    h.tool(runtime, "shop.refund", lambda: "done", SafetyClass.NETWORK, reversal=way_back)
    result = runtime.executor.execute(h.context("clerk"), "shop.refund", assumptions=[OPEN])
    (decision,) = runtime.invalidate(AssumptionInvalidated(OPEN))
    state = runtime.recovery.mutations.get(result.mutation_id).state
    right = decision.action is CompensationKind.ESCALATED and state is MutationState.COMMITTED
    seen = f"RecoveryLoop.handle: {decision.action} as {decision.mode}, {state}; {undo}"
    yield Check("default", right and not undo.called and bool(decision.approval_id), seen)
    request = runtime.approvals.get(decision.approval_id)
    at_first = request.overdue(runtime.approvals.now())
    h.clock.sleep(HOUR_S)
    later = runtime.approvals.get(decision.approval_id).overdue(runtime.approvals.now())
    seen = f"Approval.overdue: {at_first} at first, {later} an hour later"
    yield Check("overdue", (at_first, later) == (False, True), seen)
