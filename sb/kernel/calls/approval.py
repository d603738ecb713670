"""The data of approval requests and grants."""

from __future__ import annotations

import json
import os
from enum import StrEnum
from typing import Any, NamedTuple

from sb.kernel.calls.intents import HOST, process_lives


class ApprovalState(StrEnum):
    WAITING = "waiting"
    APPROVED = "approved"
    DENIED = "denied"
    REVOKED = "revoked"
    EXPIRED = "expired"
    USED = "used"


# In a reason for which a person has to agree: what an approval settles for every later call that has the same reason.
STANDING = "(standing)"  # no argument has such a name
STANDING_S = 10 * 365 * 86_400  # seconds; until it is revoked, as good as always
# Rules of reasons for which a person has to agree: credentials leave, are read, or were read before something leaves;
# and a file or a body is sent to another host, in whatever session.
CREDENTIALS_LEAVE, CREDENTIALS_READ, SENT_AFTER_READING, SENDS = "flow", "secret", "upload", "sends"
MONEY = "money"  # in the request's event: the amount that its tool's contract declares, with its currency
# Rules of reasons: a command is to run outside of confinement, or to write what decides about more than itself; and it
# is to write another place outside of the project.
OUTSIDE_CONFINEMENT, WRITES_OUTSIDE = "outside", "writes_outside"
# Of reasons that what a call does cannot be undone.
IRREVERSIBLE, OVER_CEILING = "irreversible", "irreversibility_ceiling"
# Of reasons that operators, where there are any, have to sign for, whatever the class of the call.
SIGNED = (IRREVERSIBLE, OVER_CEILING, OUTSIDE_CONFINEMENT)
OPEN = (ApprovalState.WAITING, ApprovalState.APPROVED)
APPROVAL_COLUMNS = (
    "a.number, a.id, a.state, a.agent, a.tool_id, a.fingerprint, a.args_digest, a.safety_class, a.run_id, a.call_id,"
    " a.waiter, a.needed, a.requested_at, a.due_at, a.expires_at, a.decided_at, a.decided_by, a.reason"
)
GRANT_COLUMNS = (
    "number, id, state, agent, tool_id, fingerprint, run_id, args, made_at, made_by, reason, expires_at, uses,"
    " last_used_at"
)


class Approval(NamedTuple):
    """One request for a person's decision; all times are in microseconds since the epoch.

    Args:
        waiter: host:pid of the process that waits for the decision, or "".
        needed: how many people have to approve.
        due_at: when it is overdue. expires_at: when it counts as denied.
        decided_by: names, with commas between them. reason: of the last decision.
        request: what the operator is shown: redacted arguments, reasons, contract, what the agent did before.
    """

    number: int
    id: str
    state: ApprovalState
    agent: str
    tool_id: str
    fingerprint: str
    args_digest: str
    safety_class: str
    run_id: str
    call_id: str
    waiter: str
    needed: int
    requested_at: int
    due_at: int
    expires_at: int
    decided_at: int | None
    decided_by: str
    reason: str
    request: dict[str, Any]

    @property
    def reverses(self) -> str:
        """The mutation that the call would undo, or ""; said by the request's event."""
        recovery = self.request.get("recovery")
        return str(recovery.get("reverses", "")) if isinstance(recovery, dict) else ""

    def overdue(self, now: int) -> bool:
        """True if nobody decided until it was due, or the process that waited for it has ended."""
        return self.state is ApprovalState.WAITING and (now > self.due_at or waiter_gone(self.waiter))

    def at(self, now: int) -> Approval:
        """The same as it counts at this time: an open one is expired once its time is over."""
        over = self.state in OPEN and now >= self.expires_at
        return self._replace(state=ApprovalState.EXPIRED) if over else self

    @property
    def state_line(self) -> str:
        """The request's state, by whom and why, such as "apr_820e is denied by ada: too much"."""
        by = f" by {self.decided_by}" if self.decided_by else ""
        why = f": {self.reason}" if self.reason else ""
        state = "used; approved" if self.state is ApprovalState.USED and by else self.state
        return f"{self.id} is {state}{by}{why}"

    def binding(self, database_id: str) -> dict[str, Any]:
        """The facts that a decision about it covers, and nothing else."""
        return {
            "approval": self.id,
            "database": database_id,
            "agent": self.agent,
            "tool_id": self.tool_id,
            "fingerprint": self.fingerprint,
            "args_digest": self.args_digest,
            "needed": self.needed,
            "requested_at": self.requested_at,
            "expires_at": self.expires_at,
        }


def approval_of(row: tuple[Any, ...]) -> Approval:
    """From APPROVAL_COLUMNS and the payload of the request's event."""
    columns = list(row)
    columns[2], columns[-1] = ApprovalState(columns[2]), _request(columns[-1])
    return Approval(*columns)


def _request(payload: str | None) -> dict[str, Any]:
    try:
        request = json.loads(payload or "{}")
    except (ValueError, RecursionError):
        return {"damaged": str(payload)[:200]}
    return request if isinstance(request, dict) else {"damaged": str(payload)[:200]}


def this_process() -> str:
    """host:pid, as a waiter is recorded."""
    return f"{HOST}:{os.getpid()}"


def waiter_gone(waiter: str) -> bool:
    """True if the process of this host that waited has ended; of other hosts nobody knows."""
    host, _, pid = waiter.rpartition(":")
    return bool(waiter) and host == HOST and not process_lives(pid)


class Grant(NamedTuple):
    """Calls of one kind that a person approved in advance; times in microseconds since the epoch.

    Args:
        run_id: "" for every run.
        args: argument name to the pattern of its value; {} allows any arguments.
    """

    number: int
    id: str
    state: str
    agent: str
    tool_id: str
    fingerprint: str
    run_id: str
    args: dict[str, str]
    made_at: int
    made_by: str
    reason: str
    expires_at: int
    uses: int
    last_used_at: int | None

    def at(self, now: int) -> Grant:
        """The same as it counts at this time."""
        return self._replace(state="expired") if self.state == "active" and now >= self.expires_at else self

    def binding(self, database_id: str) -> dict[str, Any]:
        """The facts that the person signed."""
        return {
            "grant": self.id,
            "database": database_id,
            "agent": self.agent,
            "tool_id": self.tool_id,
            "fingerprint": self.fingerprint,
            "run_id": self.run_id,
            "args": self.args,
            "expires_at": self.expires_at,
        }


def grant_of(row: tuple[Any, ...]) -> Grant:
    """From GRANT_COLUMNS."""
    columns = list(row)
    columns[7] = json.loads(columns[7])
    return Grant(*columns)
