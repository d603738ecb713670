"""State words of Activity's views as SQL: a filter takes the words that stand in the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sb.kernel.baselines.seeding import TAKEN_OVER
from sb.kernel.calls.approval import ApprovalState
from sb.kernel.review.activity import ASKS, REFUSES
from sb.kernel.review.calls import DECIDED
from sb.log import kinds
from sb.log.event import SEQ_MASK
from sb.log.search import Clause
from sb.present.events import TAKEN, WORDS
from sb.present.recovery import NO_UNDO, UNKNOWN

LOG, CALLS, CHANGES, DECISIONS = "the log", "calls", "changes", "decisions"
_OF_CALLS = "started asked refused failed unknown unreported lapsed undone ok replayed settled".split()
_STATES: Mapping[str, Sequence[str]] = {
    LOG: [*dict.fromkeys([*ApprovalState, *_OF_CALLS, *WORDS.values(), TAKEN])],
    CALLS: [*_OF_CALLS, "running", *(word for word in ApprovalState if word != ApprovalState.USED)],
    CHANGES: ["undoable", "reversed", "too late", UNKNOWN, NO_UNDO],
    DECISIONS: [*dict.fromkeys([*ApprovalState, *(WORDS[kind] for kind in DECIDED), TAKEN])],
}


def _word(table: str = "events") -> str:
    """The word of an event, as `sb.present.events.verdict` tells it."""
    payload, kind = f"{table}.payload", f"{table}.kind"
    phase, state, rule, code, lapsed, reverses, asked_by, error, reason = (
        f"json_extract({payload}, '$.{name}')"
        for name in "phase state rule code lapsed reverses asked_by error reason".split()
    )
    taken = " OR ".join(f"{reason} LIKE '{begins}%'" for begins in TAKEN_OVER)
    return f"""CASE WHEN NOT json_valid({payload}) THEN 'unreadable' ELSE CASE {phase}
        WHEN 'intent' THEN CASE WHEN {asked_by} <> '' THEN 'asked' ELSE 'started' END
        WHEN 'refused' THEN CASE WHEN {rule} IS '{ASKS}' THEN 'asked' WHEN {code} IN {REFUSES} THEN 'refused'
            ELSE 'failed' END
        WHEN 'outcome' THEN CASE WHEN {lapsed} IS 1 THEN 'lapsed' WHEN {state} = 'in_doubt' THEN '{UNKNOWN}'
            WHEN {state} IN ('failed', 'unreported') THEN {state} WHEN {reverses} <> '' THEN 'undone' ELSE 'ok' END
        WHEN 'in_doubt' THEN '{UNKNOWN}' WHEN 'replayed' THEN 'replayed' WHEN 'settled' THEN 'settled'
        ELSE CASE WHEN {kind} = '{kinds.RUN_FINISHED}' AND {error} <> '' THEN 'failed'
            WHEN {kind} = '{kinds.BASELINE_CHANGED}' AND ({taken}) THEN '{TAKEN}'
            ELSE CASE {kind} {" ".join(f"WHEN '{kind}' THEN '{word}'" for kind, word in WORDS.items())} END
        END END END"""


_WAITS = "id IN (SELECT event_id FROM approvals WHERE state = 'waiting' AND expires_at > ?)"
_LAPSED = "id IN (SELECT event_id FROM approvals WHERE state IN ('waiting', 'approved') AND expires_at <= ?)"
_LATER = f"""FROM events AS l WHERE l.run_id = events.run_id AND l.id > events.id AND l.call_id = events.call_id
    AND l.kind = '{kinds.TOOL_DISPATCH}'"""
_END = f"(SELECT {_word('l')} {_LATER} ORDER BY l.id LIMIT 1)"
# Of a call by its first event: the word of its end, or that of its request.
_CALL = f"""CASE {_word()} WHEN 'started' THEN
        coalesce(nullif({_END}, '{UNKNOWN}'), (SELECT 'settled' {_LATER} AND {_word("l")} = 'settled'), {_END}, 'running')
    WHEN 'asked' THEN coalesce((SELECT CASE WHEN a.state IN ('waiting', 'approved') AND a.expires_at <= ? THEN 'expired'
            WHEN a.state = 'waiting' THEN 'asked' WHEN a.state = 'used' THEN 'approved' ELSE a.state END
        FROM approvals AS a WHERE a.args_digest = json_extract(payload, '$.args_digest') AND a.agent = events.agent
            AND a.tool_id = events.tool_id AND a.event_id < events.id ORDER BY a.number DESC LIMIT 1), 'asked')
    ELSE {_word()} END"""
# Of an undo record, as `sb.present.recovery.state_word` tells it.
_CHANGE = f"""(SELECT CASE WHEN m.state = 'reversed' THEN m.state WHEN m.state = 'reversing' THEN '{UNKNOWN}'
        WHEN coalesce(json_extract(m.ref, '$.reversal_tool'), '') = '' THEN '{NO_UNDO}'
        WHEN json_extract(m.ref, '$.reversal_args.files') = '[]' THEN '{NO_UNDO}'
        WHEN json_extract(m.ref, '$.window_ends_at') <= ? THEN 'too late' ELSE 'undoable' END
    FROM mutations AS m WHERE m.id = events.id)"""


def states_of(view: str) -> Sequence[str]:
    """The state words of a view's rows."""
    return _STATES[view]


def state_clause(view: str, word: str, now: int) -> Clause:
    """The condition that an event's row in a view has this state word; `now` in microseconds since the epoch.

    In the log, of a request that waits, or lapsed unnoted, it is the event that asked.
    """
    if view in (CALLS, CHANGES):
        asked = "asked" if word == ApprovalState.WAITING else word
        return f"{_CALL if view == CALLS else _CHANGE} = ?", (now, asked)
    if word == ApprovalState.WAITING:
        return _WAITS, (now,)
    if word == ApprovalState.EXPIRED:
        return f"{_word()} = ? OR {_LAPSED}", (word, now)
    return f"{_word()} = ?", (word,)


def args_elsewhere(view: str, clause: str) -> str:
    """True where another event, `q`, fits, whose arguments a row shows: the request that was decided, or the intent."""
    if view == CHANGES:
        intent = "CASE WHEN json_valid(events.payload) THEN json_extract(events.payload, '$.intent') END"
        own = f"q.id = (events.id & ~{SEQ_MASK}) + {intent}"
        return f"EXISTS (SELECT 1 FROM events AS q WHERE {own} AND {clause})"
    asked = f"SELECT a.id FROM approvals AS a JOIN events AS q ON q.id = a.event_id WHERE {clause}"
    return f"(substr(kind, 1, 9) = 'approval.' AND call_id IN ({asked}))"
