"""Memories that were read from transcripts of past sessions, to erase them again."""

from __future__ import annotations

import json

from sb.base.values.references import full_one, is_session_prefix
from sb.memory.sessions import PAST_SESSION
from sb.memory.space import Space

_SESSIONS = "SELECT id, name FROM memory_sessions WHERE name >= ? AND name < ?"
_EVENTS = (
    "SELECT uid FROM records WHERE session IN (SELECT value FROM json_each(?)) AND state <> 'erased'"
    " AND happened_at < ? ORDER BY id"
)
_LATEST = 1e18  # seconds since the epoch


def past_memories(space: Space, *, session: str = "", host: str = "", before: float = _LATEST) -> list[str]:
    """The ids of what past sessions left, the first imported first; quarantined ones and forgotten ones too.

    Args:
        session: a session's name here, or its host's id of it, or how that begins; "" for all.
        host: such as `claude-code`; "" for all.
        before: seconds since the epoch; only what happened before.

    Raises:
        UsageError: the ids of several sessions begin like that.
    """
    after = PAST_SESSION[:-1] + chr(ord(PAST_SESSION[-1]) + 1)
    sessions = []
    for number, name in space.database.query(_SESSIONS, (PAST_SESSION, after)):
        of_host, _, its_id = name.removeprefix(PAST_SESSION).partition(":")
        if host in ("", of_host):
            sessions.append((number, name, its_id))
    wanted = full_one(session, (its_id for _, _, its_id in sessions), is_enough=is_session_prefix)
    numbers = [number for number, name, its_id in sessions if wanted in ("", name, its_id)]
    rows = space.database.query(_EVENTS, (json.dumps(numbers), before))
    return [str(uid) for (uid,) in rows]
