"""The one path for calls that another program performs: judged before, reported afterwards.

A coding agent's host makes its own tool calls; it asks before and tells afterwards, from processes of their own. What
is announced here is an intent like any other, but no process's death puts it in doubt: its owner is the host. That a
call was judged and never reported back is normal, since a person may have refused it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sb.base.sources import Ids
from sb.base.values.canonical import freeze
from sb.errors import SBError
from sb.kernel.calls.call import Ask, Refused, ToolCall
from sb.kernel.calls.host_questions import ASKED_BY, LAPSED, has_lapsed
from sb.kernel.calls.intents import Intent, IntentState, KnownStep, Step, step_name
from sb.kernel.contracts import ToolErrorCode, ToolResult
from sb.kernel.execution.admission import Admission, release
from sb.kernel.execution.outcome import Outcome
from sb.kernel.execution.recorder import Ended, Recorder, safe_message
from sb.kernel.registry.registry import IDEMPOTENCY_KEY
from sb.kernel.results import Effect, ResultDetails
from sb.kernel.run_context import SUBAGENT, RunContext
from sb.log.kinds import TOOL_DISPATCH
from sb.store import driver

OPERATORS_OWN = "operators_own"  # the rule that keeps agents from what decides about them
_ONE_OF = "#"  # between what a call is and which one of them it is
_ENDED_AS = """EXISTS (SELECT 1 FROM events AS later WHERE later.run_id = events.run_id AND later.call_id = events.call_id
    AND later.kind = events.kind AND json_valid(later.payload) AND json_extract(later.payload, '$.phase') = '{}' {})"""
# A report has the note itself. Without one, what nobody was asked about may have been made, and what has had its effect was.
_REPORTED = f"AND (? OR json_extract(later.payload, '$.state') <> '{IntentState.UNREPORTED}')"
_NOTED = f"""SELECT 1 FROM events WHERE run_id = ? AND kind = ? AND payload LIKE ? AND json_valid(payload) AND (
    json_extract(payload, '$.phase') = 'outcome' OR {_ENDED_AS.format("in_doubt", "")}
    OR json_extract(payload, '$.{ASKED_BY}') IS NULL AND NOT {_ENDED_AS.format("outcome", _REPORTED)}) LIMIT 1"""
LONGEST_CALL_S = 86_400.0  # after it a call that nobody reported is in doubt


class Report(NamedTuple):
    """A host's report of a call that it performed.

    Args:
        value: what the call gave, plain JSON.
        error: why it failed, or "".
        interrupted: it was cut short, so that nobody knows how far it came.
        latency_ms: milliseconds that it took.
        unchanged: it is known to have changed nothing, so that there is nothing to undo.
    """

    value: Any = None
    error: str = ""
    interrupted: bool = False
    latency_ms: float = 0.0
    unchanged: bool = False


class ExternalCalls:
    """Judges and records the calls of one executor's registry that a host performs.

    The function of such a tool is called between judging and performing, with the arguments and the call's idempotency
    key: it keeps what the call will overwrite. When it raises, the call is refused.
    """

    def __init__(self, admission: Admission, recorder: Recorder, ids: Ids) -> None:
        self._admission = admission
        self._recorder = recorder
        self._ids = ids

    def announce(
        self,
        ctx: RunContext,
        tool_id: str,
        args: dict[str, Any],
        *,
        step: str,
        host_has_no_call_ids: bool = False,
        refused: str = "",
        refused_by: str = OPERATORS_OWN,
        host_asks: bool = False,
        unshowable: str = "",
        asked: Sequence[Ask] = (),
        host_permits: bool = False,
        notes: dict[str, Any] | None = None,
        nonce: str = "",
        again: bool = False,
    ) -> ToolResult:
        """Judge a call that its host is about to perform, and put it on record if it may change something.

        Args:
            step: the host's own id of the call; the same one asked for again is the same call, until it is reported.
            host_has_no_call_ids: `step` then says what the call is, and each one announced is a call of its own.
            refused: why no host may perform it, whatever the policy says; "" if it is for the policy to say.
            refused_by: the rule that refuses it then.
            host_asks: the host asks its own person where one has to agree. Their yes is a permission, never an
                approval: of what destroys or stays it counts only while nobody is enrolled, and never for two people.
            unshowable: why `args` do not hold all that would run; then no person can agree to it here.
            asked: what about the arguments a person has to agree to, whatever the policy says.
            host_permits: the host asks its own person where a permission is enough.
            notes: facts for the intent, which a call that only reads has too then.
            nonce: names the host's question: of calls without ids, two of the same nonce are one.
            again: the question may have been judged before, and its host has no answer, so the call was not made.

        Returns:
            Success when the host may perform it, with `data={"ask": why}` when it has to ask; else the refusal. Either
            says with `lapsed` that the last question about this very call got no answer.
        """
        step = step_name(step)
        call = self._call(ctx, tool_id, self._one_of(step, nonce) if host_has_no_call_ids else step)
        call.host_asks, call.unshowable = host_asks, unshowable
        call.asked, call.host_permits, call.notes = asked, host_permits, notes or {}
        try:
            if refused:
                self._admission.describe(call, args)
                raise Refused(ToolErrorCode.PERMISSION_DENIED, refused, refused_by)
            self._admission.admit(call, args)
            if call.announced:
                self._prepare(call, self._recorder.intent(call, LONGEST_CALL_S))
        except KnownStep as known:
            release(call)
            if known.done or not known.same_args:
                return self._refused(call, _made_before(call, known))
            return self._announced_again(call, known, again=again)
        except Refused as refusal:
            release(call)
            return self._refused(call, refusal)
        return self._let_go(call, call.call_id)

    def _let_go(self, call: ToolCall, call_id: str) -> ToolResult:
        """The host may perform the call; it is told to ask where it has to."""
        asked = self._question(call) if call.host_asks and call.reasons else None
        return ToolResult.ok(call.tool_id, asked, call_id=call_id, trace_id=call.ctx.trace_id)

    def _question(self, call: ToolCall) -> dict[str, Any]:
        """The question for the host's person, and whether the same one lapsed before."""
        questions = {ask.reason: ask.to_dict_in_place() for ask in call.asked}
        reasons = [questions.get(reason["reason"], reason) for reason in call.reasons]
        data: dict[str, Any] = {
            "ask": "; ".join(reason["reason"] for reason in reasons),
            "reasons": reasons,
        }
        return data | ({LAPSED: True} if has_lapsed(self._recorder.log, call) else {})

    def _announced_again(self, call: ToolCall, known: KnownStep, *, again: bool) -> ToolResult:
        """Answer a host that asks about a call that has not ended: of one that waits for its person, that it waits.

        Args:
            again: the host did not receive the first answer, so that what was to be kept is kept now.
        """
        intent = next(
            (item for item in self.unreported(call.ctx.run_id) if item.call_id == known.call_id), None
        )
        if intent is None and again:
            return self._refused(call, _made_before(call, known))
        call.host_asks = intent is not None and self.has_note(intent, ASKED_BY)
        call.call_id = known.call_id
        if intent is None or not again:
            return self._let_go(call, known.call_id)
        call.identity = Step(intent.step, intent.step_key, intent.args_digest, intent.idempotency_key)
        try:
            self._prepare(call, intent.id)
        except Refused as refusal:
            return self._refused(call, refusal)
        return self._let_go(call, known.call_id)

    def report(
        self,
        ctx: RunContext,
        tool_id: str,
        args: dict[str, Any],
        report: Report,
        *,
        step: str,
        host_has_no_call_ids: bool = False,
        nonce: str = "",
        again: bool = False,
        summed_up: bool = False,
        notes: dict[str, Any] | None = None,
    ) -> ToolResult:
        """Record how a call ended. One that was reported before, or only read and was announced, is recorded once.

        Args:
            tool_id, args: as they were announced, for a call of which nobody was told before.
            host_has_no_call_ids: as it was announced; the oldest one of that `step` that has not ended has ended.
            nonce: names the host's report. again: it may be on record under that nonce.
            summed_up: the host sums up several calls; one that its person refused may have a response there too.
            notes: facts for the outcome.
        """
        nonce = nonce if host_has_no_call_ids else ""
        if again and nonce and (call_id := self._recorder.reported_as(ctx.run_id, nonce)):
            return ToolResult.ok(tool_id, call_id=call_id, trace_id=ctx.trace_id)
        while True:
            try:
                return self._report(
                    ctx,
                    tool_id,
                    args,
                    report,
                    step,
                    host_has_no_call_ids=host_has_no_call_ids,
                    nonce=nonce,
                    summed_up=summed_up,
                    notes=notes or {},
                )
            except (
                Ended
            ):  # another process has reported it since: the next one like it, or the one that is known
                continue

    def _report(
        self,
        ctx: RunContext,
        tool_id: str,
        args: dict[str, Any],
        report: Report,
        step: str,
        *,
        host_has_no_call_ids: bool,
        nonce: str,
        summed_up: bool,
        notes: dict[str, Any],
    ) -> ToolResult:
        step = step_name(step)
        intent = self.pending(ctx.run_id, step, host_has_no_call_ids=host_has_no_call_ids)
        name = intent.step if intent else self._one_of(step, nonce) if host_has_no_call_ids else step
        call = self._call(ctx, intent.tool_id if intent else tool_id, name)
        call.nonce, call.summed_up, call.notes = nonce, summed_up, notes
        self._describe(call, args)
        if intent is None and call.side_effecting and self._known(call):
            return ToolResult.ok(tool_id, call_id=call.call_id, trace_id=ctx.trace_id)
        if intent is not None:
            call.call_id = intent.call_id
            call.identity = Step(intent.step, intent.step_key, intent.args_digest, intent.idempotency_key)
            if not report.unchanged:
                self._admission.consequences.bind(call)
        outcome = _outcome(call, report)
        state = self._recorder.outcome(call, outcome, intent.id if intent else None)
        failed = outcome.code is not None
        return ToolResult(
            call.call_id,
            call.tool_id,
            not failed,
            error_code=outcome.code,
            error_message=outcome.message,
            trace_id=ctx.trace_id,
            mutation_id=call.mutation_id,
            effect=Effect.UNKNOWN if state is IntentState.IN_DOUBT else Effect.UNSTATED,
        )

    def was_denied(self, ctx: RunContext, tool_id: str, args: dict[str, Any]) -> bool:
        """True if a person denied this very call before."""
        call = self._call(ctx, tool_id, "")
        self._describe(call, args)
        return self._admission.gate.was_denied(call)

    def join(self, ctx: RunContext) -> None:
        """Put the start of a host's session on record, once."""
        self._recorder.continue_run(ctx)
        self._recorder.run_started(ctx)

    def begin_turn(self, ctx: RunContext) -> None:
        """Put the start of a turn of a host's session on record."""
        self._recorder.continue_run(ctx)
        self._recorder.turn_began(ctx)

    def leave(self, ctx: RunContext) -> None:
        """Put the end of a host's session on record."""
        self._recorder.continue_run(ctx)
        self._recorder.run_finished(ctx)

    def noted(self, run_id: str, note: str, *, reports_all: bool) -> bool:
        """True if a call of a run that was made, or may have been, has a note; one that its host's person refused has not.

        Args:
            reports_all: the host reports each call that it makes, so that one without a report was not made.
        """
        about = (run_id, TOOL_DISPATCH, f'%"{note}":true%', reports_all)
        return bool(self._recorder.log.database.query(_NOTED, about))

    def has_note(self, intent: Intent, note: str) -> bool:
        """True if an announced call has a note."""
        return bool(self._recorder.intents.announcement_payload(intent).get(note))

    def announced_args(self, intent: Intent) -> dict[str, Any]:
        """The arguments of an announced call as they are on record; {} once that was pruned."""
        args = self._recorder.intents.announcement_payload(intent).get("args")
        return args if isinstance(args, dict) else {}

    def subagent_of(self, intent: Intent) -> str:
        """The host's subagent that announced a call; "" for the session's own agent."""
        return str(self._recorder.intents.announcement_payload(intent).get(SUBAGENT, ""))

    def pending(self, run_id: str, step: str, *, host_has_no_call_ids: bool = False) -> Intent | None:
        """The announced call of a run with the host's id, if it was not reported; of several of that name the oldest."""
        step = step_name(step)
        named = (
            intent
            for intent in self.unreported(run_id)
            if (_kind(intent.step) if host_has_no_call_ids else intent.step) == step
        )
        return next(named, None)

    def _one_of(self, step: str, nonce: str) -> str:
        """A name for one of several equal calls: which number it has, no process alone could tell."""
        return f"{step}{_ONE_OF}{nonce or self._ids.token(8)}"

    def unreported(self, run_id: str) -> list[Intent]:
        """The announced calls of a run that were not reported, oldest first."""
        return self._recorder.intents.announced_in(run_id)

    def give_up(self, intent: Intent, *, happened: bool) -> None:
        """Record that a call will not be reported any more.

        Args:
            happened: its effect is there, or may be; then it is in doubt.
        """
        self._recorder.unreported(intent, happened=happened)

    def _call(self, ctx: RunContext, tool_id: str, step: str) -> ToolCall:
        call = ToolCall(ctx, tool_id, f"call_{self._ids.token(8)}", step)
        call.performed_by = str(ctx.metadata.get("host", "")) or ctx.agent_name
        self._recorder.continue_run(ctx)
        return call

    def _describe(self, call: ToolCall, args: dict[str, Any]) -> None:
        """Fill in what the record says of a call that was judged elsewhere, or never."""
        try:
            self._admission.describe(call, args)
        except Refused as refusal:  # it has happened: that it would be refused now is part of the record
            call.contract.setdefault("refused_now", refusal.rule)

    def _known(self, call: ToolCall) -> bool:
        """True if a call of that step was reported before."""
        try:
            self._recorder.refuse_known_step(call)
        except KnownStep as known:
            call.call_id = known.call_id
            return True
        except Refused:  # it has happened, and what cannot be told of its step is no reason to leave it out
            return False
        return False

    def _prepare(self, call: ToolCall, intent_id: int) -> None:
        key = {IDEMPOTENCY_KEY: call.identity.idempotency_key} if call.identity and call.accepts_key else {}
        try:
            call.fn(**call.args, **key)
        except Exception as error:
            message = safe_message(call, str(error)) or type(error).__name__
            outcome = Outcome(code=ToolErrorCode.PERMISSION_DENIED, message=message, done=False)
            call.notes = {}  # they are about a call that was made
            self._recorder.outcome(call, outcome, intent_id)
            raise Refused(ToolErrorCode.PERMISSION_DENIED, message, "preparation") from error

    def _refused(self, call: ToolCall, refusal: Refused) -> ToolResult:
        message = safe_message(call, refusal.reason)
        if refusal.rule == "requires_approval" and refusal.data and has_lapsed(self._recorder.log, call):
            refusal.data[LAPSED] = True
        try:
            if refusal.rule != "preparation":  # whose outcome is on record
                self._recorder.refused(call, refusal)
                message = safe_message(call, refusal.reason)
        except (SBError, driver.Error) as error:
            message = f"{message} (and this could not be recorded: {error})"
        details: ResultDetails = {
            "call_id": call.call_id,
            "trace_id": call.ctx.trace_id,
            "rule": refusal.rule,
        }
        return ToolResult.error(call.tool_id, refusal.code, message, refusal.data, **details)


def _kind(step: str) -> str:
    return step.rpartition(_ONE_OF)[0]


def _made_before(call: ToolCall, known: KnownStep) -> Refused:
    """The host's id of the call was another one's: what let that one pass does not let this one."""
    what = "was made and reported" if known.same_args else "had other arguments"
    reason = f"{call.step} of this session is {known.call_id}, which {what}"
    return Refused(ToolErrorCode.VALIDATION_ERROR, reason, "step")


def _outcome(call: ToolCall, report: Report) -> Outcome:
    if report.interrupted:
        message = safe_message(call, report.error or "interrupted")
        return Outcome(code=ToolErrorCode.TIMEOUT, message=message, done=False, latency_ms=report.latency_ms)
    if report.error:
        message = safe_message(call, report.error)
        return Outcome(
            code=ToolErrorCode.UNEXPECTED, message=message, done=False, latency_ms=report.latency_ms
        )
    value, encoded = freeze(report.value)
    return Outcome(value, encoded, latency_ms=report.latency_ms)
