"""Questions that a host asks its own person about a call: which were answered yes in a run, and which lapsed.

A yes is a permission. It is on record with the intent of its call, and neither uses an approval nor makes one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sb.kernel.calls.approval import STANDING
from sb.kernel.calls.call import ToolCall
from sb.log.event import EVENT_COLUMNS, Subject
from sb.log.event_log import EventLog
from sb.log.kinds import SESSION_QUESTION, TOOL_DISPATCH
from sb.log.people_events import sound

ASKED_BY = "asked_by"  # of an intent: the host that asks its person about it
LAPSED = "lapsed"  # of an outcome: the question got no yes, and the call was not made
PERMITTED = "permitted_with"  # of an intent: the calls with which its reasons were permitted before
SUMMED_UP = "summed_up"  # of an outcome: no proof that the host's person said yes
_STANDING = "standing"  # of an intent: digests of what a yes holds for besides that call
_MOST_LOOKED_AT = 16  # questions of a run about one thing, newest first
_ASKED = f"SELECT {EVENT_COLUMNS} FROM events WHERE run_id = ? AND kind = ? AND payload LIKE ? ORDER BY id DESC LIMIT ?"
_ENDED = f"SELECT {EVENT_COLUMNS} FROM events WHERE run_id = ? AND call_id = ? AND kind = ? ORDER BY id DESC LIMIT 1"
_NEWEST = f"""SELECT json_extract(payload, '$.{LAPSED}') FROM events WHERE run_id = ? AND kind = ? AND tool_id = ? AND call_id <> ?
    AND json_valid(payload) AND json_extract(payload, '$.args_digest') = ? ORDER BY id DESC LIMIT 1"""

# Calls that wait for a question of ours and were not counted, with the host's name of the tool.
_OPEN = f"""SELECT intents.call_id, json_extract(payload, '$.args.tool') FROM intents JOIN events ON events.id = intents.id
    WHERE intents.run_id = ? AND state = 'started' AND json_valid(payload) AND json_extract(payload, '$.{ASKED_BY}') <> ''
    AND NOT EXISTS (SELECT 1 FROM events AS counted WHERE counted.run_id = intents.run_id AND counted.kind = ?
    AND counted.call_id = intents.call_id) ORDER BY intents.id"""


def asked_facts(log: EventLog, call: ToolCall) -> dict[str, Any]:
    """The facts of an intent whose host asks its person."""
    standing = [_digest(log, reason[STANDING]) for reason in call.reasons if STANDING in reason]
    return {ASKED_BY: call.performed_by, **({_STANDING: standing} if standing else {})}


def lapsed_facts(announced: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a lapsed question, for a call that its host asked its person about.

    Args:
        announced: the payload of the intent.
    """
    return {LAPSED: True, "args_digest": announced.get("args_digest")} if announced.get(ASKED_BY) else {}


def has_lapsed(log: EventLog, call: ToolCall) -> bool:
    """True if the newest question of this run about the very same call lapsed."""
    about = (call.ctx.run_id, TOOL_DISPATCH, call.tool_id, call.call_id, call.args_digest)
    rows = log.database.query(_NEWEST, about)
    return bool(rows and rows[0][0])


def record_question(log: EventLog, run_id: str, agent: str, tool: str, *, denied: bool) -> None:
    """Put on record that a host asked its user about a call of a run that is on record, or denied one by itself.

    Args:
        tool: the host's own name of it.
        denied: by the host's own rules, whoever is there.
    """
    query = log.database.query
    if not query("SELECT 1 FROM events WHERE run_id = ? LIMIT 1", (run_id,)):
        return  # the event that begins a run says more of it
    open_calls = () if denied else query(_OPEN, (run_id, SESSION_QUESTION))
    call_id = next((call_id for call_id, named in open_calls if named == tool), "")
    facts = {"denied": True} if denied else {"ours": bool(call_id)}
    log.append(SESSION_QUESTION, {"tool": tool}, Subject(run_id, agent=agent, call_id=call_id), facts)


def permitted(log: EventLog, call: ToolCall) -> dict[str, str]:
    """Permissions that the host's person gave in this run for later calls, by reason, each with its call's id.

    Raises:
        StoreCorrupt: the event of a question or of its answer was changed.
    """
    names = dict.fromkeys(reason[STANDING] for reason in call.reasons if STANDING in reason)
    found = {name: _permitted_with(log, call.ctx.run_id, _digest(log, name)) for name in names}
    return {name: call_id for name, call_id in found.items() if call_id}


def _permitted_with(log: EventLog, run_id: str, standing: str) -> str:
    query = log.database.query
    for row in query(_ASKED, (run_id, TOOL_DISPATCH, f"%{standing}%", _MOST_LOOKED_AT)):
        asked = sound(log, row)
        payload = asked.payload or {}
        if not payload.get(ASKED_BY) or standing not in payload.get(_STANDING, ()):
            continue
        call_id = asked.subject.call_id
        for ended in query(_ENDED, (run_id, call_id, TOOL_DISPATCH)):
            outcome = sound(log, ended).payload or {}
            if outcome.get("state") == "done" and not outcome.get(SUMMED_UP):
                return call_id
    return ""


def _digest(log: EventLog, standing: str) -> str:
    return log.digest(standing.encode())
