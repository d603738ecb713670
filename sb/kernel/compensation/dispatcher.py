"""Decide what is done about a failed call.

What failed (ErrorKind) is kept apart from what to do (CompensationAction); PLAYBOOK maps one to the other. The
dispatcher decides, and does nothing that its caller did not hand it a callable for. Source: the survival layer, section 2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from sb.base.secrets.redaction import scrub
from sb.base.sources import SYSTEM_CLOCK, SYSTEM_IDS, Clock, Ids, micros
from sb.errors import SBError, UsageError
from sb.kernel.compensation.outcome import (
    CompensationKind,
    CompensationOutcome,
    Escalate,
    FailedCall,
    FailureNotice,
    InDoubt,
    Refresh,
    Retry,
    outcome_of,
    refused,
)
from sb.kernel.compensation.reversal_guard import NoReversalToken, guard
from sb.kernel.contracts import Assumption, MutationRef, ToolResult
from sb.kernel.error_classifier.error_codes import message_for
from sb.kernel.error_classifier.verdicts import CompensationAction, safe_line, verdict_for
from sb.kernel.recovery_loop.external_reversal import ExternalReversal
from sb.kernel.reversibility.mutations import MutationStore, secrets_of
from sb.kernel.run_context import RunContext
from sb.log.event import Subject
from sb.store import driver

MOST_ATTEMPTS = 10


Reverse = Callable[[MutationRef], ToolResult | None]
_R = TypeVar("_R", bound=Callable[..., Any])


def begins_itself(runner: _R) -> _R:
    """Mark a function that reverses by a call of the executor, which takes the mutation with its intent."""
    runner.__dict__["begins_itself"] = True
    return runner


class CompensationDispatcher:
    """Decides what is done about failed calls, and does what it was handed a callable for.

    Args:
        mutation_store: where reversals find their token; without it every reversal is refused.
        retry: waits for the given seconds, runs the call again and returns its result.
        refresh: reads again what the call is based on; False if it cannot tell what that is. Raises if that fails.
        escalate: tells a person.
        reverse: performs a reversal; raises, or returns a failed result, if that does not work.
        in_doubt: whether nobody knows if the call happened; such a call is never repeated.
        max_attempts: of one call, the first included: 1 to 10.
        base_wait_s: seconds before the second attempt, doubled for each further one, with jitter.
        longest_wait_s: seconds above which a retry is scheduled instead of waited for.
    """

    def __init__(
        self,
        mutation_store: MutationStore | None = None,
        *,
        retry: Retry | None = None,
        refresh: Refresh | None = None,
        escalate: Escalate | None = None,
        reverse: Reverse | None = None,
        in_doubt: InDoubt | None = None,
        max_attempts: int = 3,
        base_wait_s: float = 0.5,
        longest_wait_s: float = 60.0,
        clock: Clock = SYSTEM_CLOCK,
        ids: Ids = SYSTEM_IDS,
    ) -> None:
        if not 1 <= max_attempts <= MOST_ATTEMPTS:
            raise UsageError(f"max_attempts is {max_attempts!r}, must be 1 to {MOST_ATTEMPTS}")
        if not (base_wait_s >= 0 and longest_wait_s >= 0):
            raise UsageError("base_wait_s and longest_wait_s must be seconds from 0")
        self._store = mutation_store
        self._retry = retry
        self._refresh = refresh
        self._escalate = escalate
        self._reverse = reverse
        self._in_doubt = in_doubt
        self._max_attempts = max_attempts
        self._base_wait_s = base_wait_s
        self._longest_wait_s = longest_wait_s
        self._clock = clock
        self._ids = ids

    def dispatch(
        self,
        ctx: RunContext,
        *,
        tool_id: str,
        call_id: str,
        args: Mapping[str, Any] | None,
        result: ToolResult | BaseException,
        attempt: int = 1,
        step: str = "",
        assumptions: Sequence[Assumption | str] = (),
    ) -> CompensationOutcome:
        """Decide about a failed call, and repeat it here, until it works or no more can be done, if that is possible.

        Args:
            result: the failed result, or the exception.
            attempt: which attempt of the call this was, from 1. After the first its evidence counts as refreshed.
            step, assumptions: as they were given to `ToolExecutor.execute`, for a repetition.

        Raises:
            UsageError: the result is a success, or attempt is not a number from 1.
        """
        if attempt < 1:
            raise UsageError(f"attempt is {attempt!r}, must be a number from 1")
        call = FailedCall(
            ctx,
            tool_id,
            call_id,
            dict(args or {}),
            verdict_for(result, clock=self._clock),
            attempt,
            step,
            tuple(assumptions),
            result if isinstance(result, ToolResult) else None,
            refreshed=attempt > 1,
        )
        return self._compensate(call)

    def reverse(self, call_id: str, runner: Reverse) -> CompensationOutcome:
        """Reverse what a call changed, if there is a token for it.

        Args:
            call_id: the call's id, or that of what it left behind.
            runner: performs the reversal that the token describes; raises, or returns a failed result, if it does
                not work, which a person is told. It is begun once, whoever else tries: one that ends in a timeout or
                a lost connection, or with the process, is in doubt.
        """
        try:
            ref = self._token(call_id)
        except NoReversalToken as refusal:
            return refused(call_id, refusal.message)
        return self._run_reversal(ref, runner)

    def _token(self, call_id: str) -> MutationRef:
        return guard(self._store, call_id, micros(self._clock.now()))

    def _compensate(self, call: FailedCall) -> CompensationOutcome:
        action, message = call.verdict.action, call.verdict.message
        if action is CompensationAction.RETRY_WITH_BACKOFF:
            return self._try_again(call)
        if action is CompensationAction.REFRESH_EVIDENCE:
            return self._refresh_evidence(call)
        if action is CompensationAction.REVERSE:
            return self._reverse_call(call)
        if action is CompensationAction.DEPRECATE_AND_REPLAN:
            say = "Do not repeat this call: it happened before, or just now. Plan anew from what is there."
            return outcome_of(CompensationKind.DEPRECATED, call, message, action, say)
        if action is CompensationAction.REPLAN:
            say = "Do not repeat this call as it is: change its arguments, or find another way."
            return outcome_of(CompensationKind.REPLAN, call, message, action, say)
        if action is CompensationAction.ABORT:
            return outcome_of(CompensationKind.ABORTED, call, message, action, "End this run.")
        return self._ask_a_person(call, message)

    def _why_not_again(self, call: FailedCall) -> str:
        """The reason why the call must not be repeated, or ""."""
        if call.verdict.in_doubt or self._asked_in_doubt(call):
            return (
                f"nobody knows whether {call.call_id} happened, so it is not repeated: {call.verdict.message}"
            )
        if call.attempt >= self._max_attempts:
            return f"failed {call.attempt} times, at last: {call.verdict.message}"
        return ""

    def _asked_in_doubt(self, call: FailedCall) -> bool:
        if self._in_doubt is None:
            return False
        try:
            return self._in_doubt(call)
        except (SBError, driver.Error):
            return True

    def _try_again(self, call: FailedCall) -> CompensationOutcome:
        why_not = self._why_not_again(call)
        if why_not:
            return self._ask_a_person(call, why_not)
        wait_s = self._wait_s(call)
        if self._retry is None or wait_s > self._longest_wait_s:
            say = f"Repeat this call, as it was, after {wait_s:.3g} seconds."
            return outcome_of(
                CompensationKind.RETRY_SCHEDULED,
                call,
                call.verdict.message,
                CompensationAction.RETRY_WITH_BACKOFF,
                say,
                after_s=wait_s,
                attempt=call.attempt + 1,
            )
        return self._repeat(call, self._retry, wait_s, CompensationKind.RETRIED)

    def _wait_s(self, call: FailedCall) -> float:
        doubled = min(self._base_wait_s * 2.0 ** (call.attempt - 1), self._longest_wait_s)
        return max(doubled * (0.5 + self._ids.random() / 2), call.verdict.retry_after_s or 0.0)

    def _refresh_evidence(self, call: FailedCall) -> CompensationOutcome:
        if call.refreshed:
            reason = f"still stale after its evidence was refreshed: {call.verdict.message}"
            return self._ask_a_person(call, reason)
        why_not = self._why_not_again(call)
        if why_not:
            return self._ask_a_person(call, why_not)
        done = False
        if self._refresh is not None:
            try:
                done = self._refresh(call)
            except Exception as error:  # noqa: BLE001 - whatever the caller's callable raises, the evidence is not fresh
                reason = f"its evidence could not be refreshed: {safe_line(message_for(error))}"
                return self._ask_a_person(call, reason)
        if done and self._retry is not None:
            return self._repeat(call, self._retry, 0.0, CompensationKind.EVIDENCE_REFRESHED)
        say = (
            "Repeat this call once."
            if done
            else "Read again what this call is based on, then repeat it once."
        )
        return outcome_of(
            CompensationKind.EVIDENCE_REFRESHED,
            call,
            call.verdict.message,
            CompensationAction.REFRESH_EVIDENCE,
            say,
            performed=done,
            attempt=call.attempt + 1,
        )

    def _repeat(
        self, call: FailedCall, retry: Retry, wait_s: float, kind: CompensationKind
    ) -> CompensationOutcome:
        failure: ToolResult | BaseException
        try:
            failure = result = retry(call, wait_s)
        except Exception as error:  # noqa: BLE001 - what the caller's callable raises is the next failure
            failure, result = error, None
        if result is not None and result.success:
            reason = f"it worked at attempt {call.attempt + 1}, after: {call.verdict.message}"
            return CompensationOutcome(kind, reason, {}, call.verdict, result, performed=True)
        again = replace(
            call,
            verdict=verdict_for(failure, clock=self._clock),
            attempt=call.attempt + 1,
            call_id=result.call_id if result is not None else call.call_id,
            result=result,
            refreshed=call.refreshed or kind is CompensationKind.EVIDENCE_REFRESHED,
        )
        return self._compensate(again)

    def _ask_a_person(self, call: FailedCall, reason: str) -> CompensationOutcome:
        approval_id = call.verdict.approval_id
        more = {"approval_id": approval_id} if approval_id else {}
        if self._escalate is not None:
            self._escalate(FailureNotice(call.subject, reason, call.verdict))
        action, say = (
            CompensationAction.ESCALATE_TO_HUMAN,
            "Do not go on with this: a person has to look at it.",
        )
        escalated = self._escalate is not None
        return outcome_of(CompensationKind.ESCALATED, call, reason, action, say, performed=escalated, **more)

    def _reverse_call(self, call: FailedCall) -> CompensationOutcome:
        try:
            ref = self._token(call.call_id)
        except NoReversalToken as refusal:
            if self._escalate is not None:  # something half done stays, and only a person can see to it
                self._escalate(FailureNotice(call.subject, safe_line(refusal.message), call.verdict))
            return replace(
                refused(call.call_id, refusal.message, call.tool_id),
                verdict=call.verdict,
                result=call.result,
            )
        if self._reverse is None:
            say = f"Reverse {ref.mutation_id} with {ref.reversal_tool}."
            return outcome_of(
                CompensationKind.REVERSAL_SCHEDULED,
                call,
                call.verdict.message,
                CompensationAction.REVERSE,
                say,
                mutation_id=ref.mutation_id,
                reversal_tool=ref.reversal_tool,
            )
        return replace(self._run_reversal(ref, self._reverse), verdict=call.verdict)

    def _run_reversal(self, ref: MutationRef, runner: Reverse) -> CompensationOutcome:
        begun: ExternalReversal | None = None
        if self._store is not None and not getattr(runner, "begins_itself", False):
            try:
                begun = ExternalReversal(self._store, ref)
            except (SBError, driver.Error) as refusal:
                return refused(ref.call_id, safe_line(str(refusal)), ref.tool_id)
        result: ToolResult | None = None
        verdict = None
        try:
            result = runner(ref) if begun is None else begun.run(runner)
        except Exception as error:  # noqa: BLE001 - whatever the runner raises, the reversal did not work
            verdict = verdict_for(error, clock=self._clock)
        if result is not None and not result.success:
            verdict = verdict_for(result, clock=self._clock)
        if verdict is None:
            reason = f"{ref.mutation_id} was reversed with {ref.reversal_tool}"
            return CompensationOutcome(CompensationKind.REVERSED, reason, {}, result=result, performed=True)
        verdict = replace(verdict, message=scrub(verdict.message, secrets_of(ref)))
        reason = f"the reversal of {ref.mutation_id} did not work: {verdict.message}"
        if self._escalate is not None:
            subject = Subject(ref.run_id, "", ref.agent, ref.tool_id, ref.call_id)
            self._escalate(FailureNotice(subject, reason, verdict))
        directive: dict[str, Any] = {
            "action": str(CompensationAction.ESCALATE_TO_HUMAN),
            "say": "Do not go on with this: a person has to look at it.",
            "tool_id": ref.tool_id,
            "call_id": ref.call_id,
            "mutation_id": ref.mutation_id,
        } | ({"approval_id": verdict.approval_id} if verdict.approval_id else {})
        escalated = self._escalate is not None
        return CompensationOutcome(CompensationKind.ESCALATED, reason, directive, verdict, result, escalated)
