"""The parts of a recovery's call that differ from other calls, transaction by transaction.

A reversal claims its mutation in the transaction of its intent and settles it in that of its outcome, so that of two
recoverers one reverses, and one that died in between leaves a mutation that says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

from sb.base.values.frozen import mutable
from sb.errors import SBError
from sb.kernel.calls.call import Refused, ToolCall
from sb.kernel.calls.intents import IntentState
from sb.kernel.compensation.reversal_guard import NoReversalToken
from sb.kernel.contracts import ToolErrorCode
from sb.kernel.reversibility.contracts import MutationRef, MutationState
from sb.kernel.reversibility.mutations import MutationStore, secrets_of
from sb.log.event import SEQ_MASK, Subject
from sb.log.event_log import LogWrite
from sb.log.kinds import RECOVERY_BEGUN, RECOVERY_ESCALATED
from sb.log.people_events import people_events

AFTER = {
    IntentState.DONE: MutationState.REVERSED,
    IntentState.FAILED: MutationState.COMMITTED,
}


@mutable
class ReadOnlyCall:
    """A read-only call of recovery: a probe, a preview, or a question whether an assumption holds."""

    facts: dict[str, Any] = field(default_factory=dict)
    secrets: list[str] = field(default_factory=list)
    reasons: list[dict[str, str]] = field(default_factory=list)
    expires_at: int | None = None
    people: int = 1
    reverses: int = 0
    undoable: bool = False

    def queued(self, write: LogWrite, call: ToolCall, approval_id: str) -> None:
        """A look that needs a person's agreement waits like any other call."""

    def claim(self, write: LogWrite, call: ToolCall) -> None:
        """It claims nothing."""

    def settle(self, write: LogWrite, call: ToolCall, state: IntentState) -> None:
        """It changes nothing."""


class Reversal:
    """The call that undoes a mutation.

    Args:
        cause: the assumption that turned false, or what else led to it.
        reasons: why a person has to agree, as rule and reason; [] when it may fire by itself.
        people: how many have to.
        expires_at: until when somebody may agree, in microseconds since the epoch.
        undoable: whether it leaves an undo record itself, since it overwrites what changed meanwhile.
    """

    in_part = False

    def __init__(
        self,
        store: MutationStore,
        ref: MutationRef,
        cause: str,
        *,
        reasons: list[dict[str, str]],
        people: int,
        expires_at: int,
        undoable: bool = False,
    ) -> None:
        self.undoable = undoable
        self._store = store
        self._ref = ref
        self._cause = cause
        self.reasons = reasons
        self.people = people
        self.expires_at: int | None = expires_at
        self.reverses = store.number(ref.mutation_id)
        self.facts: dict[str, Any] = {"reverses": ref.mutation_id, "cause": cause, "of_agent": ref.agent}
        self.facts |= {"in_part": True} if self.in_part else {}
        self.secrets = secrets_of(ref)

    def queued(self, write: LogWrite, call: ToolCall, approval_id: str) -> None:
        """Put it on the list of what a person has to look at."""
        reason = "; ".join(item["reason"] for item in call.reasons)
        open_escalation(self._store, write, self._ref, self._cause, reason, approval_id)

    def claim(self, write: LogWrite, call: ToolCall) -> None:
        """Take the mutation, unless somebody else has, or it cannot be undone any more; raises Refused."""
        try:
            claim(self._store, write, self._ref, call.ctx.run_id, call.call_id)
        except SBError as error:
            raise Refused(ToolErrorCode.PERMISSION_DENIED, error.message, "reversal_refused") from error

    def settle(self, write: LogWrite, call: ToolCall, state: IntentState) -> None:
        """Reversed, or as it was before; one in doubt stays reversing."""
        after = AFTER.get(state)
        if after is not None:
            self._store.move(write, self.reverses, MutationState.REVERSING, after)


class PartialReversal(Reversal):
    """The call that undoes a part of a mutation, which can still be undone afterwards."""

    in_part = True

    def claim(self, write: LogWrite, call: ToolCall) -> None:
        """Check that the mutation can be undone, without taking it; raises Refused."""
        try:
            if not self._ref.in_window(self._store.now()):
                raise NoReversalToken(f"the window in which {self._ref.mutation_id} could be undone is over")
            self._store.unaltered(write.execute, self._ref)
        except SBError as error:
            raise Refused(ToolErrorCode.PERMISSION_DENIED, error.message, "reversal_refused") from error

    def settle(self, write: LogWrite, call: ToolCall, state: IntentState) -> None:
        """The mutation stays as it was."""


def claim(store: MutationStore, write: LogWrite, ref: MutationRef, run_id: str, call_id: str) -> None:
    """Take a mutation, to reverse it by this call of this run.

    Raises:
        NoReversalToken: somebody else has, or it cannot be undone any more.
        StoreCorrupt: it is not what was bound.
    """
    if not ref.in_window(store.now()):
        raise NoReversalToken(f"the window in which {ref.mutation_id} could be undone is over")
    store.unaltered(write.execute, ref)
    begun_before = _begun_before(store, ref)
    if begun_before:
        raise NoReversalToken(f"the log says that {begun_before} undid {ref.mutation_id}, or may have")
    number = store.number(ref.mutation_id)
    if not store.move(write, number, MutationState.COMMITTED, MutationState.REVERSING):
        raise NoReversalToken(f"{ref.mutation_id} is being undone, or was undone, already")
    subject = Subject(ref.run_id, "", ref.agent, ref.tool_id, ref.call_id)
    write.append(RECOVERY_BEGUN, {}, subject, {"mutation": ref.mutation_id, "run": run_id, "call": call_id})


def _begun_before(store: MutationStore, ref: MutationRef) -> str:
    """The call that began to undo the same and has not failed, or "": the mutation's state alone can be edited."""
    for event in people_events(store.log, ref.call_id):
        begun = event.payload or {}
        if event.kind != RECOVERY_BEGUN or begun.get("mutation") != ref.mutation_id:
            continue
        run_id, call_id = str(begun["run"]), str(begun["call"])
        ended = [item.payload or {} for item in store.log.events(run_id=run_id, call_id=call_id)]
        if not any(item.get("state") == IntentState.FAILED for item in ended):
            return call_id
    return ""


def open_escalation(
    store: MutationStore,
    write: LogWrite,
    ref: MutationRef,
    cause: str,
    reason: str,
    approval_id: str = "",
) -> None:
    """Put a mutation on the list of what a person has to look at; once for each cause."""
    subject = Subject(ref.run_id, "", ref.agent, ref.tool_id, ref.call_id)
    number = store.number(ref.mutation_id)
    escalate(store.log.ids.token, write, subject, cause, reason, number, approval_id)


def escalate(
    token: Callable[[int], str],
    write: LogWrite,
    subject: Subject,
    cause: str,
    reason: str,
    mutation: int | None = None,
    approval_id: str = "",
) -> None:
    """Put a call on the list of what a person has to look at; once for each cause.

    Args:
        subject: of the call. mutation: what it left behind, by its number.
        approval_id: of the reversal that waits for agreement, or "".
    """
    known = write.execute(
        "SELECT state, approval_id FROM escalations WHERE call_id = ? AND cause = ?", (subject.call_id, cause)
    ).fetchone()
    if known and (known[0] == "dismissed" or known[1] == approval_id):
        return
    escalation = f"esc_{token(4)}"
    facts: dict[str, Any] = {"cause": cause, "approval_id": approval_id, "escalation": escalation}
    if mutation is not None:
        facts["mutation_row"] = mutation & SEQ_MASK
    event_id = write.append(RECOVERY_ESCALATED, {"reason": reason}, subject, facts)
    write.execute(
        "INSERT INTO escalations (id, state, cause, run_id, agent, tool_id, call_id, mutation_id, approval_id, event_id)"
        " VALUES (?, 'open', ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (call_id, cause) DO UPDATE"
        " SET approval_id = excluded.approval_id, event_id = excluded.event_id",
        (
            escalation,
            cause,
            subject.run_id,
            subject.agent,
            subject.tool_id,
            subject.call_id,
            mutation,
            approval_id,
            event_id,
        ),
    )
