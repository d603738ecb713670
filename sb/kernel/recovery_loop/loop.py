"""Recover from invalidated assumptions: find the calls they justified, and undo or escalate.

A reversal never takes over how the call that it undoes was approved: only one declared AUTO fires by itself, the
others go before a person. Everything that acts is passed in. Source: the survival layer, section 2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

from sb.base.values.frozen import frozen
from sb.kernel.compensation.dispatcher import CompensationDispatcher, Reverse
from sb.kernel.compensation.outcome import CompensationKind
from sb.kernel.events import AssumptionInvalidated, EventBus
from sb.kernel.registry.registry import ToolRegistry
from sb.kernel.reversibility.contracts import MutationRef, MutationState, RecoveryApprovalMode
from sb.kernel.reversibility.mutations import assumption_name

_STRICTNESS = list(RecoveryApprovalMode)  # from the least strict


@frozen
class RuntimeDecisionRecord:
    """One decision of the recovery loop, tied to the call that it is about.

    Args:
        action: REVERSED, ESCALATED or REVERSAL_REFUSED.
        reverses_mutation_ref: the id of the mutation. assumption_refs: those that turned false.
        mode: who would have to agree. approval_id, call_id: of what came of it, "" for none.
    """

    action: CompensationKind
    reverses_mutation_ref: str
    assumption_refs: tuple[str, ...]
    mode: RecoveryApprovalMode
    reason: str
    run_id: str
    approval_id: str = ""
    call_id: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return vars(self) | {
            "action": str(self.action),
            "mode": str(self.mode),
            "assumption_refs": list(self.assumption_refs),
        }


class Mutations(Protocol):
    """Where the loop finds what it recovers; see MutationStore."""

    def now(self) -> int: ...

    def assuming(self, assumption_ref: str, run_id: str = "", mutation_id: str = "") -> list[MutationRef]: ...


class DecisionStore(Protocol):
    """Keeps the loop's decisions."""

    def record(self, decision: RuntimeDecisionRecord) -> None: ...


ApprovalResolver = Callable[[MutationRef], RecoveryApprovalMode]
Escalate = Callable[[MutationRef, AssumptionInvalidated, str], tuple[str, str]]


def ask_a_person(ref: MutationRef) -> RecoveryApprovalMode:
    """The resolver of a loop that is given none: nothing fires by itself."""
    return RecoveryApprovalMode.HUMAN


def stricter(mode: RecoveryApprovalMode, other: RecoveryApprovalMode) -> RecoveryApprovalMode:
    """The mode that asks more people."""
    return max(mode, other, key=_STRICTNESS.index)


def registry_approval_resolver(registry: ToolRegistry) -> ApprovalResolver:
    """As the tool declares it now, or declared it when the call was done, whichever is stricter.

    A tool that is gone, or whose reversal has changed since, is never undone without asking.
    """

    def resolve(ref: MutationRef) -> RecoveryApprovalMode:
        spec = registry.get(ref.tool_id)
        if spec is None:
            return stricter(ref.recovery_approval_mode, RecoveryApprovalMode.HUMAN)
        mode = stricter(ref.recovery_approval_mode, spec.resolved_reversal().recovery_approval_mode)
        changed = spec.reversal_fingerprint() != ref.reversal_fingerprint
        return stricter(mode, RecoveryApprovalMode.HUMAN) if changed else mode

    return resolve


class RecoveryLoop:
    """Recovers from calls whose reason turned false.

    Args:
        mutation_store: finds the calls.
        dispatcher: lets a reversal fire only with its token.
        reversal_runner: performs a reversal.
        approval_resolver: who has to agree; by default a person, always.
        decision_store: keeps each decision.
        escalate: puts a reversal before a person, with why; returns the approval's id, if one was opened, and what
            to say of it. Without it an escalation is only a decision.
    """

    def __init__(
        self,
        mutation_store: Mutations,
        dispatcher: CompensationDispatcher,
        reversal_runner: Reverse,
        approval_resolver: ApprovalResolver = ask_a_person,
        decision_store: DecisionStore | None = None,
        *,
        escalate: Escalate | None = None,
    ) -> None:
        self._mutations = mutation_store
        self._dispatcher = dispatcher
        self._run = reversal_runner
        self._resolve = approval_resolver
        self._decisions = decision_store
        self._escalate = escalate

    def subscribe(self, bus: EventBus) -> None:
        """Act on every AssumptionInvalidated from now on."""
        bus.subscribe(self.handle)

    def handle(self, event: AssumptionInvalidated) -> list[RuntimeDecisionRecord]:
        """Recover from every call that this assumption justified and that can still be undone, the newest first."""
        decisions = []
        event = replace(event, assumption_ref=assumption_name(event.assumption_ref))
        for ref in self._mutations.assuming(event.assumption_ref, event.run_id, event.mutation_id):
            if ref.state is MutationState.COMMITTED and ref.in_window(self._mutations.now()):
                decision = self._recover(ref, event)
                decisions.append(decision)
                if self._decisions is not None:
                    self._decisions.record(decision)
        return decisions

    def _recover(self, ref: MutationRef, event: AssumptionInvalidated) -> RuntimeDecisionRecord:
        mode = self._resolve(ref)
        why = f"{event.assumption_ref} turned false" + (f": {event.reason}" if event.reason else "")
        if mode is not RecoveryApprovalMode.AUTO or not ref.reversal_tool:
            return self._ask(ref, event, mode, why)
        outcome = self._dispatcher.reverse(ref.mutation_id, self._run)
        if outcome.kind == CompensationKind.ESCALATED:
            return self._ask(ref, event, mode, f"{why}, and {outcome.reason}")
        action = outcome.kind
        call_id = outcome.result.call_id if outcome.result else ""
        reason = why if action is CompensationKind.REVERSED else f"{why}: {outcome.reason}"
        return self._decision(action, ref, event, mode, reason, call_id=call_id)

    def _ask(
        self, ref: MutationRef, event: AssumptionInvalidated, mode: RecoveryApprovalMode, why: str
    ) -> RuntimeDecisionRecord:
        approval_id = ""
        if self._escalate is not None:
            approval_id, notice = self._escalate(ref, event, why)
            why += f"; {notice}" if notice else ""
        return self._decision(CompensationKind.ESCALATED, ref, event, mode, why, approval_id=approval_id)

    def _decision(
        self,
        action: CompensationKind,
        ref: MutationRef,
        event: AssumptionInvalidated,
        mode: RecoveryApprovalMode,
        reason: str,
        *,
        approval_id: str = "",
        call_id: str = "",
    ) -> RuntimeDecisionRecord:
        return RuntimeDecisionRecord(
            action,
            ref.mutation_id,
            (event.assumption_ref,),
            mode,
            reason,
            ref.run_id,
            approval_id,
            call_id,
        )
