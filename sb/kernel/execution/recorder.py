"""Record a call: intent, outcome, refusal, and what belongs into the same transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from sb.base.secrets.redaction import redact_json, redact_text, scrub
from sb.base.sources import micros
from sb.errors import SBError
from sb.kernel.approvals.gate import ApprovalGate
from sb.kernel.baselines.seen import SeenContracts
from sb.kernel.calls.call import Refused, ToolCall
from sb.kernel.calls.consequence import money
from sb.kernel.calls.host_questions import SUMMED_UP, asked_facts, lapsed_facts
from sb.kernel.calls.intents import (
    LEAVES_NOTHING,
    Intent,
    Intents,
    IntentState,
    KnownStep,
    StepResult,
    announcement,
    step_of,
)
from sb.kernel.contracts import REVERSAL_SURFACE, SafetyClass, ToolErrorCode
from sb.kernel.execution.capturing import Capturing
from sb.kernel.execution.outcome import Outcome
from sb.kernel.incident_response.kill_switch import KillSwitch
from sb.kernel.policy.permissions import PolicyAction
from sb.kernel.policy.standing_in import stood_for
from sb.kernel.registry.arguments import LONGEST_LOGGED_VALUE, hidden_names, loggable
from sb.kernel.results import OUTCOME_UNKNOWN
from sb.kernel.reversibility.mutations import Done, MutationStore, begun, sources_of
from sb.kernel.run_context import CONTINUES, OWN_PROGRAM, SUBAGENT, RunContext
from sb.log.event import Subject
from sb.log.event_log import EventLog, LogWrite
from sb.log.kinds import (
    BUDGET_EXCEEDED,
    RUN_FINISHED,
    RUN_STARTED,
    SESSION_TURN,
    TOOL_DISPATCH,
    TOOL_POLICY_BLOCKED,
)
from sb.store import driver

if TYPE_CHECKING:  # what is off need not be loaded
    from sb.kernel.autonomy.judging import Autonomy
    from sb.kernel.boundaries.boundaries import Boundaries

_BLOCKED_BY_POLICY = {
    "capabilities",
    "requires_permission",
    "requires_approval",
    "approval_denied",
    "approval_refused",
}

WHERE_FROM = (
    "host",
    "project",
    "remotes",
    CONTINUES,
)  # of a run's metadata: the program and the project that it belongs to, and that another run has its beginning
NONCE = "nonce"  # of an outcome: names the report of a host that gives its calls no ids
_REPORTS_LOOKED_AT = 200  # of a run, newest first: the other judging of a report was seconds ago


class Ended(Exception):
    """The call that a host reports has an outcome by now, from another process."""


def state_of(call: ToolCall, outcome: Outcome) -> IntentState:
    """Done, failed as the tool reported it, or in doubt: a side effect that ended in a timeout or network error."""
    if outcome.done:
        return IntentState.DONE
    unknown = outcome.code in OUTCOME_UNKNOWN
    return IntentState.IN_DOUBT if unknown and call.can_be_in_doubt else IntentState.FAILED


class Recorder:
    """Writes the events of calls and runs, and the intents beside them, in one transaction each.

    Args:
        gate: where a person's decision is used up.
        kills: the calls that are stopped.
        seen: keeps the contracts of the tools that are met.
        power: whether every intent survives power loss, not only those of destructive tools and of approved calls.
        run_facts: what the start of a run says beside, in plain JSON.
        capture: takes down runs for a replay; None for nobody.
        boundaries: what is recorded of a run beside its context; None for nothing.
        autonomy: the levels that calls are held to, and that violations lower; None for none.
    """

    def __init__(
        self,
        log: EventLog,
        gate: ApprovalGate,
        seen: SeenContracts,
        kills: KillSwitch,
        *,
        power: bool = False,
        run_facts: Callable[[RunContext], Mapping[str, Any]] = lambda _: {},
        capture: Capturing | None = None,
        boundaries: Boundaries | None = None,
        autonomy: Autonomy | None = None,
    ) -> None:
        self.log = log
        self.autonomy = autonomy
        self._boundaries = boundaries
        self.intents = Intents(log)
        self.mutations = MutationStore(log)
        self._gate = gate
        self._kills = kills
        self._seen = seen
        self._seen_reversals = SeenContracts(log, REVERSAL_SURFACE)
        self._power = power
        self._run_facts = run_facts
        self._capture = capture

    def run_started(self, ctx: RunContext) -> None:
        if self._boundaries is not None:
            self._boundaries.prepare(ctx)
        with self.log.write() as write:
            self._announce(write, ctx)

    def continue_run(self, ctx: RunContext) -> None:
        """Continue a run that another process began; its start is not recorded again."""
        if self.log.database.query("SELECT 1 FROM events WHERE run_id = ? LIMIT 1", (ctx.run_id,)):
            ctx.__dict__.setdefault("_announced_in", set()).add(self.log.database_id)

    def run_finished(self, ctx: RunContext, error: str = "") -> None:
        facts: dict[str, Any] = {"elapsed_ms": _milliseconds(ctx.elapsed_ms())}
        # Each call of a host is judged with a budget of its own.
        if (ctx.metadata.get("host") or OWN_PROGRAM) == OWN_PROGRAM:
            facts["budget"] = ctx.budget.to_dict()
        if self._capture is not None:
            self._announce_captured(ctx)
            facts |= self._capture.finished(ctx, error)
        with self.log.write() as write:
            self._announce(write, ctx)
            write.append(RUN_FINISHED, {"error": error} if error else {}, _run_subject(ctx), facts)

    def turn_began(self, ctx: RunContext) -> None:
        """A turn of a host's session, unless the last one is still empty; what its user wrote is not recorded."""
        with self.log.write() as write:
            self._announce(write, ctx)
            newest = "SELECT kind FROM events WHERE run_id = ? ORDER BY id DESC LIMIT 1"
            if write.execute(newest, (ctx.run_id,)).fetchone() != (SESSION_TURN,):
                write.append(SESSION_TURN, {}, _run_subject(ctx))

    def finish_announced(self, ctx: RunContext) -> None:
        """End a run whose start is in this log."""
        if self.log.database_id in ctx.__dict__.get("_announced_in", ()):
            self.run_finished(ctx)

    def _announce_captured(self, ctx: RunContext) -> None:
        """Begin the packet of a run before a call is added to it: a packet is written while nobody waits for the log."""
        if self.log.database_id not in ctx.__dict__.get("_announced_in", ()):
            with self.log.write() as write:
                self._announce(write, ctx)

    def _announce(self, write: LogWrite, ctx: RunContext) -> None:
        """The run's first event, once per run and log; the open transaction keeps other threads out."""
        announced: set[str] | None = ctx.__dict__.get("_announced_in")
        if announced is None:
            announced = ctx.__dict__["_announced_in"] = set()
        if self.log.database_id in announced:
            return
        facts = {
            "safety_mode": str(ctx.safety_mode),
            "locale": str(ctx.locale),
            "budget": ctx.budget.to_dict(),
            **self._run_facts(ctx),
        }
        if self._boundaries is not None:
            facts |= self._boundaries.run_facts(write, ctx)
        untrusted = {"intent": ctx.intent, "session_id": ctx.session_id, "user_sid": ctx.user_sid}
        untrusted |= {name: str(ctx.metadata[name]) for name in WHERE_FROM if ctx.metadata.get(name)}
        if self._capture is not None:
            facts |= self._capture.began(ctx, facts)
        write.append(RUN_STARTED, untrusted, _run_subject(ctx), facts)
        announced.add(self.log.database_id)
        write.undo.append(lambda: announced.discard(self.log.database_id))

    def refused(self, call: ToolCall, refusal: Refused) -> None:
        """Record a call that did not run, and queue the request that it may have become."""
        if refusal.code is ToolErrorCode.BUDGET_EXCEEDED:
            kind = BUDGET_EXCEEDED
        else:
            denied = call.policy is not None and call.policy.action is PolicyAction.DENY
            kind = TOOL_POLICY_BLOCKED if denied or refusal.rule in _BLOCKED_BY_POLICY else TOOL_DISPATCH
        facts = {
            "phase": "refused",
            "code": str(refusal.code),
            "rule": refusal.rule,
            "policy_version": call.policy_version,
            "args_digest": call.args_digest,
            **_approval_rules(call),
            **call.contract,
            **call.boundary,
            **({} if call.recovery is None else call.recovery.facts),
        }
        if self._capture is not None:
            self._announce_captured(call.ctx)
            facts |= self._capture.refused(call, refusal)
        with self.log.write() as write:
            self._announce(write, call.ctx)
            self._meet(write, call)
            if refusal.opens is not None:
                opened = self._gate.open(write, refusal.opens, call)
                refusal.name_request(opened)
                if call.recovery is not None:
                    call.recovery.queued(write, call, opened)
            untrusted = {"reason": scrub(refusal.reason, call.secrets), "args": call.shown_args()}
            write.append(kind, untrusted, call.subject, facts)
            if self.autonomy is not None:
                self.autonomy.refused(write, call, refusal)

    def _meet(self, write: LogWrite, call: ToolCall) -> None:
        if call.contract:
            self._seen.note(write, call.tool, call.fingerprint)
            if call.bound and call.spec.reversal is not None:
                self._seen_reversals.note(write, call.tool, call.tool.reversal_fingerprint)

    def intent(self, call: ToolCall, deadline_s: float) -> int:
        """Commit that the call is about to run; returns the intent's id.

        Args:
            deadline_s: seconds from now after which it cannot be running any more.

        Raises:
            StoreError: it could not be committed, so the call must not run.
            KnownStep: this named step was announced before; it must not run again.
            Refused: it was killed meanwhile, or the person's decision that it needs cannot be used.
        """
        step = call.identity = step_of(call.subject, call.step, call.args_digest)
        facts = {"phase": "intent", "idempotency_key": step.idempotency_key, **self._facts(call)}
        if call.reasons:
            facts |= self._agreed_by(call) | _approval_rules(call)
        facts |= call.notes
        if call.performed_by and call.ctx.metadata.get(SUBAGENT):
            facts[SUBAGENT] = call.ctx.metadata[SUBAGENT]
        untrusted = {"args": call.shown_args(), **money(call)} | ({"step": call.step} if call.step else {})
        irreversible = call.spec.effective_class is SafetyClass.DESTRUCTIVE or bool(call.approval_id)
        with self.log.write(power=self._power or irreversible) as write:
            self.refuse_killed(call, write.execute)  # a kill committed before this precedes the call
            if self.autonomy is not None:
                self.autonomy.hold(call, write.execute)
            if call.step:
                self.intents.refuse_known_step(write.execute, call.subject.run_id, step)
            self._announce(write, call.ctx)
            self._meet(write, call)
            if call.recovery is not None:
                call.recovery.claim(write, call)
            if call.reasons and not call.host_asks:
                self._gate.use(write, call)
            reversal = None if call.can_be_in_doubt else LEAVES_NOTHING
            if call.bound:
                reversal = begun(call.way_back, call.tool.reversal_fingerprint, call.args, call.assumptions)
            owner = self.intents.owner(call.performed_by)
            deadline = micros(self.log.clock.now() + deadline_s)
            facts |= announcement(step, owner, deadline, reversal, self.log.tag)
            event_id = write.append(TOOL_DISPATCH, untrusted, call.subject, facts)
            reverses = None if call.recovery is None else call.recovery.reverses or None
            self.intents.open(
                write,
                event_id,
                call.subject,
                step,
                owner,
                deadline,
                reversal=reversal,
                reverses=reverses,
            )
        return event_id

    def refuse_killed(
        self, call: ToolCall, execute: Callable[..., driver.Cursor] | None = None, *, exact: bool = True
    ) -> None:
        """Raise Refused if a kill stops the call, or if that cannot be told.

        Args:
            execute: of the transaction in which that holds.
            exact: False while it is still to be checked within such a transaction.
        """
        ctx = call.ctx
        try:
            if not self._kills.in_force(execute, exact=exact):
                return
            called = ((call.tool_id, call.spec.effective_class), *stood_for(call.spec, call.args))
            kills = (
                self._kills.check(
                    ctx.agent_name,
                    tool_id,
                    safety_class,
                    ctx.run_id,
                    recovers=call.recovery is not None,
                    exact=exact,
                    execute=execute,
                )
                for tool_id, safety_class in called
            )
            kill = next(filter(None, kills), None)
        except SBError as error:
            reason = f"whether a kill stops it cannot be told: {error.message}"
            raise Refused(ToolErrorCode.PERMISSION_DENIED, reason, "kill_unreadable") from error
        if kill is not None:
            raise Refused(ToolErrorCode.PERMISSION_DENIED, kill.sentence, "killed")

    def refuse_known_step(self, call: ToolCall) -> None:
        """Raise KnownStep if the call is a named step that was announced before; Refused if that cannot be told."""
        if not call.step:
            return
        step = step_of(call.subject, call.step, call.args_digest)
        try:
            with self.log.database.snapshot() as connection:
                self.intents.refuse_known_step(connection.execute, call.subject.run_id, step)
        except SBError as error:
            reason = f"whether it was done before cannot be told: {error.message}"
            raise Refused(ToolErrorCode.PERMISSION_DENIED, reason, "step_unreadable") from error

    def replayed(self, call: ToolCall, known: KnownStep) -> None:
        """Record that a step that is done was asked for again, and nothing was run."""
        facts = {"phase": "replayed", "of": known.call_id, "args_digest": call.args_digest}
        with self.log.write() as write:
            self._announce(write, call.ctx)
            write.append(TOOL_DISPATCH, {"step": call.step}, call.subject, facts)

    def outcome(self, call: ToolCall, outcome: Outcome, intent_id: int | None) -> IntentState:
        """Commit how the call ended, with its intent's state, in one transaction.

        Raises:
            Ended: it was reported by its host, and has an outcome.
        """
        state = state_of(call, outcome)
        budget = call.ctx.budget
        facts = {
            "phase": "outcome",
            "state": state,
            "latency_ms": _milliseconds(outcome.latency_ms),
            "retries": outcome.retries,
            "tool_calls_used": budget.tool_calls_used,
            "latency_ms_used": _milliseconds(budget.latency_ms_used),
        }
        if outcome.code is not None:
            facts["code"] = outcome.code
        else:
            facts["result_digest"] = self.log.digest(outcome.encoded)
            facts["result_bytes"] = len(outcome.encoded)
        untrusted: dict[str, Any] = {"error": outcome.message}
        if outcome.code is None:
            value = scrub(outcome.value, call.secrets) if call.secrets else outcome.value
            untrusted = {"result": loggable(value, len(outcome.encoded))}
        if call.recovery is not None:
            facts |= call.recovery.facts
        facts |= call.notes
        if call.nonce:
            facts[NONCE] = call.nonce
        if call.summed_up:
            facts[SUMMED_UP] = True
        if intent_id is None:
            facts |= self._facts(call)
            untrusted["args"] = call.shown_args()
        else:
            facts |= {"intent": intent_id - self.log.first_id, **call.boundary}
        result = self._kept(call, outcome, state)
        if result is not None:
            facts["step_digest"] = result.digest()
        reported = bool(call.performed_by and intent_id)
        if self._capture is not None and not reported:
            self._announce_captured(call.ctx)
            facts |= self._capture.ended(call, outcome)
        with self.log.write() as write:
            if reported and intent_id and not self.intents.still_started(write.execute, intent_id):
                raise Ended(call.call_id)
            if intent_id is None:  # else both are on record since it was announced
                self._announce(write, call.ctx)
                self._meet(write, call)
            if self._capture is not None and reported:  # here, since two hooks may report the same call
                facts |= self._capture.ended(call, outcome)
            if call.bound and state is IntentState.DONE:
                event_id = self._bind(write, call, outcome, untrusted, facts)
            else:
                event_id = write.append(TOOL_DISPATCH, untrusted, call.subject, facts)
            if intent_id is not None:
                self.intents.close(write, intent_id, state)
                if result is not None:
                    self.intents.record_step(write, result, event_id, call.call_id)
            if call.recovery is not None:
                call.recovery.settle(write, call, state)
        return state

    def reported_as(self, run_id: str, nonce: str) -> str:
        """The id of the call that a host's report of this nonce ended; "" for none."""
        newest = self.log.events(
            run_id=run_id, kind=TOOL_DISPATCH, newest_first=True, limit=_REPORTS_LOOKED_AT
        )
        return next(
            (event.subject.call_id for event in newest if (event.payload or {}).get(NONCE) == nonce), ""
        )

    def unreported(self, intent: Intent, *, happened: bool) -> None:
        """Record that nobody will say any more how an announced call ended; a question about it has lapsed.

        Args:
            happened: its effect is there, or may be.
        """
        announced = {} if happened else self.intents.announcement_payload(intent)
        subject = Subject(intent.run_id, "", intent.agent, intent.tool_id, intent.call_id)
        with self.log.write() as write:
            if not self.intents.still_started(write.execute, intent.id):
                return  # its report came after all
            if happened:
                cause = "its host did not report it, and its effect is there"
                write.append(TOOL_DISPATCH, {}, subject, {"phase": "in_doubt", "cause": cause})
                self.intents.close(write, intent.id, IntentState.IN_DOUBT)
            else:
                state = IntentState.UNREPORTED
                facts = {"phase": "outcome", "state": state, **lapsed_facts(announced)}
                write.append(TOOL_DISPATCH, {}, subject, facts)
                self.intents.close(write, intent.id, state)

    def _bind(
        self,
        write: LogWrite,
        call: ToolCall,
        outcome: Outcome,
        untrusted: dict[str, Any],
        facts: dict[str, Any],
    ) -> int:
        """Append the outcome together with the way back from it."""
        key = call.identity.idempotency_key if call.identity else ""
        done = Done(
            call.way_back,
            call.tool.reversal_fingerprint,
            call.subject,
            sources_of(call.args, outcome.value, call.call_id, key),
            call.assumptions,
            write.next_seq,
            self.mutations.now(),
            hidden_names(call.spec, call.args),
        )
        call.mutation_id, event_id = self.mutations.bind(
            write, done, lambda bound: write.append(TOOL_DISPATCH, untrusted, call.subject, facts | bound)
        )
        return event_id

    def _facts(self, call: ToolCall) -> dict[str, Any]:
        return {
            "safety_class": call.spec.safety_class,
            "args_digest": call.args_digest,
            "policy_version": call.policy_version,
            **call.boundary,
            **call.contract,
            **({} if call.recovery is None else call.recovery.facts),
        }

    def _agreed_by(self, call: ToolCall) -> dict[str, Any]:
        """The facts that stand for the agreement of a person."""
        if call.host_asks:
            return asked_facts(self.log, call)
        return {"approval_id": call.approval_id} if call.approval_id else {"grant_id": call.grant_id}

    def _kept(self, call: ToolCall, outcome: Outcome, state: IntentState) -> StepResult | None:
        """The redacted result of a named step, for whoever asks for the same step again; None without one."""
        if not call.step or call.identity is None or state is not IntentState.DONE:
            return None
        result = None
        if len(outcome.encoded) <= LONGEST_LOGGED_VALUE:
            result = redact_json(scrub(outcome.value, call.secrets))
        error = "" if outcome.code is None else f"{outcome.code}: {outcome.message}"
        return StepResult(call.identity, result, error)


def _approval_rules(call: ToolCall) -> dict[str, list[str]]:
    """The names of the rules for which a person has to agree."""
    return {"approval_rules": [reason["rule"] for reason in call.reasons]} if call.reasons else {}


def _milliseconds(value: float) -> float:
    """To the microsecond, a third of the price of round()."""
    return int(value * 1000) / 1000


def _run_subject(ctx: RunContext) -> Subject:
    return Subject(ctx.run_id, ctx.trace_id, ctx.agent_name)


def safe_message(call: ToolCall, message: str) -> str:
    """An error message that holds no secret: it goes to the agent, the log and the screen."""
    return redact_text(scrub(message, call.secrets))
