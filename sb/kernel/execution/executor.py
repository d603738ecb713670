"""The one path for every tool call: admitted, announced, run, recorded, measured.

Source: the kernel reference, "Execution pipeline", with the refinements of docs/concepts/architecture.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sb.base.secrets.redaction import redact, redact_text
from sb.base.sources import SYSTEM_CLOCK, SYSTEM_IDS, Clock, Ids
from sb.config import groups
from sb.errors import DeniedError, SBError
from sb.kernel.approvals.decisions import Approvals
from sb.kernel.approvals.gate import ApprovalGate
from sb.kernel.authority.authority import Authority
from sb.kernel.baselines.seen import SeenContracts
from sb.kernel.baselines.store import ContractBaselineStore
from sb.kernel.calls.call import Ask, RecoveryCall, Refused, ToolCall
from sb.kernel.calls.consequence import Consequences, give_back
from sb.kernel.calls.intents import Intent, Intents, IntentState, KnownStep, step_name
from sb.kernel.contracts import Assumption, ResultDetails, ToolErrorCode, ToolProvenance, ToolResult
from sb.kernel.execution.admission import Admission, ContractEnforcement, release
from sb.kernel.execution.answers import error_of, result_of
from sb.kernel.execution.attempts import Attempts
from sb.kernel.execution.capturing import Capturing
from sb.kernel.execution.external import ExternalCalls
from sb.kernel.execution.outcome import Outcome
from sb.kernel.execution.recorder import Recorder, safe_message
from sb.kernel.execution.result_guards import ResultGuard, guard_result, withhold
from sb.kernel.execution.telemetry import CallSpan, Telemetry
from sb.kernel.incident_response.kill_switch import KillSwitch
from sb.kernel.policy.permissions import ToolPolicy
from sb.kernel.registry.credentials import Credentials
from sb.kernel.registry.registry import ToolFunction, ToolRegistry
from sb.kernel.registry.workers import Workers
from sb.kernel.results import Effect
from sb.kernel.reversibility.mutations import MutationStore, Reversibility
from sb.kernel.run_context import RiskDimension, RunContext, SafetyMode
from sb.log.event_log import EventLog
from sb.store import driver

if TYPE_CHECKING:
    import asyncio

    from sb.kernel.autonomy.judging import Autonomy
    from sb.kernel.boundaries.boundaries import Boundaries

Person = Callable[[Approvals, str, ToolCall], bool]
_workers = Workers()
_current: ContextVar[tuple[ToolExecutor, RunContext] | None] = ContextVar("sb_run", default=None)


class ToolExecutor:
    """Runs tools, and is the only thing that does.

    Args:
        registry: the tools. policy: defaults to `ToolPolicy.normal()`.
        event_log: defaults to a log in memory that lives as long as this executor.
        contract_enforcement: "off", "observe" (log a changed contract) or "enforce" (deny it where it has side
            effects).
        contract_baseline_store: the contracts that an operator approved; under "enforce" a tool with side effects is
            denied when its contract is new, changed or cannot be compared.
        permissions: agent name to what its configuration grants; without an entry nothing is granted.
        authority: says who may decide; by default nobody is enrolled, and decisions are unsigned.
        kill_switch: the calls that people stopped; by default that of the log.
        approvals: how long requests wait, and which tools need two people.
        reversibility: "off", "observe" (bind undo records, count what stays) or "enforce" (hold runs to the limits too).
        undeclared_undo: under "enforce", tools of others that declare no undo ask a person too.
        irreversibility_ceilings: dimension to what any run may do that stays without a person's agreement.
        power: whether every intent survives power loss, not only those of destructive tools.
        run_facts: what the start of each run says beside, in plain JSON.
        capture: takes down runs for a replay; None for nobody.
        attempts: makes the calls; by default by calling the tools.
        boundaries: what runs and calls may be for; None where that is not limited.
        autonomy: the levels that agents have earned; None where calls are not held to them.
        max_args_bytes, max_result_bytes: limits of the canonical form of arguments and results.
        workers: runs calls that have a hard deadline; replaced to test without waiting.
        result_guards: look at each result before the caller is given it.
        credentials: fetches what tools get by reference; by default no name is known.
        person: called with the queue, the id of each request as it opens, and its call; says whether the call goes on
            at once with that decision. By default requests wait.
    """

    def __init__(
        self,
        registry: ToolRegistry,
        policy: ToolPolicy | None = None,
        event_log: Any = None,
        *,
        contract_enforcement: str = "observe",
        contract_baseline_store: ContractBaselineStore | None = None,
        permissions: Mapping[str, Collection[str]] | None = None,
        authority: Authority | None = None,
        kill_switch: KillSwitch | None = None,
        approvals: groups.Approvals | None = None,
        reversibility: str = "off",
        undeclared_undo: bool = False,
        irreversibility_ceilings: Mapping[str, float] | None = None,
        boundaries: Boundaries | None = None,
        autonomy: Autonomy | None = None,
        power: bool = False,
        run_facts: Mapping[str, Any] = MappingProxyType({}),
        capture: Capturing | None = None,
        attempts: Attempts | None = None,
        max_args_bytes: int = 1 << 20,
        max_result_bytes: int = 8 << 20,
        telemetry: Telemetry | None = None,
        workers: Workers | None = None,
        result_guards: Sequence[ResultGuard] = (),
        credentials: Credentials | None = None,
        person: Person | None = None,
        clock: Clock = SYSTEM_CLOCK,
        ids: Ids = SYSTEM_IDS,
    ) -> None:
        self.registry = registry
        self.policy = policy or ToolPolicy.normal()
        self.event_log: EventLog = event_log or EventLog(clock=clock, ids=ids)
        self.approvals = Approvals(self.event_log, authority or Authority(None, self.event_log))
        self._gate = ApprovalGate(self.approvals, approvals)
        seen = contract_baseline_store.seen if contract_baseline_store else SeenContracts(self.event_log)
        self.kill = kill_switch or KillSwitch(self.event_log, authority)
        self._recorder = Recorder(
            self.event_log,
            self._gate,
            seen,
            self.kill,
            power=power,
            run_facts=lambda ctx: {**registry.agent_facts(ctx.agent_name), **run_facts},
            capture=capture,
            boundaries=boundaries,
            autonomy=autonomy,
        )
        self._admission = Admission(
            registry,
            self.policy,
            self._gate,
            self._recorder,
            Consequences(
                Reversibility(reversibility),
                {RiskDimension(name): limit for name, limit in (irreversibility_ceilings or {}).items()},
                undeclared_undo,
            ),
            contract_baseline_store,
            ContractEnforcement(contract_enforcement),
            permissions or {},
            max_args_bytes,
            self.event_log.digest,
            boundaries,
            credentials or Credentials(),
        )
        self.boundaries = boundaries
        self._workers = workers or _workers
        self._attempts = attempts or Attempts(
            self._workers, clock, ids, max_result_bytes, self._recorder.refuse_killed, credentials
        )
        self._telemetry = telemetry or Telemetry()
        self._ids = ids
        self._result_guards = tuple(result_guards)
        self._person = person

    @contextmanager
    def run(self, ctx: RunContext, *, resumes: bool = False) -> Iterator[RunContext]:
        """Mark a run's start and end in the log; a bare `execute` marks only the start, at the run's first call.

        Inside, it is the run to which calls of `governed` functions belong, in the threads and tasks that inherit
        the context too.

        Args:
            resumes: it may have begun in another process; its start is recorded once.

        Raises:
            DeniedError: its boundaries refuse it.
        """
        self._require_boundaries(ctx)
        if resumes:
            self._recorder.continue_run(ctx)
        self._recorder.run_started(ctx)
        before = _current.get()
        _current.set((self, ctx))
        try:
            yield ctx
        except BaseException as error:
            self._recorder.run_finished(ctx, type(error).__name__)
            raise
        finally:
            _current.set(before)  # not by a token: a framework may leave the block in another context
        self._recorder.run_finished(ctx)

    def _require_boundaries(self, ctx: RunContext) -> None:
        """Raise DeniedError, with the refused run on record, unless the run may start."""
        if self.boundaries is None:
            return
        try:
            self.boundaries.judge_run(ctx)
        except Refused as refused:
            self._recorder.run_finished(ctx, f"refused: {refused.rule}")
            drifted = refused.rule == "release_drift"
            hint = f"sb release diff {ctx.agent_name}" if drifted else "sb agent charter check"
            raise DeniedError(refused.reason, hint) from refused

    def finish_run(self, ctx: RunContext) -> None:
        """Mark the end of a run that its first call began; nothing where no call of it is on record."""
        self._recorder.finish_announced(ctx)

    def execute(
        self,
        ctx: RunContext,
        tool_id: str,
        args: dict[str, Any] | None = None,
        override_fn: ToolFunction | None = None,
        *,
        step: str = "",
        approval_id: str = "",
        wait_s: float = 0.0,
        assumptions: Sequence[Assumption | str] = (),
        intent: str = "",
        asks: Sequence[Ask] = (),
    ) -> ToolResult:
        """Run one tool call and say what became of it; never raises for what a tool or policy does.

        Args:
            ctx: the run that the call belongs to; its budget is charged.
            args: a JSON object, passed to the tool by keyword.
            override_fn: called instead of the registered callable, under the same rules.
            step: the caller's name for this step of the run. A side effect of one run, tool and step happens once:
                asked again, the recorded result is returned, redacted as the log keeps it (None if that was too
                large to keep, or was pruned); with other arguments it is refused. A failed step may be repeated.
            approval_id: the approval to use, if a person has to agree; by default the one of this very call.
            wait_s: seconds to wait for a person's decision. With 0, a call that needs one returns at once with
                PERMISSION_DENIED and `data={"approval_id", "reasons", "expires_at"}`; repeated once it is approved,
                it runs. Waiting uses no budget.
            assumptions: what justifies the call, beside what its tool declares: when one turns false, recovery
                offers to undo it.
            intent: what the call is for, by its registered name; by default what its run is for.
            asks: what a person has to agree to first, whatever contract and policy say.

        Returns:
            The tool's result, or an error with a ToolErrorCode.
        """
        call = self._call(ctx, tool_id, override_fn, step, approval_id, assumptions, intent, asks)
        return self._execute(call, args, None, wait_s)

    async def aexecute(
        self,
        ctx: RunContext,
        tool_id: str,
        args: dict[str, Any] | None = None,
        override_fn: ToolFunction | None = None,
        *,
        step: str = "",
        approval_id: str = "",
        wait_s: float = 0.0,
        assumptions: Sequence[Assumption | str] = (),
        intent: str = "",
    ) -> ToolResult:
        """`execute` for coroutines: it runs in a worker thread, and an async tool in the caller's event loop.

        Cancelling the caller does not cancel the call: it ends, and is recorded, by itself.
        """
        import asyncio

        loop = asyncio.get_running_loop()
        call = self._call(ctx, tool_id, override_fn, step, approval_id, assumptions, intent)
        run = partial(self._execute, call, args, loop, wait_s)
        return await asyncio.wrap_future(self._workers.submit(run))

    def execute_recovery(
        self,
        ctx: RunContext,
        tool_id: str,
        args: dict[str, Any],
        recovery: RecoveryCall,
        approval_id: str = "",
    ) -> ToolResult:
        """Run a call that recovers from others, on the one path and under rules of its own; for recovery alone.

        Args:
            approval_id: the approval to use, if a person has to agree.
        """
        call = ToolCall(ctx, tool_id, self._call_id(), "", None, approval_id)
        call.recovery = recovery
        return self._execute(call, args, None, 0)

    def refusal(self, ctx: RunContext, tool_id: str, args: dict[str, Any]) -> str:
        """The reason why contract or policy would refuse this call now, without making it; "" if they would not."""
        call = ToolCall(ctx, tool_id, self._call_id(), "")
        call.args = args
        return self._admission.refusal(call)

    def execute_batch(self, ctx: RunContext, calls: Iterable[tuple[str, dict[str, Any]]]) -> list[ToolResult]:
        """Run (tool id, arguments) pairs one after the other; a failed one does not stop those after it."""
        return [self.execute(ctx, tool_id, args) for tool_id, args in calls]

    @cached_property
    def external(self) -> ExternalCalls:
        """Calls that another program performs."""
        return ExternalCalls(self._admission, self._recorder, self._ids)

    @property
    def mutations(self) -> MutationStore:
        """The store of undo records."""
        return self._recorder.mutations

    @property
    def intents(self) -> Intents:
        """Calls with side effects that have not ended."""
        return self._recorder.intents

    def in_doubt(self, run_id: str = "") -> list[Intent]:
        """Calls with side effects and unknown outcome, oldest first; of one run if it is named."""
        return [intent for intent in self._recorder.intents.in_doubt() if run_id in ("", intent.run_id)]

    def settle_orphans(self) -> int:
        """Mark the unfinished calls of dead processes as in doubt; returns how many there were."""
        return self._recorder.intents.settle_orphans()

    def _call(
        self,
        ctx: RunContext,
        tool_id: str,
        override_fn: ToolFunction | None,
        step: str,
        approval_id: str,
        assumptions: Sequence[Assumption | str],
        intent: str,
        asks: Sequence[Ask] = (),
    ) -> ToolCall:
        identity = ctx, str(tool_id), self._call_id(), step_name(str(step))
        return ToolCall(*identity, override_fn, str(approval_id), assumptions, intent=intent, asked=asks)

    def _call_id(self) -> str:
        return f"call_{self._ids.token(8)}"

    def _execute(
        self, call: ToolCall, args: Any, loop: asyncio.AbstractEventLoop | None, wait_s: float
    ) -> ToolResult:
        try:
            self._admission.admit(call, args)
        except KnownStep as known:
            return self._replay(call, known)
        except Refused as refusal:
            result = self._refuse(call, refusal)
            waiting = self._decided(call, refusal, result, wait_s)
            if not waiting:
                return result
            what = (call.assumptions, call.intent, call.asked)
            again = self._call(call.ctx, call.tool_id, call.override_fn, call.step, waiting, *what)
            return self._execute(again, args, loop, 0)
        span = self._telemetry.start(call.ctx, call.spec, call.call_id, call.shown_args)
        result = self._run_recorded(call, span, loop)
        span.end(result)
        self._telemetry.measure(call.spec, result)
        return result

    def _decided(self, call: ToolCall, refusal: Refused, result: ToolResult, wait_s: float) -> str:
        """The id of the approval that was decided while this waited for it, or ""."""
        if not (
            (self._person is not None or wait_s > 0) and refusal.rule == "requires_approval" and result.data
        ):
            return ""
        waiting = str(result.data["approval_id"])
        try:
            goes_on = self._person is None or self._person(self.approvals, waiting, call)
            if not (goes_on or wait_s > 0):
                return ""
            return waiting if self._gate.wait(waiting, wait_s) else ""
        except (SBError, driver.Error) as error:
            result.error_message += f" (and the decision could not be waited for: {error})"
            return ""

    def _refuse(self, call: ToolCall, refusal: Refused) -> ToolResult:
        result = self._record_refusal(call, refusal)
        if call.known:
            span = self._telemetry.start(call.ctx, call.spec, call.call_id, call.shown_args)
            result.span_id = span.span_id
            span.end(result)
            self._telemetry.measure(call.spec, result)
        return result

    def _record_refusal(self, call: ToolCall, refusal: Refused) -> ToolResult:
        try:
            self._recorder.refused(call, refusal)
        except (SBError, driver.Error) as error:
            message = f"{safe_message(call, refusal.reason)} (and this could not be recorded: {error})"
            return error_of(call, refusal.code, message)
        message = safe_message(call, refusal.reason)
        return error_of(call, refusal.code, message, refusal.data, rule=refusal.rule)

    def _run_recorded(
        self, call: ToolCall, span: CallSpan, loop: asyncio.AbstractEventLoop | None
    ) -> ToolResult:
        intent_id, announced = None, False
        try:
            if call.announced:
                intent_id = self._recorder.intent(call, self._attempts.longest_s(call))
            announced = True
            outcome = self._attempts.run(call, loop)
        except KnownStep as known:
            release(call)
            return self._replay(call, known)
        except Refused as refusal:
            release(call)
            return self._record_refusal(call, refusal)
        except KeyboardInterrupt:
            if not announced:
                release(call)
            else:
                message = "interrupted from the keyboard"
                interrupted = Outcome(code=ToolErrorCode.TIMEOUT, message=message, done=False)
                self._settle(call, interrupted, intent_id, span)
            raise
        except Exception as error:  # noqa: BLE001 - tools' exceptions are outcomes: this is the record that failed
            release(call)
            message = f"not run, since it could not be recorded before: {error}"
            return error_of(call, ToolErrorCode.UNEXPECTED, message)
        return self._settle(call, outcome, intent_id, span)

    def _replay(self, call: ToolCall, known: KnownStep) -> ToolResult:
        """Answer for a step that was announced before, without running it."""
        if not known.same_args:
            reason = f"step {call.step!r} of this run is call {known.call_id}, which had other arguments"
            return self._record_refusal(call, Refused(ToolErrorCode.VALIDATION_ERROR, reason, "step"))
        if not known.done:
            reason = f"step {call.step!r} was announced as {known.call_id} and its outcome is unknown: not repeated"
            return self._record_refusal(call, Refused(ToolErrorCode.PERMISSION_DENIED, reason, "in_doubt"))
        try:
            self._recorder.replayed(call, known)
        except (SBError, driver.Error) as error:
            return error_of(call, ToolErrorCode.UNEXPECTED, f"this could not be recorded: {error}")
        details: ResultDetails = {
            "call_id": known.call_id,
            "trace_id": call.ctx.trace_id,
            "provenance": ToolProvenance(source_uri=f"sb:call/{known.call_id}"),
        }
        if known.error:
            code, _, message = known.error.partition(": ")
            details["effect"] = Effect.DONE
            return ToolResult.error(call.tool_id, ToolErrorCode(code), message, **details)
        outcome = Outcome(None if known.result is None else json.loads(known.result))
        if self._result_guards:
            guard_result(self._result_guards, call, outcome)
        if outcome.code is not None:
            details["effect"] = outcome.effect
            return ToolResult.error(call.tool_id, outcome.code, outcome.message, **details)
        result = ToolResult.ok(call.tool_id, outcome.value, **details)
        result.warning = outcome.warning
        return result

    def _settle(
        self,
        call: ToolCall,
        outcome: Outcome,
        intent_id: int | None,
        span: CallSpan,
    ) -> ToolResult:
        call.reserved = False
        call.ctx.budget.settle_call(outcome.latency_ms)
        if self.boundaries is not None and outcome.code is None:
            reason = self.boundaries.judge_result(call, outcome.provenance)
            if reason:
                withhold(outcome, f"its result is withheld: {reason}")
        try:
            state = self._recorder.outcome(call, outcome, intent_id)
        except Exception as error:  # noqa: BLE001 - whatever it is, the caller must hear that the tool ran
            outcome.code = ToolErrorCode.UNEXPECTED
            outcome.message = f"the outcome could not be recorded ({error})"
            if intent_id is not None:
                outcome.message += f"; the tool ran, and call {call.call_id} is in doubt"
                outcome.effect = Effect.UNKNOWN
            return result_of(call, outcome, span)
        if state is IntentState.FAILED:
            give_back(call)
        if state is IntentState.IN_DOUBT:
            outcome.message += f"; whether it happened is in doubt ({call.call_id})"
            outcome.effect = Effect.UNKNOWN
        if self._result_guards:
            guard_result(self._result_guards, call, outcome)
        if self._strict(call) and outcome.code is None:
            outcome.value = redact(outcome.value)
            if outcome.provenance:
                uri = redact_text(outcome.provenance.source_uri)
                outcome.provenance = replace(outcome.provenance, source_uri=uri)
        return result_of(call, outcome, span)

    def _strict(self, call: ToolCall) -> bool:
        return call.ctx.safety_mode is SafetyMode.STRICT or self.policy.mode is SafetyMode.STRICT


def current_run() -> tuple[ToolExecutor, RunContext] | None:
    """The innermost `ToolExecutor.run` that this code is inside of, with its executor."""
    return _current.get()
