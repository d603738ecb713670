"""Probe of the "reversible" control about undoing calls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sb.harness.harness import Harness, saw
from sb.kernel.compensation.outcome import CompensationKind
from sb.kernel.contracts import MutationRef, MutationState, RecoveryApprovalMode, SafetyClass, ToolResult
from sb.kernel.events import AssumptionInvalidated
from sb.kernel.harness_audit import Check
from sb.kernel.reversibility.contracts import ReversalClass, ReversalSpec
from sb.kernel.run_context import IrreversibilityBudget, RiskDimension, RunContext
from sb.log.kinds import RECOVERY_DECIDED
from sb.runtime import Runtime

WINDOW_S = 3600
OPEN, PAID = "order 7 is open", "order 7 is paid"
MODES = list(RecoveryApprovalMode)
EDITED = "edited"  # a tool whose way back is not the approved one any more


class _Shop:
    """Refunds that can be reversed in an hour: at once, by one person, or by two."""

    def __init__(self, h: Harness, runtime: Runtime) -> None:
        self.h, self.runtime = h, runtime
        self.ctx = h.context("clerk")
        self.undo = h.tool(
            runtime, "shop.undo", lambda payment: "undone", SafetyClass.NETWORK, approved=False
        )
        for name, mode in {**{str(item): item for item in MODES}, EDITED: RecoveryApprovalMode.AUTO}.items():
            way_back = ReversalSpec(
                ReversalClass.COMPENSABLE,
                "shop.undo",
                mode,
                reversal_window_ms=WINDOW_S * 1000,
                reversal_args={"payment": "args.refund"},
            )
            h.tool(
                runtime,
                f"shop.{name}",
                lambda refund: "done",
                SafetyClass.NETWORK,
                approved=False,
                reversal=way_back,
            )
        h.approve(runtime)
        spec = runtime.registry.get(f"shop.{EDITED}")
        if spec is not None and spec.reversal is not None:
            spec.reversal = replace(spec.reversal, reversal_window_ms=2 * WINDOW_S * 1000)

    def refund(self, name: str, refund: str, reason: str) -> MutationRef:
        result = self.runtime.executor.execute(
            self.ctx, f"shop.{name}", {"refund": refund}, assumptions=[reason]
        )
        return self.now(self.runtime.recovery.mutations.get(result.mutation_id))

    def now(self, ref: MutationRef) -> MutationRef:
        """The same, as it is by now."""
        return self.runtime.recovery.mutations.get(ref.mutation_id)

    def undone(self) -> list[str]:
        return [str(call["payment"]) for call in self.undo.calls]


def rollback_and_compensation(h: Harness) -> Iterator[Check]:
    """HA-29."""
    with h.open({"irreversibility.money": 11.0}) as runtime:
        shop = _Shop(h, runtime)
        due, human, dual, edited = [shop.refund(name, name, OPEN) for name in (*MODES, EDITED)]
        other = shop.refund(RecoveryApprovalMode.AUTO, "other", PAID)
        bound = [ref.state for ref in (due, human, dual, edited, other)]
        seen = f"MutationStore.bind: {', '.join(bound)}; {shop.undo}"
        yield Check("passive", bound == [MutationState.COMMITTED] * 5 and not shop.undo.called, seen)

        runtime.events.emit(AssumptionInvalidated(OPEN))
        state, other_state = shop.now(due).state, shop.now(other).state
        right = (state, other_state) == (MutationState.REVERSED, MutationState.COMMITTED)
        seen = f"RecoveryLoop.handle: {state}, of another reason {other_state}; undone: {', '.join(shop.undone())}"
        yield Check("recovers", right and shop.undone() == ["auto"], seen)
        yield _people(shop, [human, dual, edited])
        yield _linked(shop, due)
        yield _tokenless(shop)
        yield _late(shop, other)
        yield _budget(h, runtime)


def _people(shop: _Shop, refs: list[MutationRef]) -> Check:
    """Check that a call waits for as many people as it declares, and an undeclared one for one."""
    asked = [shop.runtime.recovery.escalations.get(ref.mutation_id) for ref in refs]
    waiting = [(str(escalation.state), escalation.people) for escalation in asked]
    untouched = all(shop.now(ref).state is MutationState.COMMITTED for ref in refs)
    uncalled = not set(shop.undone()) & {"human", "dual_control", EDITED}
    seen = f"Recovery.escalate: {', '.join(f'{standing} for {people}' for standing, people in waiting)}"
    right = waiting == [("waiting", 1), ("waiting", 2), ("waiting", 1)] and untouched and uncalled
    return Check("people", right, f"{seen}; {'not called' if uncalled else 'called'}")


def _linked(shop: _Shop, due: MutationRef) -> Check:
    records = [event.payload or {} for event in shop.runtime.log.events(kind=RECOVERY_DECIDED)]
    found = [record for record in records if record.get("reverses_mutation_ref") == due.mutation_id]
    linked = [(item.get("action"), item.get("assumption_refs")) for item in found]
    seen = "; ".join(f"{action} for {' and '.join(refs or ['nothing'])}" for action, refs in linked)
    ok = linked == [("reversed", [OPEN])] and len(records) == 4
    return Check("linked", ok, f"Recovery.record: {len(records)} decisions; of what was due {seen}")


def _tokenless(shop: _Shop) -> Check:
    """A call that left nothing behind has no token."""
    shop.h.tool(shop.runtime, "shop.look", lambda: "seen")
    result = shop.runtime.executor.execute(shop.ctx, "shop.look")
    return _refused(shop, "tokenless", result.call_id)


def _late(shop: _Shop, ref: MutationRef) -> Check:
    shop.h.clock.sleep(WINDOW_S + 1)
    shop.runtime.events.emit(AssumptionInvalidated(PAID))
    return _refused(shop, "late", ref.call_id)


def _refused(shop: _Shop, name: str, call_id: str) -> Check:
    before = shop.undo.called
    outcome = shop.runtime.compensation.reverse(call_id, shop.runtime.recovery.fire)
    uncalled = shop.undo.called == before == 1
    seen = f"CompensationDispatcher.reverse: {outcome.kind}; {shop.undo}"
    return Check(name, outcome.kind is CompensationKind.REVERSAL_REFUSED and uncalled, seen)


def _budget(h: Harness, runtime: Runtime) -> Check:
    """Ten of money a call under a ceiling of eleven: by class it counts none, a tenth, and all of it. A run of its own
    has a ceiling of nine."""
    tools = {}
    for kind in ReversalClass:
        undo = "" if kind is ReversalClass.IRREVERSIBLE else "shop.undo"
        way_back, money = ReversalSpec(kind, undo), {"risk_dimension": "money", "value_arg": "amount"}
        tools[kind] = h.tool(
            runtime,
            f"bank.{kind}",
            lambda amount: "paid",
            SafetyClass.NETWORK,
            approved=False,
            reversal=way_back,
            metadata=money,
        )
    h.approve(runtime)
    ctx = h.context("clerk")
    debts = []
    for kind in ReversalClass:
        before = ctx.irreversibility.debt[RiskDimension.MONEY]
        _pay(runtime, ctx, kind)
        debts.append(ctx.irreversibility.debt[RiskDimension.MONEY] - before)
    crossing = _pay(runtime, ctx, ReversalClass.IRREVERSIBLE)
    own = h.context("clerk", irreversibility=IrreversibilityBudget({RiskDimension.MONEY: 9}))
    asks = all(
        isinstance(result.data, dict) and "approval_id" in result.data
        for result in (crossing, _pay(runtime, own, ReversalClass.IRREVERSIBLE))
    )
    others = sum(ctx.irreversibility.debt.values()) - ctx.irreversibility.debt[RiskDimension.MONEY]
    irreversible = tools[ReversalClass.IRREVERSIBLE]
    seen = f"IrreversibilityBudget.charge: {debts} of money, {others:g} of others; above its ceiling"
    seen += f" {saw(crossing, irreversible)}, {'and a person is asked' if asks else 'and nobody is asked'}"
    return Check("budget", debts == [0, 1, 10] and others == 0 and asks and irreversible.called == 1, seen)


def _pay(runtime: Runtime, ctx: RunContext, kind: ReversalClass) -> ToolResult:
    return runtime.executor.execute(ctx, f"bank.{kind}", {"amount": 10})
