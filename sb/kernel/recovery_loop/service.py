"""Undo calls: at once, by a person's decision, or automatically where that was approved.

Every reversal is a call of the executor under a run of recovery's own, so a killed or exhausted agent can still be
undone; agreement to it is an approval of its exact arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sb.base.secrets.redaction import scrub
from sb.base.sources import MICROSECONDS
from sb.errors import DeniedError, SBError
from sb.kernel.approvals.disclosure import SHOWN, arguments_of
from sb.kernel.authority.signing import Decider, required
from sb.kernel.baselines.store import BaselineStatus, ContractBaselineStore
from sb.kernel.calls.approval import Approval, ApprovalState
from sb.kernel.compensation.dispatcher import begins_itself
from sb.kernel.compensation.reversal_guard import NoReversalToken, guard
from sb.kernel.contracts import ToolResult
from sb.kernel.events import AssumptionInvalidated
from sb.kernel.execution.executor import ToolExecutor
from sb.kernel.recovery_loop.answers import Plan, Undone
from sb.kernel.recovery_loop.calls import PartialReversal, ReadOnlyCall, Reversal, open_escalation
from sb.kernel.recovery_loop.escalations import Escalation, Escalations, EscalationState
from sb.kernel.recovery_loop.loop import (
    ApprovalResolver,
    RuntimeDecisionRecord,
    registry_approval_resolver,
    stricter,
)
from sb.kernel.recovery_loop.own_runs import OwnRuns
from sb.kernel.recovery_loop.variants import (
    NOT_RESTORED,
    Variant,
    meet,
    outside_of_git,
    paths_of,
    variant,
)
from sb.kernel.registry.arguments import hidden_names
from sb.kernel.results import Effect
from sb.kernel.reversibility.contracts import UNDO, MutationRef, MutationState, RecoveryApprovalMode
from sb.kernel.reversibility.mutations import assumption_name, secrets_of
from sb.kernel.run_context import RECOVERY_AGENT, RunContext
from sb.log.event import Subject
from sb.log.kinds import RECOVERY_DECIDED, RECOVERY_DISMISSED, RECOVERY_INVALIDATED

_NO_WINDOW_S = 30 * 86_400  # how long a reversal without a window waits for a decision
_ASKED_AGAIN = (
    EscalationState.NO_WAY_BACK,
    EscalationState.FAILED,
    EscalationState.EXPIRED,
)  # what stood in the way may be gone


class Recovery:
    """Takes back what calls did.

    Args:
        executor: runs the reversals.
        reversals: the reversals that an operator approved; without it nothing fires by itself.
    """

    def __init__(self, executor: ToolExecutor, reversals: ContractBaselineStore | None = None) -> None:
        self.executor = executor
        self.mutations = executor.mutations
        self.log = executor.event_log
        self.approvals = executor.approvals
        self.escalations = Escalations(self.log)
        self._reversals = reversals
        self._runs = OwnRuns(executor)

    def context(self, intent: str, about: str = "") -> RunContext:
        """A run of recovery's own; see `OwnRuns.begin`."""
        return self._runs.begin(intent, about)

    def close(self) -> None:
        """End the run that is open."""
        self._runs.finish()

    def _undoing(self, ref: MutationRef, cause: str) -> RunContext:
        intent = f"undo {ref.mutation_id}" + ("" if cause == UNDO else f": {cause}")
        return self.context(intent, ref.mutation_id)

    def resolver(self) -> ApprovalResolver:
        """The resolver of approvals: none is needed only where the operator approved the call's reversal."""
        declared = registry_approval_resolver(self.executor.registry)

        def resolve(ref: MutationRef) -> RecoveryApprovalMode:
            approved = self._reversals is not None and (
                self._reversals.status(ref.tool_id, ref.reversal_fingerprint)[0] is BaselineStatus.APPROVED
            )
            least = RecoveryApprovalMode.AUTO if approved else RecoveryApprovalMode.HUMAN
            return stricter(declared(ref), least)

        return resolve

    def plan(self, ref: MutationRef, *, force: bool = False, path: str = "") -> Plan:
        """The plan of an undo, without doing it; a preview is asked where there is one.

        Args:
            force, path: as `undo`.
        """
        spec = self.executor.registry.get(ref.reversal_tool)
        hidden = hidden_names(spec, ref.reversal_args) if spec else []
        args = arguments_of(ref.reversal_tool, ref.reversal_args, hidden)
        try:
            self._require_reversible(ref)
            wanted = variant(ref, self.executor.registry, force=force, path=path)
        except NoReversalToken as error:
            return Plan(ref, False, error.message, args, checked=False)
        args = arguments_of(wanted.tool_id, wanted.args, hidden)
        ctx = self.context(f"preview or undo {ref.mutation_id}", ref.mutation_id)
        refusal = self._killed(ctx, ref) or self.executor.refusal(ctx, wanted.tool_id, wanted.args)
        if refusal:
            return Plan(ref, False, refusal, args, checked=False)
        call = f"would call {wanted.tool_id}"
        if not ref.preview_tool:
            return Plan(ref, True, f"{call}; whether that works now is not known", args, checked=False)
        look = ReadOnlyCall({"previews": ref.mutation_id}, secrets_of(ref))
        found = self.executor.execute_recovery(ctx, ref.preview_tool, wanted.args, look)
        answer = found.data if found.success and isinstance(found.data, dict) else {}
        if "ok" not in answer:
            why = found.error_message or f"{ref.preview_tool} did not answer ok"
            return Plan(ref, True, f"{call}; its preview failed: {why}", args, checked=False)
        detail = str(scrub(str(answer.get("detail", "")), look.secrets))
        if wanted.over and answer["ok"] is not True:
            detail = detail.replace(NOT_RESTORED, "")
            return Plan(ref, True, f"would overwrite later changes: {detail}", args, checked=False)
        return Plan(ref, answer["ok"] is True, detail, args, checked=True)

    def _killed(self, ctx: RunContext, ref: MutationRef) -> str:
        """The reason why recovery itself is stopped, or ""."""
        spec = self.executor.registry.get(ref.reversal_tool)
        if spec is None:
            return ""
        check = self.executor.kill.check
        try:
            kill = check(RECOVERY_AGENT, ref.reversal_tool, spec.effective_class, ctx.run_id, recovers=True)
        except SBError as error:
            return f"whether a kill stops it cannot be told: {error.message}"
        return "" if kill is None else kill.sentence

    def plan_all(self, refs: list[MutationRef]) -> list[Plan]:
        """The plans of `undo_all`, newest first; a preview that says no may change after those before it."""
        plans: list[Plan] = []
        for ref in self._newest_first(refs):
            plan = self.plan(ref)
            if plan.checked and not plan.ok and any(item.ok for item in plans):
                detail = f"not as it is now: {plan.detail}; looked at again once those above are undone"
                plan = replace(plan, ok=True, detail=detail, checked=False)
            plans.append(plan)
        return plans

    def _newest_first(self, refs: list[MutationRef]) -> list[MutationRef]:
        return sorted(
            refs, key=lambda mutation_ref: self.mutations.number(mutation_ref.mutation_id), reverse=True
        )

    def undo(
        self,
        ref: MutationRef,
        by: Decider,
        reason: str,
        *,
        force: bool = False,
        path: str = "",
        without_git: bool = False,
    ) -> Undone:
        """Take back what one call did, by a person's decision; with dual control that is the first of two.

        Args:
            force: also what somebody changed since; that can be undone in its turn.
            path: this path alone, after which the rest can still be undone.
            without_git: all but the files of a repository itself.

        Raises:
            NoReversalToken: there is no undo, or not any more.
            DeniedError: this person may not decide it.
            UsageError: the reason is missing or too long.
        """
        self._require_reversible(ref)
        wanted = variant(ref, self.executor.registry, force=force, path=path, without_git=without_git)
        ctx = self._undoing(ref, UNDO)
        result = self._open_request(ctx, ref, UNDO, f"{by.name} asked to undo it: {reason}", wanted)
        approval_id = _request_in(result)
        if not approval_id:
            return self._undone(ref, result, wanted)
        if self.approvals.get(approval_id).state is ApprovalState.WAITING:
            # The person named the mutation and was told what undoing it does: nobody else chose what is to be read.
            opened = self.approvals.disclose(self.approvals.get(approval_id)).digest
            approval = self.approvals.approve(approval_id, by, reason, displayed=opened)
            if approval.state is ApprovalState.WAITING:
                return _one_agreed(ref, by, approval.id)
        return self._run(ctx, ref, UNDO, approval_id, wanted)

    def undo_all(self, refs: list[MutationRef], by: Decider, reason: str) -> Iterator[Undone]:
        """Take back several calls, the newest first. What never had an undo is left out.

        After one that could not be undone, only calls that changed other files follow: any other may be what it stands
        on. Where only git's own files are others by now, the rest of a call is undone.

        Raises:
            DeniedError, UsageError: as `undo`.
        """
        stuck: list[str] = []
        for ref in self._newest_first(refs):
            paths = paths_of(ref)
            done = ref.state is MutationState.REVERSED or not ref.reversal_tool or ref.is_empty
            if done or (stuck and (not paths or meet(paths, stuck))):
                continue
            for without_git in (False, True) if 0 < len(outside_of_git(paths)) < len(paths) else (False,):
                undone = self._undo_or_say(ref, by, reason, without_git)
                yield undone
                if undone.state != "failed":
                    break
            if undone.state != "reversed":
                if undone.state not in ("failed", "in part") or not paths:
                    return
                stuck += outside_of_git(paths)

    def _undo_or_say(self, ref: MutationRef, by: Decider, reason: str, without_git: bool) -> Undone:
        """`undo`, or why there is none."""
        try:
            return self.undo(ref, by, reason, without_git=without_git)
        except NoReversalToken as refusal:
            return Undone(ref.mutation_id, "failed", refusal.message)

    def _run(
        self, ctx: RunContext, ref: MutationRef, cause: str, approval_id: str, wanted: Variant | None = None
    ) -> Undone:
        """Perform a reversal under an approval of its exact arguments."""
        call = self._reversal(ref, cause, [_reason(f"{cause}: approved")], wanted)
        return self._undone(ref, self._call(ctx, ref, call, approval_id, wanted), wanted)

    def _call(
        self,
        ctx: RunContext,
        ref: MutationRef,
        call: Reversal,
        approval_id: str = "",
        wanted: Variant | None = None,
    ) -> ToolResult:
        tool_id, args = (wanted.tool_id, wanted.args) if wanted else (ref.reversal_tool, ref.reversal_args)
        return self.executor.execute_recovery(ctx, tool_id, args, call, approval_id)

    @begins_itself
    def fire(self, ref: MutationRef) -> ToolResult:
        """Reverse without asking where nobody has to agree, as the recovery loop has made sure before; else ask."""
        ctx = self.context(f"undo {ref.mutation_id}, since an assumption turned false")
        asks = self.resolver()(ref) is not RecoveryApprovalMode.AUTO
        reasons = [_reason("an assumption turned false")] if asks else []
        return self._call(ctx, ref, self._reversal(ref, "auto", reasons))

    @begins_itself
    def reverse(self, ref: MutationRef) -> ToolResult:
        """Reverse what a failed call half did: at once where nobody has to agree, else by the request that the failed
        result names."""
        if self.resolver()(ref) is RecoveryApprovalMode.AUTO:
            return self.fire(ref)
        ctx = self.context(f"ask whether to undo {ref.mutation_id}")
        return self._open_request(
            ctx, ref, "partial effect", f"{ref.tool_id} failed after a part of its effect"
        )

    @begins_itself
    def undo_own(self, ref: MutationRef, reason: str) -> Undone:
        """Take back a call at the wish of the agent that made it: at once where nobody has to agree, else by a request.

        Args:
            reason: the agent's own words.

        Raises:
            NoReversalToken: there is no undo, or not any more.
        """
        self._require_reversible(ref)
        ctx = self._undoing(ref, UNDO)
        if self.resolver()(ref) is RecoveryApprovalMode.AUTO:
            result = self._call(ctx, ref, self._reversal(ref, UNDO, []))
        else:
            result = self._open_request(ctx, ref, UNDO, f"{ref.agent} asks to undo its own call: {reason}")
        waits = _request_in(result)
        return Undone(ref.mutation_id, "waiting", waits, result) if waits else self._undone(ref, result, None)

    def escalate(self, ref: MutationRef, event: AssumptionInvalidated, why: str) -> tuple[str, str]:
        """Put a reversal before a person; once for each cause, and not again after it was dismissed.

        Returns:
            The id of the approval that waits, "" for none, and what to say of it.
        """
        known = self.escalations.about(ref.call_id, event.assumption_ref)
        if known is not None and known.state not in _ASKED_AGAIN:
            return known.approval_id, f"{known.id}, about the same, is {known.state} already"
        try:
            self._require_reversible(ref)
        except NoReversalToken as error:
            return self._no_way_back(ref, event, why, error.message)
        ctx = self.context(f"ask whether to undo {ref.mutation_id}")
        asked = self._why_not_auto(ref)
        why = "; ".join(filter(None, (why, asked)))
        result = self._open_request(ctx, ref, event.assumption_ref, why)
        approval_id = _request_in(result)
        if approval_id:
            # A request that waits for another reason already was not queued again.
            with self.log.write(power=True) as write:
                open_escalation(self.mutations, write, ref, event.assumption_ref, why, approval_id)
            return approval_id, asked
        if result.success:
            return "", "it was agreed to before, and is undone"
        return self._no_way_back(ref, event, why, f"it could not be offered: {result.error_message}")

    def _why_not_auto(self, ref: MutationRef) -> str:
        auto = RecoveryApprovalMode.AUTO
        if ref.recovery_approval_mode is not auto or self.resolver()(ref) is auto:
            return ""
        command = f"sb runtime-guard show reversal {ref.tool_id}"
        return (
            f"{ref.tool_id} declares auto, but the reversal of this call is not the approved one: {command}"
        )

    def _no_way_back(
        self, ref: MutationRef, event: AssumptionInvalidated, why: str, obstacle: str
    ) -> tuple[str, str]:
        with self.log.write(power=True) as write:
            open_escalation(self.mutations, write, ref, event.assumption_ref, f"{why}; {obstacle}")
        return "", obstacle

    def note(self, event: AssumptionInvalidated) -> None:
        """Put on the log that an assumption turned false."""
        untrusted = {"assumption": assumption_name(event.assumption_ref), "reason": event.reason}
        facts = {"mutation": event.mutation_id} if event.mutation_id else {}
        self.log.append(RECOVERY_INVALIDATED, untrusted, Subject(event.run_id), facts)

    def record(self, decision: RuntimeDecisionRecord) -> None:
        """Keep a decision of the recovery loop on the log, tied to the call that it is about."""
        ref = self.mutations.get(decision.reverses_mutation_ref)
        subject = Subject(ref.run_id, "", ref.agent, ref.tool_id, ref.call_id)
        facts = decision.to_dict()
        reason = facts.pop("reason")
        self.log.append(RECOVERY_DECIDED, {"reason": reason}, subject, facts)

    def approve(self, reference: str, by: Decider, reason: str, *, displayed: str = "") -> Undone:
        """Agree to a reversal that waits, or was tried in vain, and perform it once everybody who has to has agreed.

        Args:
            reference: id of an escalation, its approval, its mutation or its call.
            displayed: as for `Approvals.approve`.

        Raises:
            NotFoundError: there is no such escalation.
            NoReversalToken: nothing can be reversed.
            others: as `Approvals.approve`.
        """
        found = self.escalations.get(reference)
        self.escalations.confirm(found)
        if found.state is EscalationState.DISMISSED:
            raise NoReversalToken(f"{found.id} is dismissed already", f"sb undo {found.mutation_id}")
        if not found.mutation_id:
            raise NoReversalToken(
                f"{found.id} cannot be reversed: {found.why}", f"sb recovery dismiss {found.id}"
            )
        ref = self.mutations.get(found.mutation_id)
        self._require_reversible(ref)
        ctx = self._undoing(ref, found.cause)
        approval = None if found.state in _ASKED_AGAIN else self._request_of(found)
        if approval is None or not self._fits(approval, ref):
            result = self._open_request(ctx, ref, found.cause, f"{by.name} tries it again: {found.cause}")
            asked = _request_in(result)
            if not asked:
                return self._undone(ref, result)
            approval = self.approvals.get(asked)
        if approval.state is not ApprovalState.APPROVED:
            approval = self.approvals.approve(approval.id, by, reason, displayed=displayed)
        if approval.state is ApprovalState.WAITING:
            return _one_agreed(ref, by, found.id)
        return self._run(ctx, ref, found.cause, approval.id)

    def perform_approved(self) -> list[Undone]:
        """Perform the reversals that people agreed to elsewhere, in the queue of approvals, and nobody performed yet."""
        approved = [
            escalation
            for escalation in self.escalations.page(limit=0)
            if escalation.state is EscalationState.APPROVED
        ]
        # Two causes may have led to one.
        by_mutation = {
            escalation.mutation_id: escalation for escalation in approved if escalation.mutation_id
        }
        return [
            self._perform(escalation, self.mutations.get(name)) for name, escalation in by_mutation.items()
        ]

    def _perform(self, found: Escalation, ref: MutationRef) -> Undone:
        ctx = self._undoing(ref, found.cause)
        if self._fits(self.approvals.get(found.approval_id), ref):
            return self._run(ctx, ref, found.cause, found.approval_id)
        result = self._open_request(
            ctx, ref, found.cause, f"{ref.reversal_tool} is not what was agreed to any more"
        )
        undone = self._undone(ref, result)
        return replace(undone, state="waiting") if _request_in(result) else undone

    def dismiss(self, reference: str, by: Decider, reason: str) -> Escalation:
        """Leave it as it is, and say why; raises like `approve`."""
        found = self.escalations.get(reference)
        self.escalations.confirm(found)
        if found.state is EscalationState.WAITING:
            self.approvals.deny(self._request_of(found).id, by, reason)
        elif found.state is EscalationState.APPROVED:
            self.approvals.revoke(self._request_of(found).id, by, reason)
        elif found.state in (EscalationState.DISMISSED, EscalationState.REVERSED):
            raise NoReversalToken(f"{found.id} is {found.state} already")
        reason = required(reason)
        about = {"escalation": found.id, "database": self.log.database_id}
        signed = self.approvals.signed(by, "dismiss", about, reason)
        subject = Subject(found.run_id, "", found.agent, found.tool_id, found.call_id)
        with self.log.write(power=True) as write:
            facts = {"signed": signed, "escalation": found.id}
            write.append(RECOVERY_DISMISSED, {"reason": reason, "by": by.name}, subject, facts)
            write.execute("UPDATE escalations SET state = 'dismissed' WHERE number = ?", (found.number,))
        return self.escalations.get(found.id)

    def _fits(self, approval: Approval, ref: MutationRef) -> bool:
        """True if a request is for the reversal as declared now, and can be approved; else it is asked anew."""
        tool = self.executor.registry.tool(ref.reversal_tool)
        same = tool is not None and tool.current_fingerprint() == approval.fingerprint
        return same and SHOWN in approval.request and approval.needed >= self._people(ref)

    def _request_of(self, found: Escalation) -> Approval:
        """The request that an escalation is tied to, if it is for the reversal of that mutation; raises DeniedError."""
        approval = self.approvals.get(found.approval_id)
        if (approval.agent, approval.reverses) != (RECOVERY_AGENT, found.mutation_id):
            raise DeniedError(f"{approval.id} is for another call than {found.id} says", "sb log verify")
        return approval

    def _require_reversible(self, ref: MutationRef) -> None:
        guard(self.mutations, ref.mutation_id, self.mutations.now())
        if ref.reversal_tool not in self.executor.registry:
            why = f"{ref.reversal_tool}, which undoes {ref.mutation_id}, is not registered here"
            raise NoReversalToken(why, "sb kernel tools lists those that are; the setting tools loads more")

    def _reversal(
        self, ref: MutationRef, cause: str, reasons: list[dict[str, str]], wanted: Variant | None = None
    ) -> Reversal:
        ends = ref.window_ends_at or self.mutations.now() + _NO_WINDOW_S * MICROSECONDS
        kind = PartialReversal if wanted and wanted.partial else Reversal
        return kind(
            self.mutations,
            ref,
            cause,
            reasons=reasons,
            people=self._people(ref),
            expires_at=ends,
            undoable=bool(wanted and wanted.over),
        )

    def _people(self, ref: MutationRef) -> int:
        return 2 if self.resolver()(ref) is RecoveryApprovalMode.DUAL_CONTROL else 1

    def _open_request(
        self, ctx: RunContext, ref: MutationRef, cause: str, why: str, wanted: Variant | None = None
    ) -> ToolResult:
        """Make the request that goes before a person; the call itself is refused with it."""
        return self._call(ctx, ref, self._reversal(ref, cause, [_reason(why)], wanted), "", wanted)

    def _undone(self, ref: MutationRef, result: ToolResult, wanted: Variant | None = None) -> Undone:
        if result.effect is Effect.PARTIAL:
            return Undone(ref.mutation_id, "in part", result.error_message, result)
        if wanted is not None and wanted.partial:
            state = "reversed" if result.success else "failed"
            return Undone(ref.mutation_id, state, result.error_message or "a part was undone", result)
        state = self.mutations.get(ref.mutation_id).state
        if state is MutationState.REVERSED:
            return Undone(ref.mutation_id, "reversed", f"{ref.tool_id} was undone", result)
        if state is MutationState.COMMITTED:
            return Undone(ref.mutation_id, "failed", result.error_message, result)
        number = self.mutations.number(ref.mutation_id)
        doubtful = any(intent.reverses == number for intent in self.executor.in_doubt())
        return Undone(ref.mutation_id, "in doubt" if doubtful else "under way", result.error_message, result)


def _one_agreed(ref: MutationRef, by: Decider, reference: str) -> Undone:
    detail = f"{by.name} agreed; a second person has to: sb recovery approve {reference} --reason TEXT"
    return Undone(ref.mutation_id, "waiting", detail)


def _request_in(result: ToolResult) -> str:
    """The request that a refused call has become, or "": what a reversal answered is not looked at."""
    return (
        "" if result.success or not isinstance(result.data, dict) else str(result.data.get("approval_id", ""))
    )


def _reason(why: str) -> dict[str, str]:
    return {"rule": "recovery", "reason": why}
