"""List what needs a person now: requests, reversals, unknown outcomes, contracts, kills, a broken log."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sb.config import Config
from sb.errors import SBError
from sb.fitting import time_left
from sb.kernel.approvals.queue import ApprovalQueue
from sb.kernel.baselines.store import BaselineStatus, ContractBaselineStore, ContractEntry
from sb.kernel.calls.approval import Approval, ApprovalState
from sb.kernel.calls.intents import Intent, Intents
from sb.kernel.contracts import KERNEL_SURFACE
from sb.kernel.incidents.kill import Kill
from sb.kernel.recovery.escalations import Escalation, Escalations, EscalationState
from sb.kernel.review.findings import Finding, Status, log_standing
from sb.log.event_log import EventLog
from sb.parts import open_authority, open_kill_switch
from sb.present.approvals import request_line
from sb.redaction import one_line
from sb.sources import iso_micros

LONGEST_OBJECT = 400  # characters
_LONGEST_NAME = 100
_LOOKED_AT = (BaselineStatus.NEW, BaselineStatus.CHANGED, BaselineStatus.UNREADABLE)
_OVER = (EscalationState.FAILED, EscalationState.NO_WAY_BACK, EscalationState.EXPIRED)


class Kind(StrEnum):
    REQUEST = "request"
    REVERSAL = "reversal"
    UNKNOWN = "unknown"
    CONTRACT = "contract"
    KILL = "kill"
    LOG = "log"
    MORE = "more"


@dataclass(frozen=True)
class Need:
    """One thing that needs a person; every text is masked and fits on a line.

    Args:
        key: tells it from all others; it is needed anew when its key is.
        object: the command, file, tool or contract. why: what is the matter with it.
        expires_at: microseconds since the epoch, or None. command: what shows it.
    """

    kind: Kind
    key: str
    state: str
    object: str
    why: str = ""
    agent: str = ""
    id: str = ""
    expires_at: int | None = None
    command: str = ""

    def line(self, now: int) -> str:
        """The line for people; `now` in microseconds since the epoch."""
        left = time_left(self.expires_at, now) if self.expires_at else ""
        parts = (self.object, self.why, self.agent, left, self.id)
        return f"{self.state:<9} {' · '.join(filter(None, parts))}"

    def to_dict(self, now: int) -> dict[str, Any]:
        """The line for programs."""
        names = ("state", "object", "why", "agent", "id", "command")
        ends = None if self.expires_at is None else iso_micros(self.expires_at)
        values = {name: getattr(self, name) for name in names}
        return {"at": iso_micros(now), "kind": str(self.kind), **values, "expires_at": ends}


def needs(config: Config, log: EventLog, known: Collection[str] = (), limit: int = 0) -> Iterator[Need]:
    """What needs a person now, the soonest to expire of each kind first.

    Args:
        known: keys of requests that need not be read again; they are left out.
        limit: requests at most, and a line on how many more there are; 0 for all.

    Raises:
        StoreError: the database cannot be read.
    """
    escalations = Escalations(log).page(limit=0)
    yield from map(_reversal, (one for one in escalations if one.state is EscalationState.WAITING))
    yield from map(_not_reversed, (one for one in escalations if one.state in _OVER))
    yield from map(_unknown, Intents(log).in_doubt())
    standing = log_standing(log)
    if standing.status is Status.FAIL:
        yield _log(standing)
    yield from _kills(config, log)
    contracts = ContractBaselineStore(log, open_authority(config, log), KERNEL_SURFACE).entries()
    yield from (_contract(entry) for entry in contracts if entry.status in _LOOKED_AT)
    yield from _requests(log, {one.approval_id for one in escalations}, known, limit)


def request_keys(log: EventLog) -> set[str]:
    """The keys of all requests that wait."""
    return {str(number) for number in ApprovalQueue(log).numbers(states=[ApprovalState.WAITING])}


def _requests(log: EventLog, reversals: set[str], known: Collection[str], limit: int) -> Iterator[Need]:
    """Requests that are no reversals; these are decided, and run, as what they are."""
    queue = ApprovalQueue(log)
    unread = [n for n in queue.numbers(states=[ApprovalState.WAITING]) if str(n) not in known]
    read = unread[:limit] if limit else unread
    for number in read:
        approval = queue.numbered([number]).get(number)
        if approval is not None and approval.id not in reversals:
            yield _request(queue, approval, number)
    if len(unread) > len(read):
        more = f"{len(unread) - len(read):,} more requests"
        yield Need(Kind.MORE, "more", "waiting", more, command="sb approvals list --limit 0")


def _request(queue: ApprovalQueue, approval: Approval, number: int) -> Need:
    line = request_line(queue.disclose(approval), queue.now())
    return Need(
        Kind.REQUEST,
        str(number),
        line.state,
        one_line(line.object, LONGEST_OBJECT),
        one_line(line.effect, LONGEST_OBJECT),
        one_line(approval.agent, _LONGEST_NAME),
        approval.id,
        approval.expires_at,
        f"sb approvals show {approval.id}",
    )


def _reversal(found: Escalation) -> Need:
    return _of_recovery(found, "reversal", found.expires_at)


def _not_reversed(found: Escalation) -> Need:
    return _of_recovery(found, "failed", None)


def _of_recovery(found: Escalation, state: str, expires_at: int | None) -> Need:
    return Need(
        Kind.REVERSAL,
        f"{found.id} {found.state}",
        state,
        one_line(found.tool_id, _LONGEST_NAME),
        one_line(found.why or found.cause, LONGEST_OBJECT),
        one_line(found.agent, _LONGEST_NAME),
        found.id,
        expires_at,
        f"sb recovery show {found.id}",
    )


def _unknown(intent: Intent) -> Need:
    return Need(
        Kind.UNKNOWN,
        intent.call_id,
        "unknown",
        one_line(intent.tool_id, _LONGEST_NAME),
        "outcome unknown",
        one_line(intent.agent, _LONGEST_NAME),
        intent.call_id,
        command=f"sb recovery settle {intent.call_id}",
    )


def _contract(entry: ContractEntry) -> Need:
    why = {
        BaselineStatus.NEW: "its contract is not approved",
        BaselineStatus.CHANGED: f"its contract changed: {', '.join(one.path for one in entry.changes)}",
    }.get(entry.status, "its approval cannot be read")
    return Need(
        Kind.CONTRACT,
        f"{entry.tool_id} {entry.status} {entry.live_fingerprint}",
        str(entry.status),
        one_line(entry.tool_id, _LONGEST_NAME),
        one_line(why, LONGEST_OBJECT),
        command="sb runtime-guard mismatches",
    )


def _kills(config: Config, log: EventLog) -> Iterator[Need]:
    try:
        active = open_kill_switch(config, log).active()
    except SBError as error:
        why = f"every call is denied: {error.message}"
        yield Need(
            Kind.KILL,
            "kill",
            "broken",
            "kill switch",
            one_line(why, LONGEST_OBJECT),
            command="sb kill list",
        )
        return
    yield from map(_kill, active)


def _kill(kill: Kill) -> Need:
    return Need(
        Kind.KILL,
        f"kill {kill.number} {len(kill.lifted_by)}",
        "stopped",
        one_line(kill.name, _LONGEST_NAME),
        one_line(f"by {kill.by}: {kill.reason}", LONGEST_OBJECT),
        command=kill.lift_command,
    )


def _log(found: Finding) -> Need:
    return Need(Kind.LOG, f"log {found.detail}", "broken", "event log", found.detail, command="sb log verify")
