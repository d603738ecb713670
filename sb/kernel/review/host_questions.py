"""Counts of the questions that hosts asked their own users: ours, and those of the hosts' own rules."""

from __future__ import annotations

from sb.base.sources import micros
from sb.base.values.frozen import frozen
from sb.log.event_log import EventLog
from sb.log.kinds import SESSION_QUESTION, TOOL_DISPATCH

_DAY_S = 86_400
# What precedes json_extract is cheap, and leaves few rows.
_OURS = f"""SELECT count(*) FILTER (WHERE json_extract(payload, '$.asked_by') <> ''),
    count(*) FILTER (WHERE json_extract(payload, '$.lapsed')) FROM events
    WHERE kind = '{TOOL_DISPATCH}' AND at > ? AND (payload LIKE '%"asked_by":"%' OR payload LIKE '%"lapsed":true%') AND json_valid(payload)"""
_HOSTS = f"""SELECT count(*) FILTER (WHERE json_extract(payload, '$.ours') = 0),
    count(*) FILTER (WHERE json_extract(payload, '$.denied')) FROM events
    WHERE kind = '{SESSION_QUESTION}' AND substr(kind, 1, 7) <> 'kernel.' AND at > ? AND json_valid(payload)"""


@frozen
class QuestionCounts:
    """Questions of some days.

    Args:
        ours: asked in place since SecondBrain told the host to. lapsed: of these, without a yes.
        own: asked by the hosts' own rules. denied: calls that these denied unasked.
    """

    ours: int
    lapsed: int
    own: int
    denied: int


def question_counts(log: EventLog, days: int) -> QuestionCounts:
    """The questions of the last days; the hosts' own only of hosts that tell of them."""
    since = (micros(log.clock.now() - days * _DAY_S),)
    query = log.database.query
    return QuestionCounts(*query(_OURS, since)[0], *query(_HOSTS, since)[0])
