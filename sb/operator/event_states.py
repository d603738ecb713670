"""State words of Activity's views, as conditions on events: a filter takes the words that stand in the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sb.kernel.baselines.seeding import TAKEN_OVER
from sb.kernel.calls.approval import ApprovalState
from sb.kernel.reversibility.contracts import MutationState
from sb.kernel.review.activity import ASKS, REFUSES
from sb.kernel.review.calls import DECIDED
from sb.log import kinds
from sb.log.event import SEQ_MASK
from sb.log.search import Clause
from sb.present.events import TAKEN, WORDS
from sb.present.recovery import NO_UNDO, UNKNOWN

LOG, CALLS, CHANGES, DECISIONS = "the log", "calls", "changes", "decisions"
REVERSED, UNDOABLE, TOO_LATE, RUNNING = "reversed", "undoable", "too late", "running"


def _read(name: str) -> str:
    return f"json_extract({{0}}payload, '$.{name}')"


_ENDED = f"{_read('phase')} = 'outcome' AND {_read('lapsed')} IS NOT 1 AND"
_DONE = f"{_ENDED} coalesce({_read('state')}, '') NOT IN ('in_doubt', 'failed', 'unreported') AND"
_REFUSED = f"{_read('phase')} = 'refused' AND {_read('rule')}"
_RUN_FAILED = f"({{0}}kind = '{kinds.RUN_FINISHED}' AND coalesce({_read('error')}, '') <> '')"
_REASONS = " OR ".join(_read("reason") + f" LIKE '{reason}%'" for reason in TAKEN_OVER)
_TAKEN_OVER = f"({{0}}kind = '{kinds.BASELINE_CHANGED}' AND ({_REASONS}))"
# The words that a payload tells, as `sb.present.events.verdict` does; {0} is the prefix of the table.
_BY_PAYLOAD: Mapping[str, str] = {
    "started": f"{_read('phase')} = 'intent' AND coalesce({_read('asked_by')}, '') = ''",
    "asked": f"({_REFUSED} = '{ASKS}' OR ({_read('phase')} = 'intent' AND {_read('asked_by')} <> ''))",
    "refused": f"{_REFUSED} IS NOT '{ASKS}' AND {_read('code')} IN {REFUSES}",
    "failed": f"({_REFUSED} IS NOT '{ASKS}' AND coalesce({_read('code')}, '') NOT IN {REFUSES}"
    f" OR {_ENDED} {_read('state')} = 'failed' OR {_RUN_FAILED})",
    "unknown": f"({_read('phase')} = 'in_doubt' OR {_ENDED} {_read('state')} = 'in_doubt')",
    "unreported": f"{_ENDED} {_read('state')} = 'unreported'",
    "lapsed": f"{_read('phase')} = 'outcome' AND {_read('lapsed')} IS 1",
    "undone": f"{_DONE} coalesce({_read('reverses')}, '') <> ''",
    "ok": f"{_DONE} coalesce({_read('reverses')}, '') = ''",
    TAKEN: _TAKEN_OVER,
    "replayed": f"{_read('phase')} = 'replayed'",
    "settled": f"{_read('phase')} = 'settled'",
}
_WORDED = {word: [kind for kind, it in WORDS.items() if it == word] for word in WORDS.values()}
_STATES: Mapping[str, Sequence[str]] = {
    LOG: [*dict.fromkeys([*ApprovalState, *_BY_PAYLOAD, *_WORDED])],
    CALLS: [
        *(it for it in _BY_PAYLOAD if it != TAKEN),
        RUNNING,
        *(it for it in ApprovalState if it != "used"),
    ],
    CHANGES: [UNDOABLE, REVERSED, TOO_LATE, UNKNOWN, NO_UNDO],
    DECISIONS: [*dict.fromkeys([*ApprovalState, *(WORDS[kind] for kind in DECIDED), TAKEN])],
}
_EXPIRES = "a.state IN ('waiting', 'approved') AND a.expires_at <= ?"
_REQUEST_OF_CALL = (
    f"(SELECT CASE WHEN {_EXPIRES} THEN 'expired' ELSE a.state END FROM approvals AS a"
    " WHERE a.args_digest = json_extract(payload, '$.args_digest') AND a.agent = events.agent"
    " AND a.tool_id = events.tool_id AND a.event_id < events.id ORDER BY a.number DESC LIMIT 1)"
)
_LATER = (
    "FROM events AS l WHERE l.run_id = events.run_id AND l.id > events.id AND l.call_id = events.call_id"
    f" AND l.kind = '{kinds.TOOL_DISPATCH}'"
)


def states_of(face: str) -> Sequence[str]:
    """The state words of a view's rows."""
    return _STATES[face]


def state_clause(face: str, word: str, now: int) -> Clause:
    """The condition that an event's row in a view has this state word; `now` in microseconds since the epoch."""
    if face == CALLS:
        return _of_call(word, now)
    if face == CHANGES:
        return _of_change(word, now)
    return _of_event(word, now)


def args_elsewhere(view: str, clause: str) -> str:
    """True where another event, `q`, fits, whose arguments a row shows: the request that was decided, or the intent."""
    if view == CHANGES:
        intent = "CASE WHEN json_valid(payload) THEN json_extract(payload, '$.intent') END"
        own = f"q.id = (events.id & ~{SEQ_MASK}) + {intent.replace('payload', 'events.payload')}"
        return f"EXISTS (SELECT 1 FROM events AS q WHERE {own} AND {clause})"
    asked = f"SELECT a.id FROM approvals AS a JOIN events AS q ON q.id = a.event_id WHERE {clause}"
    return f"(substr(kind, 1, 9) = 'approval.' AND call_id IN ({asked}))"


def _of_event(word: str, now: int) -> Clause:
    """Of a request that waits, or lapsed unnoted, it is the event that asked."""
    if word == ApprovalState.WAITING:
        return "id IN (SELECT event_id FROM approvals WHERE state = 'waiting' AND expires_at > ?)", (now,)
    named = _WORDED.get(word, [])
    says = f"json_valid(payload) AND ({_read('phase')} <> '' OR {_RUN_FAILED} OR {_TAKEN_OVER})"
    own = f"kind IN ({', '.join('?' * len(named))}) AND coalesce({says}, 0) = 0"
    by_payload = f"json_valid(payload) AND {_BY_PAYLOAD.get(word, 0)}"
    sql = f"({own}) OR ({by_payload})".format("")
    if word == ApprovalState.EXPIRED:
        return f"{sql} OR id IN (SELECT a.event_id FROM approvals AS a WHERE {_EXPIRES})", (*named, now)
    return f"coalesce({sql}, 0)", tuple(named)


def _of_call(word: str, now: int) -> Clause:
    """A call that needs approval has its request's word; one that was announced that of its end."""
    if word == RUNNING:
        return f"json_extract(payload, '$.phase') = 'intent' AND NOT EXISTS (SELECT 1 {_LATER})", ()
    asked = _BY_PAYLOAD["asked"].format("")
    if word in list(ApprovalState):
        of = (ApprovalState.APPROVED, ApprovalState.USED) if word == ApprovalState.APPROVED else (word, word)
        return f"{asked} AND {_REQUEST_OF_CALL} IN (?, ?)", (now, *of)
    own = _BY_PAYLOAD[word]
    if word == "asked":
        return f"{asked} AND coalesce({_REQUEST_OF_CALL}, 'waiting') = 'waiting'", (now,)
    ends = f"(SELECT {own.format('l.')} {_LATER} ORDER BY l.id LIMIT 1)"
    settled = f"EXISTS (SELECT 1 {_LATER} AND {_BY_PAYLOAD['settled'].format('l.')})"
    if word == UNKNOWN:
        ends = f"({ends} AND NOT {settled})"
    elif word == "settled":
        ends = f"((SELECT {_BY_PAYLOAD[UNKNOWN].format('l.')} {_LATER} ORDER BY l.id LIMIT 1) AND {settled})"
    return f"CASE {_read('phase').format('')} WHEN 'intent' THEN {ends} ELSE {own.format('')} END", ()


def _of_change(word: str, now: int) -> Clause:
    """The state of an undo record, as `sb.present.recovery.state_word` says it."""
    has = "coalesce(json_extract(m.ref, '$.reversal_tool'), '') <> '' AND json_extract(m.ref, '$.reversal_args.files') IS NOT '[]'"
    late = "coalesce(json_extract(m.ref, '$.window_ends_at') <= ?, 0)"
    committed, values = f"m.state = '{MutationState.COMMITTED}'", (now,)
    wanted: Mapping[str, Clause] = {
        REVERSED: (f"m.state = '{MutationState.REVERSED}'", ()),
        UNKNOWN: (f"m.state = '{MutationState.REVERSING}'", ()),
        NO_UNDO: (f"{committed} AND NOT coalesce({has}, 0)", ()),
        UNDOABLE: (f"{committed} AND {has} AND NOT {late}", values),
        TOO_LATE: (f"{committed} AND {has} AND {late}", values),
    }
    sql, parameters = wanted[word]
    return f"id IN (SELECT m.id FROM mutations AS m WHERE {sql})", parameters
