"""Settle a call or a workflow's step with unknown outcome, once, by a person or by the tool's probe."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any

from sb.base.secrets.redaction import one_line, redact_json
from sb.base.text import nearest
from sb.base.values.canonical import NotCanonical, freeze
from sb.errors import NotFoundError, SBError, UsageError
from sb.kernel.authority.signing import Decider, required
from sb.kernel.calls.intents import Intent, IntentState, Step, StepResult
from sb.kernel.compensation.reversal_guard import NoReversalToken
from sb.kernel.contracts import Assumption, ReversalSpec
from sb.kernel.durable_execution.doubt import confirm, in_doubt
from sb.kernel.durable_execution.journal import Decision, WorkflowJournal
from sb.kernel.recovery_loop.answers import Undone
from sb.kernel.recovery_loop.calls import AFTER, ReadOnlyCall
from sb.kernel.recovery_loop.service import Recovery
from sb.kernel.registry.arguments import LONGEST_LOGGED_VALUE, hidden_names
from sb.kernel.reversibility.contracts import MutationState
from sb.kernel.reversibility.mutations import Done, sources_of
from sb.log.event import Subject
from sb.log.event_log import EventLog, LogWrite
from sb.log.kinds import RECOVERY_SETTLED, TOOL_DISPATCH

# A failure of the same call that went before a person is answered with that.
_NOT_OPEN_ANY_MORE = (
    "UPDATE escalations SET state = 'dismissed' WHERE call_id = ? AND mutation_id IS NULL AND state = 'open'"
)


class Settlement(StrEnum):
    """The settlement of a call with unknown outcome."""

    DONE = "done"
    NOT_DONE = "not-done"
    COMPENSATE = "compensate"


class NoVerdict(SBError):
    """The probe could not tell."""

    kind = "no_verdict"


class Settling:
    """Settles calls in doubt."""

    def __init__(self, recovery: Recovery) -> None:
        self._recovery = recovery
        self._log = recovery.log
        self._intents = recovery.executor.intents

    def in_doubt(self, call_id: str) -> Intent:
        """The call.

        Raises:
            NotFoundError: it is not in doubt.
            StoreCorrupt: it was changed in the database since it was announced.
        """
        doubtful = {intent.call_id: intent for intent in in_doubt(self._log)}
        if call_id not in doubtful:
            shown = one_line(call_id, 40)
            near = nearest(call_id, doubtful)
            raise NotFoundError(
                f"call {shown!r} is not in doubt{near}", "sb recovery list shows those that are"
            )
        confirm(self._log, doubtful[call_id])
        return doubtful[call_id]

    def settle(
        self, call_id: str, verdict: Settlement, by: Decider, reason: str, result: Any = None
    ) -> Undone | None:
        """Record whether a call happened, as a person says.

        Args:
            verdict: COMPENSATE says that it happened, and undoes it.
            result: what it gave, as far as that is known; the reversal may need it.

        Returns:
            What came of undoing it, if that was asked for.

        Raises:
            NotFoundError: the call is not in doubt.
            NoReversalToken: it cannot be undone; where that is clear beforehand, nothing is recorded.
            DeniedError: this person may not decide it.
            UsageError: the reason is missing, or the result is not JSON.
        """
        intent, reason = self.in_doubt(call_id), required(reason)
        if verdict is Settlement.COMPENSATE and intent.workflow:
            raise NoReversalToken(
                "a plain function declares no undo", "settle it as done, and undo it by hand"
            )
        if verdict is Settlement.COMPENSATE:
            self._require_way_back(intent, result)
        about = settlement(self._log, intent, verdict)
        signed = self._recovery.approvals.signed(by, "settle", about, reason)
        untrusted = {"verdict": str(verdict), "by": by.name, "reason": reason}
        if intent.workflow:
            decision, happened = Decision(untrusted, signed), verdict is Settlement.DONE
            journal = WorkflowJournal(self._log)
            journal.settle(intent.workflow, intent.step, result, done=happened, decision=decision)
            return None
        happened = verdict is not Settlement.NOT_DONE
        mutation_id = self._record(intent, happened, result, untrusted, {"signed": signed})
        if verdict is not Settlement.COMPENSATE:
            return None
        return self._recovery.undo(self._recovery.mutations.get(mutation_id), by, reason)

    def probe(self, call_id: str) -> Settlement:
        """Ask the tool's probe with the call's idempotency key, and record what it says.

        Raises:
            NotFoundError: the call is not in doubt.
            NoVerdict: the tool has no probe, or it could not tell.
        """
        intent = self.in_doubt(call_id)
        if intent.workflow:
            raise NoVerdict(
                "a plain function has no probe", f"sb recovery settle {call_id} done, or not-done"
            )
        spec = self._recovery.executor.registry.get(intent.tool_id)
        tool = spec.resolved_reversal().probe_capability if spec else ""
        if not tool:
            raise NoVerdict(
                f"{intent.tool_id} declares no probe", "find out by hand, then sb recovery settle"
            )
        ctx = self._recovery.context(f"find out whether {call_id} happened")
        look = ReadOnlyCall({"probes": call_id})
        found = self._recovery.executor.execute_recovery(ctx, tool, {"key": intent.idempotency_key}, look)
        answer = found.data if found.success and isinstance(found.data, dict) else {}
        if not isinstance(answer.get("done"), bool):
            raise NoVerdict(f"{tool} could not tell: {found.error_message or 'it did not answer done'}")
        verdict = Settlement.DONE if answer["done"] else Settlement.NOT_DONE
        untrusted = {"verdict": str(verdict), "by": f"probe {tool}", "reason": str(answer.get("detail", ""))}
        self._record(intent, answer["done"], answer.get("result"), untrusted, {"probe": found.call_id})
        return verdict

    def _record(
        self, intent: Intent, happened: bool, result: Any, untrusted: dict[str, str], facts: dict[str, Any]
    ) -> str:
        """Put it on the log and take the call from the list; returns the id of what it left behind, if anything."""
        try:
            value, encoded = freeze(result)
        except NotCanonical as error:
            raise UsageError(f"the result is not JSON: {error}") from None
        subject = _subject(intent)
        state = IntentState.DONE if happened else IntentState.FAILED
        with self._log.write(power=True) as write:
            if not write.execute("SELECT 1 FROM intents WHERE id = ?", (intent.id,)).fetchone():
                raise NotFoundError(f"{intent.call_id} was settled by another person meanwhile")
            write.append(RECOVERY_SETTLED, untrusted, subject, facts)
            outcome: dict[str, Any] = {"phase": "settled", "state": state}
            if intent.reverses:
                ref = self._recovery.mutations.id_of(write.execute, intent.reverses)
                outcome["reverses"] = ref
            step_result = self._kept(intent, value, len(encoded)) if happened and intent.step else None
            if step_result is not None:
                outcome["step_digest"] = step_result.digest()
            mutation_id, event_id = self._bind(write, intent, subject, value, outcome, happened)
            self._intents.close(write, intent.id, state)
            write.execute(_NOT_OPEN_ANY_MORE, (intent.call_id,))
            if step_result is not None:
                self._intents.record_step(write, step_result, event_id, intent.call_id)
            if intent.reverses:
                after = AFTER[state]
                self._recovery.mutations.move(write, intent.reverses, MutationState.REVERSING, after)
        return mutation_id

    def _require_way_back(self, intent: Intent, result: Any) -> None:
        done = self._done(intent, _subject(intent), result, 0)
        if done is None:
            raise NoReversalToken(
                f"{intent.tool_id} declares no undo", "settle it as done, and undo it by hand"
            )
        why = self._recovery.mutations.no_way_back(done)
        if why:
            how = f"sb recovery settle {intent.call_id} asks its probe; --result says what the call gave"
            raise NoReversalToken(f"{intent.call_id} could not be undone: {why}", how)
        window_ms = done.spec.reversal_window_ms
        if window_ms is not None and self._recovery.mutations.now() >= done.now + window_ms * 1000:
            raise NoReversalToken(
                f"the time in which {intent.call_id} could be undone is over",
                f"sb recovery settle {intent.call_id} done, and make up for it by hand",
            )

    def _bind(
        self,
        write: LogWrite,
        intent: Intent,
        subject: Subject,
        value: Any,
        outcome: dict[str, Any],
        happened: bool,
    ) -> tuple[str, int]:
        """Append the outcome, with the way back from what happened where one was begun."""
        done = self._done(intent, subject, value, write.next_seq) if happened else None
        if done is None:
            return "", write.append(TOOL_DISPATCH, {}, subject, outcome)
        return self._recovery.mutations.bind(
            write, done, lambda bound: write.append(TOOL_DISPATCH, {}, subject, outcome | bound)
        )

    def _done(self, intent: Intent, subject: Subject, value: Any, row: int) -> Done | None:
        """The call as one that happened and gave this; None if no way back was begun, or not the present one."""
        announced = self._intents.announced(intent) if intent.reversal else None
        if announced is None or not intent.reversal:
            return None
        begun = json.loads(intent.reversal)
        tool = self._recovery.executor.registry.tool(intent.tool_id)
        if tool is None or tool.reversal_fingerprint != begun["fingerprint"]:
            return None
        named = [
            assumption if isinstance(assumption, str) else Assumption(**assumption)
            for assumption in begun["assumptions"]
        ]
        sources = sources_of(begun["args"], value, intent.call_id, intent.idempotency_key)
        spec: ReversalSpec = tool.reversal
        hidden = hidden_names(tool.spec, begun["args"])
        # It may have happened as soon as it was announced: however late that is known, its time began then.
        return Done(spec, begun["fingerprint"], subject, sources, named, row, announced.at, hidden)

    @staticmethod
    def _kept(intent: Intent, value: Any, size: int) -> StepResult:
        step = Step(intent.step, intent.step_key, intent.args_digest, intent.idempotency_key)
        return StepResult(step, redact_json(value) if size <= LONGEST_LOGGED_VALUE else None, "")


def settlement(log: EventLog, intent: Intent, verdict: Settlement) -> dict[str, Any]:
    """The subject of a statement that settles a call."""
    return {
        "call": intent.call_id,
        "database": log.database_id,
        "intent": intent.id,
        "verdict": str(verdict),
    }


def _subject(intent: Intent) -> Subject:
    return Subject(intent.run_id, "", intent.agent, intent.tool_id, intent.call_id)
