"""Escalations: what a person has to look at, and what became of it.

Where a reversal waits for agreement, the approval and the mutation say how it stands; the row only ties them together.
"""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any

from sb.base.secrets.redaction import one_line
from sb.base.sources import MICROSECONDS, iso_micros
from sb.base.text import nearest
from sb.base.values.frozen import frozen
from sb.errors import DeniedError, NotFoundError
from sb.kernel.calls.approval import OPEN, ApprovalState
from sb.kernel.reversibility.contracts import MutationState
from sb.kernel.reversibility.mutations import MUTATION_ID
from sb.log.event import EVENT_COLUMNS, Subject
from sb.log.event_log import EventLog
from sb.log.kinds import RECOVERY_DISMISSED, RECOVERY_ESCALATED
from sb.log.people_events import sound
from sb.log.references import full_id


class EscalationState(StrEnum):
    """State of an escalation. OPEN: its call left nothing that could be reversed."""

    OPEN = "open"
    WAITING = "waiting"
    APPROVED = "approved"
    REVERSED = "reversed"
    FAILED = "failed"
    IN_DOUBT = "in doubt"
    NO_WAY_BACK = "no way back"
    DISMISSED = "dismissed"
    EXPIRED = "expired"


UNDECIDED = (EscalationState.WAITING, EscalationState.APPROVED)
UNSETTLED = (
    EscalationState.OPEN,
    EscalationState.WAITING,
    EscalationState.APPROVED,
    EscalationState.FAILED,
    EscalationState.IN_DOUBT,
    EscalationState.NO_WAY_BACK,
    EscalationState.EXPIRED,
)
_ENDED = {
    ApprovalState.WAITING: EscalationState.WAITING,
    ApprovalState.APPROVED: EscalationState.APPROVED,
    ApprovalState.DENIED: EscalationState.DISMISSED,
    ApprovalState.REVOKED: EscalationState.DISMISSED,
    ApprovalState.EXPIRED: EscalationState.EXPIRED,
}
_REVERSED = {
    MutationState.REVERSED: EscalationState.REVERSED,
    MutationState.REVERSING: EscalationState.IN_DOUBT,
    MutationState.COMMITTED: EscalationState.FAILED,
}
_COLUMNS = (
    "x.number, x.id, x.state, x.cause, x.run_id, x.agent, x.tool_id, x.call_id, x.approval_id,"
    " e.at, e.payload, m.id, m.call_id, m.state, a.state, a.expires_at, a.needed, a.decided_by, a.reason"
)
_SELECT = (
    f"SELECT {_COLUMNS} FROM escalations AS x JOIN events AS e ON e.id = x.event_id"
    " LEFT JOIN mutations AS m ON m.id = x.mutation_id LEFT JOIN approvals AS a ON a.id = x.approval_id"
)

_DISMISSED = (
    "SELECT payload FROM events WHERE call_id = ? AND kind = ? AND substr(kind, 1, 7) <> 'kernel.'"
    " ORDER BY id DESC"
)
_UNSETTLED = (
    " WHERE x.state = 'open' AND coalesce(m.state, '') <> 'reversed'"
    " AND coalesce(a.state, '') NOT IN ('denied', 'revoked')"
)


@frozen
class Escalation:
    """Something that a call did and that a person has to look at; times in microseconds since the epoch.

    Args:
        cause: the assumption that turned false, or what else led to it.
        why: the same for a person. run_id, agent, tool_id, call_id: of the call that it is about.
        mutation_id: what that left behind; "" if nothing is known of that.
        approval_id: of the reversal, "" where nothing can be reversed. people: how many have to agree.
        expires_at: until when they may.
    """

    number: int
    id: str
    state: EscalationState
    cause: str
    why: str
    run_id: str
    agent: str
    tool_id: str
    call_id: str
    mutation_id: str
    approval_id: str
    people: int
    opened_at: int
    expires_at: int | None
    decided_by: str
    reason: str

    @property
    def undecided(self) -> bool:
        """True if a person may agree to its reversal, or has and it was not performed."""
        return self.state in UNDECIDED

    @property
    def unsettled(self) -> bool:
        """True if it can be dismissed."""
        return self.state in UNSETTLED

    @property
    def may_be_tried(self) -> bool:
        """True if there is something to reverse that was not reversed yet."""
        return bool(self.mutation_id) and self.state is not EscalationState.REVERSED

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON, with times in ISO 8601."""
        return {name: value for name, value in vars(self).items() if name != "state"} | {
            "standing": str(self.state),
            "opened_at": iso_micros(self.opened_at),
            "expires_at": None if self.expires_at is None else iso_micros(self.expires_at),
        }


class Escalations:
    """Reads the escalations of one log's database; times are judged by the log's clock."""

    def __init__(self, log: EventLog) -> None:
        self.log = log

    def page(self, *, everything: bool = False, agent: str = "", limit: int = 200) -> list[Escalation]:
        """Escalations, newest first.

        Args:
            everything: also those that nobody has to look at any more.
            agent: only those of its calls; "" for all.
            limit: at most so many of the newest; 0 for all.
        """
        where = (
            " WHERE 1" if everything else _UNSETTLED
        )  # before the limit, or many settled ones would hide others
        own = " AND x.agent = ?" if agent else ""
        values = (agent, limit or -1) if agent else (limit or -1,)
        rows = self.log.database.query(f"{_SELECT}{where}{own} ORDER BY x.number DESC LIMIT +?", values)
        found = [self._escalation(row) for row in rows]
        return [escalation for escalation in found if everything or escalation.state in UNSETTLED]

    def get(self, reference: str) -> Escalation:
        """One escalation by its id, or the newest of a mutation, an approval or a call by theirs.

        Raises:
            NotFoundError: there is none.
        """
        reference = full_id(self.log.database, reference)
        named = MUTATION_ID.fullmatch(reference)
        mutation = self.log.first_id + int(named[1]) if named else None
        found = self._found(
            "x.id = ? OR x.approval_id = ? OR x.call_id = ? OR x.mutation_id = ?",
            (reference, reference or None, reference, mutation),
        )
        for escalation in found:
            if reference in (
                escalation.id,
                escalation.approval_id,
                escalation.call_id,
                escalation.mutation_id,
            ):
                return escalation
        shown = one_line(reference, 40)
        near = nearest(reference, [item.id for item in self.page(everything=True)])
        raise NotFoundError(f"no escalation {shown!r}{near}", "sb recovery list --all shows them")

    def confirm(self, found: Escalation) -> None:
        """Pass if an escalation is what was put before a person.

        Raises:
            DeniedError: its row, or what it is tied to, was changed in the database.
            StoreCorrupt: its event was.
        """
        rows = self.log.database.query(
            f"SELECT {EVENT_COLUMNS} FROM events WHERE id = (SELECT event_id FROM escalations WHERE number = ?)",
            (found.number,),
        )
        pruned = bool(rows) and rows[0][12] is None
        event = self.log.event(rows[0]) if pruned else sound(self.log, rows[0]) if rows else None
        same = event is not None and event.kind == RECOVERY_ESCALATED
        if event is not None:
            about = event.subject._replace(trace_id="")
            payload = event.payload or {"cause": found.cause, "approval_id": found.approval_id}
            same &= about == Subject(found.run_id, "", found.agent, found.tool_id, found.call_id)
            same &= (payload.get("cause"), payload.get("approval_id")) == (found.cause, found.approval_id)
        whose = self.log.database.query(
            "SELECT call_id FROM mutations WHERE id = (SELECT mutation_id FROM escalations WHERE number = ?)",
            (found.number,),
        )
        if not same or any(call_id != found.call_id for (call_id,) in whose):
            raise DeniedError(f"{found.id} is not what the log says: it was changed", "sb log verify")

    def about(self, call_id: str, cause: str) -> Escalation | None:
        """The one of this call for this cause."""
        found = self._found("x.call_id = ? AND x.cause = ?", (call_id, cause))
        return found[0] if found else None

    def _found(self, where: str, parameters: tuple[str | int | None, ...]) -> list[Escalation]:
        rows = self.log.database.query(f"{_SELECT} WHERE {where} ORDER BY x.number DESC", parameters)
        return [self._escalation(row) for row in rows]

    def _escalation(self, row: tuple[Any, ...]) -> Escalation:
        (number, name, state, cause, run_id, agent, tool_id, call_id, approval_id) = row[:9]
        (at, payload, mutation, mutated_by, mutation_state, approval, expires_at, needed, by, reason) = row[
            9:
        ]
        seq = 0 if mutation is None else mutation - self.log.first_id
        if state == "dismissed":
            by, reason = self._dismissal(name, call_id)
        return Escalation(
            number,
            name,
            self._state(state, mutation_state, approval, expires_at),
            cause,
            _why(payload),
            run_id,
            agent,
            tool_id,
            call_id,
            f"mut_{seq}_{mutated_by[-4:]}" if seq else "",
            approval_id,
            needed or 1,
            at,
            expires_at,
            by or "",
            reason or "",
        )

    def _dismissal(self, escalation_id: str, call_id: str) -> tuple[str, str]:
        """The operator who dismissed it, and the reason."""
        rows = self.log.database.query(_DISMISSED, (call_id, RECOVERY_DISMISSED))
        for row in (_said(payload) for (payload,) in rows):
            if row.get("escalation") == escalation_id:
                return str(row.get("by", "")), str(row.get("reason", ""))
        return "", ""

    def _state(
        self, state: str, mutation: str | None, approval: str | None, expires_at: int | None
    ) -> EscalationState:
        if state == "dismissed":
            return EscalationState.DISMISSED
        if mutation == MutationState.REVERSED:
            return EscalationState.REVERSED
        if approval is None:
            return EscalationState.OPEN if mutation is None else EscalationState.NO_WAY_BACK
        if approval == ApprovalState.USED:
            return _REVERSED[MutationState(mutation or MutationState.COMMITTED)]
        over = approval in OPEN and self.log.clock.now() * MICROSECONDS >= (expires_at or 0)
        return EscalationState.EXPIRED if over else _ENDED[ApprovalState(approval)]


def _why(payload: str | None) -> str:
    return str(_said(payload).get("reason", ""))


def _said(payload: str | None) -> dict[str, Any]:
    damaged = {"reason": "(damaged)"}
    try:
        fields = json.loads(payload or "{}")
    except (ValueError, RecursionError):
        return damaged
    return fields if isinstance(fields, dict) else damaged
