"""Events of the log: one verdict word each, what it is about, and who."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sb.base.fitting import Cut, count, short_span
from sb.base.sources import iso_micros
from sb.base.text import plain
from sb.base.values.frozen import frozen
from sb.kernel.baselines.seeding import TAKEN_OVER
from sb.kernel.calls.approval import Approval, ApprovalState
from sb.kernel.calls.narrative import describe
from sb.kernel.results import REFUSALS
from sb.kernel.review.activity import ASKS
from sb.kernel.review.calls import CallRecord
from sb.log import kinds
from sb.log.event import Event, is_damaged
from sb.log.event_log import EventLog
from sb.log.search import events_at
from sb.present.calls import call_object
from sb.present.effects import telling_words
from sb.present.kind import NAMED, Cell, Column, Field, Kind
from sb.present.states import SOFT, State, fact, state
from sb.present.times import ago

WORDS = {
    kinds.RUN_STARTED: "started",
    kinds.RUN_FINISHED: "ended",
    kinds.APPROVAL_REQUESTED: "request",  # beside the row of its call, which is the one that asked
    kinds.APPROVAL_APPROVED: "approved",
    kinds.APPROVAL_DENIED: "denied",
    kinds.APPROVAL_REVOKED: "revoked",
    kinds.APPROVAL_EXPIRED: "expired",
    kinds.APPROVAL_USED: "used",
    kinds.GRANT_MADE: "granted",
    kinds.GRANT_REVOKED: "revoked",
    kinds.BASELINE_CHANGED: "approved",
    kinds.RECOVERY_INVALIDATED: "changed",
    kinds.RECOVERY_DECIDED: "recovery",
    kinds.RECOVERY_ESCALATED: "reversal",
    kinds.RECOVERY_DISMISSED: "dismissed",
    kinds.RECOVERY_BEGUN: "started",
    kinds.RECOVERY_SETTLED: "settled",
    kinds.RECOVERY_PURGED: "purged",
    kinds.WORKFLOW_IN_DOUBT: "unknown",
    kinds.WORKFLOW_SETTLED: "settled",
    kinds.PRUNED: "pruned",
    kinds.KILL_THROWN: "stopped",
    kinds.KILL_LIFTED: "lifted",
    kinds.INCIDENT_OPENED: "opened",
    kinds.INCIDENT_CLOSED: "closed",
    kinds.AUTONOMY_LOWERED: "lowered",
    kinds.AUTONOMY_RAISED: "raised",
    kinds.AUTONOMY_FROZEN: "frozen",
    kinds.AUTONOMY_UNFROZEN: "unfrozen",
    kinds.AUTONOMY_EVALUATED: "evaluated",
    kinds.OUTCOME_JUDGED: "judged",
    kinds.OPERATOR_CHANGED: "operators",
    kinds.SESSION_CONFLICT: "conflict",
    kinds.SESSION_TOLD: "notified",
    kinds.SESSION_TURN: "turn",
    kinds.SESSION_QUESTION: "asked",
    kinds.CLAIMS_JUDGED: "claimed",
    kinds.MEMORY_PUT: "saved",
    kinds.MEMORY_GET: "read",
    kinds.TOOL_POLICY_BLOCKED: "refused",
    kinds.BUDGET_EXCEEDED: "refused",
    **{kind: word for word, kind in kinds.MEMORY_DECIDED.items()},
}
TAKEN = "taken over"  # contracts that an installation, or the first operator's enrolment, approved
WORD = 10  # cells of a verdict in a line of the log
SIGNED = "signed"  # under which is what a person signed
_SECOND_MS, _MINUTE_S, _LONGEST_MS = 1_000, 60, 1e15
# Events whose object is the call that they name, and not the call's arguments.
_ABOUT_A_TOOL = ("approval.", "grant.", "recovery.")


@frozen
class EventLine:
    """One event, cell by cell.

    Args:
        agent: whose call it is about, else who did it. at: microseconds since the epoch.
        why: the reason or the error that goes with it, or "". by: the person who signed it, or "".
    """

    seq: int
    verdict: State
    object: str
    agent: str
    at: int | None
    why: str
    by: str = ""


EVENT = Kind[EventLine](
    Field("verdict", lambda it, now: it.verdict, Column(WORD)),
    Field("object", lambda it, now: it.object, Column(cut=Cut.MIDDLE)),
    Field("agent", lambda it, now: it.agent, Column(11, NAMED, SOFT)),
    Field("by", lambda it, now: it.by, Column(10, NAMED, SOFT)),
    # Where the decision is about no call of an agent, the line's agent is who decided.
    Field(
        "its agent",
        lambda it, now: it.agent if it.agent != it.by else "",
        Column(11, NAMED, SOFT, title="agent"),
    ),
    Field("age", lambda it, now: ago(it.at, now), Column(6, tone=SOFT, right=True)),
    Field("row", lambda it, now: count(it.seq), Column(7, 90, SOFT, right=True)),
    faces={"list": "verdict,object,agent,age,row", "decisions": "verdict,object,by,its agent,age"},
)


def verdict(event: Event) -> State:
    """The one word for an event, with its tone."""
    return fact(_word(event, event.payload or {}))


def _word(event: Event, payload: Mapping[str, Any]) -> str:
    if is_damaged(payload):
        return "unreadable"
    match payload.get("phase"):
        case "intent":
            return "asked" if payload.get("asked_by") else "started"
        case "outcome":
            return _outcome(payload)
        case "in_doubt":
            return "unknown"
        case "replayed":
            return "replayed"
        case "settled":
            return "settled"
        case "refused":
            return _refusal(payload)
    if event.kind == kinds.BASELINE_CHANGED and str(payload.get("reason")).startswith(TAKEN_OVER):
        return TAKEN
    if event.kind == kinds.RUN_FINISHED and payload.get("error"):
        return "failed"
    return WORDS.get(event.kind, "event")


def _outcome(payload: Mapping[str, Any]) -> str:
    words = {"in_doubt": "unknown", "failed": "failed", "unreported": "unreported"}
    word = "lapsed" if payload.get("lapsed") is True else words.get(str(payload.get("state")))
    if word:
        return word
    return "undone" if payload.get("reverses") else "ok"


def _refusal(payload: Mapping[str, Any]) -> str:
    """Asked a person, was refused, or could not be a call at all."""
    if payload.get("rule") == ASKS:
        return "asked"
    return "refused" if payload.get("code") in REFUSALS else "failed"


def event_line(event: Event, args: Any = None) -> EventLine:
    """An event as lists show it.

    Args:
        args: of the call that it ends, from the event that announced it.
    """
    payload = event.payload or {}
    statement = _statement(payload)
    why = (
        payload.get("reason") or payload.get("error") or payload.get("cause") or statement.get("reason")
    ) or ""
    return EventLine(
        event.seq,
        verdict(event),
        _object(event, payload, args),
        plain(event.subject.agent or str(payload.get("by", "")), one_line=True),
        event.at,
        plain(str(why), one_line=True),
        plain(str(statement.get("by", "")), one_line=True),
    )


def log_line(event: Event) -> str:
    """One line with the row's number, time, run and verdict; what `sb log` prints."""
    run = plain(event.subject.run_id, one_line=True) or "-"
    text = describe(event, outcome=False)
    return f"{event.seq:>6}  {iso_micros(event.at)[:19]}Z  {run:<20}  {verdict(event).word:<{WORD}}  {text}"


def _object(event: Event, payload: Mapping[str, Any], args: Any) -> str:
    if is_damaged(payload):
        return f"row {event.seq} cannot be read: sb log verify"
    args = payload.get("args", args)
    tool_id = event.subject.tool_id
    if tool_id and args is not None:
        return call_object(tool_id, args)
    about = _about(event, payload)
    return plain(about, one_line=True) if about else describe(event)


def _about(event: Event, payload: Mapping[str, Any]) -> str:
    """The subject of an event without a call's arguments; "" where only its sentence tells."""
    statement = _statement(payload)
    match event.kind:
        case kinds.RUN_STARTED:
            return str(payload.get("intent") or payload.get("project") or "a run")
        case kinds.RUN_FINISHED:
            return str(payload.get("error") or "the run")
        case kinds.BASELINE_CHANGED:
            contracts = statement.get("contracts")
            return f"contracts of {', '.join(contracts)}" if isinstance(contracts, dict) else ""
        case kinds.KILL_THROWN | kinds.KILL_LIFTED:
            return f"{statement.get('scope', '')} {statement.get('target', '')}".strip()
        case kinds.INCIDENT_OPENED | kinds.INCIDENT_CLOSED:
            return f"{statement.get('id', '')} {statement.get('title', '')}".strip()
        case _ if event.kind.startswith("autonomy."):
            return str(statement.get("tool_id") or "every tool")
        case kinds.OUTCOME_JUDGED:
            return f"{'accepted' if statement.get('accepted') is True else 'rejected'} {event.subject.run_id}"
        case kinds.OPERATOR_CHANGED:
            return f"{payload.get('how', '')} {payload.get('name', '')}".strip()
        case kinds.CLAIMS_JUDGED:
            return "; ".join(
                f"{item['claim']} ({item['reason'] or item['verdict']})" for item in payload.get("claims", ())
            )
        case kinds.SESSION_CONFLICT:
            return str(payload.get("path", ""))
        case kinds.MEMORY_PUT | kinds.MEMORY_GET:
            return f"{payload.get('tier', '')} {payload.get('key', '')}".strip()
        case kinds.RECOVERY_INVALIDATED:
            return str(payload.get("assumption", ""))
        case _ if _is_of_memory(event):
            return f"memory {event.subject.call_id}"
    named = event.kind.startswith(("kernel.", *_ABOUT_A_TOOL))
    return event.subject.tool_id if named else ""


def _statement(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """The statement that an operator signed, as far as it is there."""
    signed = payload.get(SIGNED) or payload
    found = signed.get("statement") if isinstance(signed, dict) else None
    return found if isinstance(found, dict) else {}


@frozen
class CallLine:
    """One call, cell by cell.

    Args:
        took: "" while it has not ended. why: why it was refused or failed, or "".
    """

    first: int
    call_id: str
    verdict: State
    object: str
    agent: str
    took: str
    at: int
    why: str


CALL = Kind[CallLine](
    Field("verdict", lambda it, now: it.verdict, Column(WORD)),
    Field(
        "object",
        lambda it, now: Cell(it.object, keeps=telling_words(it.object, it.why)),
        Column(cut=Cut.MIDDLE),
    ),
    Field("agent", lambda it, now: it.agent, Column(12, NAMED, SOFT)),
    Field("took", lambda it, now: it.took, Column(7, 50, SOFT, right=True)),
    Field("age", lambda it, now: ago(it.at, now), Column(6, tone=SOFT, right=True)),
    faces={
        "list": "verdict,object,agent,took,age",
        "branch": "verdict,object,age",
    },
)


def call_line(call: CallRecord) -> CallLine:
    """A call as lists show it: by its newest event; one that needs approval by what became of its request."""
    line = event_line(call.last, call.args)
    running = call.payload.get("phase") == "intent"
    request = call.request if call.request and call.request.state is not ApprovalState.WAITING else None
    return CallLine(
        call.first,
        call.call_id,
        state("running") if running else _decision(request) if request else line.verdict,
        call_object(call.tool_id, call.args),
        plain(call.agent if not call.subagent else f"{call.agent} {call.subagent}", one_line=True),
        took_text(call.took_ms),
        call.at,
        _decided_why(request) if request else line.why,
    )


def _decision(request: Approval) -> State:
    """The state of a request that was decided, or expired."""
    return fact("approved" if request.state is ApprovalState.USED else str(request.state))


def _decided_why(request: Approval) -> str:
    """The reason that a person gave, and who."""
    if not request.decided_by or request.state is ApprovalState.EXPIRED:
        return "not decided in time"
    return plain(f"{request.reason} ({request.decided_by})", one_line=True)


def took_text(milliseconds: float | None) -> str:
    """A call's duration: 12ms, 3.4s, then in minutes; "" if unknown."""
    if not (isinstance(milliseconds, int | float) and 0 <= milliseconds < _LONGEST_MS):
        return ""  # a database can be edited
    if milliseconds < _SECOND_MS:
        return f"{milliseconds:.0f}ms"
    seconds = milliseconds / _SECOND_MS
    return f"{seconds:.1f}s" if seconds < _MINUTE_S else short_span(seconds)


def event_lines(log: EventLog, seqs: Sequence[int]) -> dict[int, EventLine]:
    """Lines for these rows of the log, by their numbers; one that is missing in the log is missing here.

    The call of an outcome is read from the event that announced it, the call of a decision from its request. For a
    screenful, not for all.
    """
    found = events_at(log, seqs)
    announced = {seq: row for seq, event in found.items() if (row := _announced_in(event))}
    intents = events_at(log, sorted(set(announced.values()))) if announced else {}
    requests = _requested(log, [event for event in found.values() if _decides(event)])
    texts = _remembered(log, [event.subject.call_id for event in found.values() if _is_of_memory(event)])
    lines = {}
    for seq, event in found.items():
        intent = intents.get(announced.get(seq, 0))
        same = intent is not None and intent.subject.call_id == event.subject.call_id
        args = (intent.payload or {}).get("args") if intent is not None and same else None
        line = event_line(event, requests.get(event.subject.call_id) if args is None else args)
        lines[seq] = replace(line, object=texts.get(event.subject.call_id, line.object))
    return lines


def _is_of_memory(event: Event) -> bool:
    return event.kind in kinds.MEMORY_DECIDED.values()


def _remembered(log: EventLog, uids: Sequence[str]) -> dict[str, str]:
    """The texts of memories by their ids: an event has none of them, so that they can be erased."""
    if not uids:
        return {}
    marks = ", ".join("?" * len(uids))
    sql = f"SELECT uid, text FROM records WHERE text <> '' AND uid IN ({marks})"
    return {uid: plain(text, one_line=True) for uid, text in log.database.query(sql, tuple(uids))}


def _announced_in(event: Event) -> int:
    """The row that announced the call of an outcome; 0 where the event itself has the arguments."""
    payload = event.payload or {}
    intent = payload.get("intent")
    return intent if isinstance(intent, int) and "args" not in payload else 0


def _decides(event: Event) -> bool:
    return event.kind.startswith("approval.") and event.kind != kinds.APPROVAL_REQUESTED


def _requested(log: EventLog, events: Sequence[Event]) -> dict[str, Any]:
    """The arguments that people were asked about, by the id of the request."""
    names = sorted({event.subject.call_id for event in events})
    if not names:
        return {}
    rows = log.database.query(
        f"SELECT a.id, CASE WHEN json_valid(e.payload) THEN json_extract(e.payload, '$.args') END"
        f" FROM approvals AS a JOIN events AS e ON e.id = a.event_id WHERE a.id IN ({', '.join('?' * len(names))})",
        tuple(names),
    )
    return {name: _decoded(args) for name, args in rows if args is not None}


def _decoded(args: Any) -> Any:
    try:
        return json.loads(args)
    except (TypeError, ValueError):
        return args
