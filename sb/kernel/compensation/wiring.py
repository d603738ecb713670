"""Wire a compensation dispatcher to an executor: retry, refresh, escalate.

The executor never compensates by itself: who calls it hands the failed result to this dispatcher.
"""

from __future__ import annotations

from sb.base.sources import SYSTEM_IDS, Ids
from sb.base.values.frozen import frozen
from sb.errors import CheckFailed, UsageError
from sb.kernel.compensation.dispatcher import CompensationDispatcher, Reverse
from sb.kernel.compensation.outcome import Escalate, FailedCall, FailureNotice
from sb.kernel.contracts import SafetyClass, ToolResult, ToolSpec
from sb.kernel.error_kinds import CODES
from sb.kernel.execution.executor import ToolExecutor
from sb.kernel.recovery_loop.calls import escalate as put_before_a_person
from sb.kernel.results import OUTCOME_UNKNOWN
from sb.kernel.reversibility.contracts import require_mapping, resolved
from sb.kernel.reversibility.mutations import MutationStore

EVIDENCE_TOOL = "evidence_tool"  # metadata: the read-only tool that reads again what a call is based on
EVIDENCE_ARGS = "evidence_args"  # metadata: what it is given, mapped like ReversalSpec.reversal_args


def executor_dispatcher(
    executor: ToolExecutor,
    mutation_store: MutationStore | None = None,
    *,
    escalate: Escalate | None = None,
    reverse: Reverse | None = None,
    max_attempts: int = 3,
    base_wait_s: float = 0.5,
    longest_wait_s: float = 60.0,
    ids: Ids = SYSTEM_IDS,
) -> CompensationDispatcher:
    """A dispatcher that really repeats, refreshes and escalates.

    Args:
        executor: repeats calls and reads evidence, under the rules that it has for every call; waits are slept on the
            clock of its log, on which escalations are: `sb recovery list` shows them.
        mutation_store: by default the executor's.
        escalate: told of each escalation as well.
        reverse, max_attempts, base_wait_s, longest_wait_s: see CompensationDispatcher.
    """
    wiring = _Wiring(executor, escalate)
    return CompensationDispatcher(
        mutation_store if mutation_store is not None else executor.mutations,
        retry=wiring.retry,
        refresh=wiring.refresh,
        escalate=wiring.escalate,
        reverse=reverse,
        in_doubt=wiring.in_doubt,
        max_attempts=max_attempts,
        base_wait_s=base_wait_s,
        longest_wait_s=longest_wait_s,
        clock=executor.event_log.clock,
        ids=ids,
    )


@frozen
class _Wiring:
    executor: ToolExecutor
    also_tell: Escalate | None

    def in_doubt(self, call: FailedCall) -> bool:
        """True if the log says so, or, for a failure unknown to it, the contract leaves it open."""
        tool = self.executor.registry.tool(call.tool_id)
        spec = None if tool is None else tool.spec
        if spec is not None and spec.side_effecting and CODES[call.verdict.kind] in OUTCOME_UNKNOWN:
            return spec.reversal is None or not spec.reversal.leaves_nothing
        return any(intent.call_id == call.call_id for intent in self.executor.in_doubt())

    def retry(self, call: FailedCall, wait_s: float) -> ToolResult:
        self.executor.event_log.clock.sleep(wait_s)
        return self.executor.execute(
            call.ctx, call.tool_id, dict(call.args), step=call.step, assumptions=call.assumptions
        )

    def refresh(self, call: FailedCall) -> bool:
        """Run the tool that its contract names as its evidence; raises CheckFailed or another SBError."""
        tool = self.executor.registry.tool(call.tool_id)
        named = tool.spec.metadata.get(EVIDENCE_TOOL) if tool is not None else None
        if tool is None or not named:
            return False
        evidence = self.executor.registry.tool(str(named))
        if evidence is None or evidence.spec.effective_class is not SafetyClass.READ_ONLY:
            raise CheckFailed(
                f"{EVIDENCE_TOOL} of {call.tool_id} is {named!r}, which is not a read-only tool"
            )
        args = resolved(_mapping_of(tool.spec), {"args": dict(call.args)})
        result = self.executor.execute(call.ctx, str(named), args)
        if not result.success:
            raise CheckFailed(f"{named}: {result.error_message}")
        return True

    def escalate(self, escalation: FailureNotice) -> None:
        """Put it on the list of what a person has to look at, unless the call waits for one already; pass it on."""
        if not escalation.verdict.approval_id:
            self._queue(escalation)
        if self.also_tell is not None:
            self.also_tell(escalation)

    def _queue(self, escalation: FailureNotice) -> None:
        cause = f"failed: {escalation.verdict.kind}"
        log, store = self.executor.event_log, self.executor.mutations
        ref = store.for_call(escalation.subject.call_id)
        number = None if ref is None else store.number(ref.mutation_id)
        with log.write() as write:
            put_before_a_person(log.ids.token, write, escalation.subject, cause, escalation.reason, number)


def _mapping_of(spec: ToolSpec) -> dict[str, object]:
    mapping = spec.metadata.get(EVIDENCE_ARGS, {})
    if not isinstance(mapping, dict):
        raise UsageError(f"{EVIDENCE_ARGS} of {spec.tool_id} is not a mapping")
    require_mapping(mapping)
    return mapping
