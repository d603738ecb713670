"""What needs a person in the kernel: true counts, and the first of each kind with what it is about."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum
from typing import Any, TypeVar

from sb.frozen import frozen
from sb.kernel.approvals.disclosure import Disclosure
from sb.kernel.approvals.queue import ApprovalQueue, Order
from sb.kernel.calls.approval import ApprovalState
from sb.kernel.calls.intents import Intent
from sb.kernel.recovery.escalations import UNSETTLED, Escalation, Escalations, EscalationState
from sb.kernel.review.runs import project_name
from sb.kernel.workflows.doubt import in_doubt
from sb.log.event import Event
from sb.log.event_log import EventLog

About = TypeVar("About", Intent, Escalation)
# Reversals that a person looks at; those with an unknown outcome are among the calls with one.
_REVERSALS = frozenset(UNSETTLED) - {EscalationState.IN_DOUBT}


class Kind(StrEnum):
    """What is needed, in the order in which it is listed."""

    REQUEST = "request"
    UNKNOWN = "unknown"
    REVERSAL = "reversal"


@frozen
class CallOrigin:
    """Where the calls of a run come from; empty where its first event does not say.

    Args:
        project: a folder.
    """

    host: str = ""
    project: str = ""
    session: str = ""

    @property
    def project_name(self) -> str:
        """The name of the project's folder."""
        return project_name(self.project)


@frozen
class Need:
    """One thing that needs a person.

    Args:
        args: of the call that it is about, as the log has them; None where they are not known.
        why: of a call with an unknown outcome, what became known of it.
        at: since when, in microseconds since the epoch.
    """

    kind: Kind
    about: Disclosure | Intent | Escalation
    origin: CallOrigin
    args: Any
    why: str
    at: int

    @property
    def key(self) -> str:
        """Tells it from all others; what needs a person anew has another key."""
        return _key(self.about)


@frozen
class Needs:
    """How many of each kind there are, and the first ones.

    Args:
        first: requests, by effect; then calls with unknown outcomes and reversals, the newest first.
        keys: of all of them.
    """

    requests: int = 0
    unknown: int = 0
    reversals: int = 0
    first: tuple[Need, ...] = ()
    keys: frozenset[str] = frozenset()

    @property
    def total(self) -> int:
        """All of them."""
        return self.requests + self.unknown + self.reversals


def needs(log: EventLog, most: int = 50, known: Collection[str] = ()) -> Needs:
    """What waits for a person.

    Args:
        most: of each kind, that are described.
        known: keys of what is not described again.
    """
    queue = ApprovalQueue(log)
    reversals = [one for one in Escalations(log).page(limit=0) if one.state in _REVERSALS]
    asked = {one.approval_id for one in reversals if one.approval_id}
    waiting = queue.numbers(states=[ApprovalState.WAITING], order=Order.EFFECT)
    fresh = [number for number in waiting if _request_key(number) not in known]
    found = queue.numbered(fresh[: most + len(asked)])
    requests = [found[one] for one in fresh if one in found and found[one].id not in asked][:most]
    doubtful = in_doubt(log)[::-1]
    keys = {*map(_request_key, waiting), *map(_key, doubtful), *map(_key, reversals)}
    first = [
        *(
            Need(Kind.REQUEST, queue.disclose(one), CallOrigin(), None, "", one.requested_at)
            for one in requests
        ),
        *(_unknown(log, one) for one in _unseen(doubtful, known)[:most]),
        *(
            Need(Kind.REVERSAL, one, CallOrigin(), call_args(log, one.run_id, one.call_id), "", one.opened_at)
            for one in _unseen(reversals, known)[:most]
        ),
    ]
    origins = call_origins(log, {_run_of(one) for one in first})
    return Needs(
        len(waiting) - sum(one.state is EscalationState.WAITING for one in reversals),
        len(doubtful),
        len(reversals),
        tuple(_placed(one, origins) for one in first),
        frozenset(keys),
    )


def _request_key(number: int) -> str:
    return f"request {number}"


def _key(about: Disclosure | Intent | Escalation) -> str:
    if isinstance(about, Disclosure):
        return _request_key(about.approval.number)
    return f"unknown {about.call_id}" if isinstance(about, Intent) else f"reversal {about.id} {about.state}"


def _unseen(found: Sequence[About], known: Collection[str]) -> list[About]:
    return [one for one in found if _key(one) not in known]


def _run_of(need: Need) -> str:
    return need.about.approval.run_id if isinstance(need.about, Disclosure) else need.about.run_id


def _placed(need: Need, origins: dict[str, CallOrigin]) -> Need:
    origin = origins.get(_run_of(need), CallOrigin())
    return Need(need.kind, need.about, origin, need.args, need.why, need.at)


def _unknown(log: EventLog, intent: Intent) -> Need:
    events = list(log.events(run_id=intent.run_id, call_id=intent.call_id))
    last = (events[-1].payload or {}) if events else {}
    why = str(last.get("error") or last.get("cause") or "")
    at = events[-1].at if events else intent.deadline
    return Need(Kind.UNKNOWN, intent, CallOrigin(), intent.named or _args(events), why, at)


def call_args(log: EventLog, run_id: str, call_id: str) -> Any:
    """The arguments of a call as the log has them; None where it has none."""
    return _args(log.events(run_id=run_id, call_id=call_id))


def _args(events: Iterable[Event]) -> Any:
    payloads = (event.payload or {} for event in events)
    return next((payload["args"] for payload in payloads if "args" in payload), None)


def call_origins(log: EventLog, runs: Collection[str]) -> dict[str, CallOrigin]:
    """Host, project and session of runs, from their first events. For a screenful, not for all."""
    names: Sequence[str] = sorted(runs)
    if not names:
        return {}
    fields = ", ".join(
        f"CASE WHEN json_valid(payload) THEN coalesce(json_extract(payload, '$.{name}'), '') ELSE '' END"
        for name in ("host", "project", "session_id")
    )
    rows = log.database.query(
        f"SELECT run_id, {fields} FROM events WHERE id IN"
        f" (SELECT min(id) FROM events WHERE run_id IN ({', '.join('?' * len(names))}) GROUP BY run_id)",
        tuple(names),
    )
    return {run_id: CallOrigin(*map(str, said)) for run_id, *said in rows}
