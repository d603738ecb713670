"""Record a reversal that a caller's own function performs, so that it happens once.

The calls of the executor do that themselves. Anything else takes the mutation before it runs, as an intent that is in
doubt if nobody says how it ended, and leaves it as its outcome says.
"""

from __future__ import annotations

from collections.abc import Callable

from sb.base.secrets.redaction import scrub
from sb.base.sources import MICROSECONDS
from sb.base.values.canonical import canonical_bytes
from sb.kernel.calls.intents import Intents, IntentState, announcement, step_of
from sb.kernel.contracts import ToolErrorCode, ToolResult
from sb.kernel.error_classifier.error_codes import code_for, message_for
from sb.kernel.error_classifier.verdicts import safe_line
from sb.kernel.recovery_loop.calls import AFTER, claim
from sb.kernel.results import OUTCOME_UNKNOWN
from sb.kernel.reversibility.contracts import MutationRef, MutationState
from sb.kernel.reversibility.mutations import MutationStore, secrets_of
from sb.kernel.run_context import RECOVERY_AGENT
from sb.log.event import Subject
from sb.log.kinds import RUN_STARTED, TOOL_DISPATCH

_LONGEST_S = 86_400  # after which it cannot be running any more


class ExternalReversal:
    """One reversal that is about to be performed; making it takes the mutation.

    Raises:
        NoReversalToken: it is being undone, was undone, or cannot be any more.
    """

    def __init__(self, store: MutationStore, ref: MutationRef) -> None:
        self._store, self._ref, self._intents = store, ref, Intents(store.log)
        log = store.log
        run_id, call_id = f"run_{log.ids.token(8)}", f"call_{log.ids.token(8)}"
        self._subject = Subject(run_id, "", RECOVERY_AGENT, ref.reversal_tool, call_id)
        args_digest = log.digest(canonical_bytes(ref.reversal_args))
        step = step_of(self._subject, "", args_digest)
        facts = {"phase": "intent", "idempotency_key": step.idempotency_key, "args_digest": args_digest}
        owner, deadline = self._intents.owner(), store.now() + _LONGEST_S * MICROSECONDS
        facts |= announcement(step, owner, deadline, None, log.tag)
        with log.write(power=True) as write:
            claim(store, write, ref, run_id, call_id)
            write.append(
                RUN_STARTED, {"intent": f"undo {ref.mutation_id}"}, Subject(run_id, "", RECOVERY_AGENT)
            )
            reverses = {"reverses": ref.mutation_id}
            untrusted = {"args": ref.shown_args()}
            self._intent = write.append(TOOL_DISPATCH, untrusted, self._subject, facts | reverses)
            number = store.number(ref.mutation_id)
            self._intents.open(write, self._intent, self._subject, step, owner, deadline, reverses=number)

    def run(self, runner: Callable[[MutationRef], ToolResult | None]) -> ToolResult | None:
        """Perform it and record how it ended; raises what the runner raises."""
        state, error = IntentState.IN_DOUBT, "interrupted"
        try:
            result = runner(self._ref)
            failed = result is not None and not result.success
            state, error = IntentState.DONE, ""
            if result is not None and failed:
                state, error = _after(result.error_code), result.error_message
        except Exception as raised:
            state, error = _after(code_for(raised)), message_for(raised)
            raise
        finally:
            self._settle(state, error)
        return result

    def _settle(self, state: IntentState, error: str) -> None:
        facts = {"phase": "outcome", "state": state, "reverses": self._ref.mutation_id}
        intent = {"intent": self._intent - self._store.log.first_id}
        untrusted = {"error": safe_line(scrub(error, secrets_of(self._ref)))} if error else {}
        with self._store.log.write(power=True) as write:
            write.append(TOOL_DISPATCH, untrusted, self._subject, facts | intent)
            self._intents.close(write, self._intent, state)
            after = AFTER.get(state)
            if after is not None:
                number = self._store.number(self._ref.mutation_id)
                self._store.move(write, number, MutationState.REVERSING, after)


def _after(code: ToolErrorCode | None) -> IntentState:
    return IntentState.IN_DOUBT if code in OUTCOME_UNKNOWN else IntentState.FAILED
