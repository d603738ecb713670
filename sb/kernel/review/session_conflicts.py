"""Live sessions of hosts that change the same file, and which of them were told.

Cost: one query for a call that changes files, over the newest ROWS events of at most SESSIONS sessions; one for each
event of a session, over its newest TOLD_ROWS events.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from sb.base.sources import micros
from sb.base.values.canonical import encode
from sb.base.values.frozen import frozen
from sb.log.event import SEQ_MASK, Subject
from sb.log.event_log import EventLog
from sb.log.kinds import RUN_FINISHED, RUN_STARTED, SESSION_CONFLICT, SESSION_TOLD, TOOL_DISPATCH

WINDOW_S = 30 * 60  # after which a change is no news any more
SESSIONS = 50  # that began last
ROWS = 2_000  # of the log
TOLD_ROWS = 32  # of one session
MOST_PATHS = 8  # of one call
CHANGES_FILES = ("host.write", "host.write_config", "host.shell.kept", "host.shell.kept_network")

_TOUCHES = f"""WITH live AS (
    SELECT run_id, json_extract(payload, '$.host') AS host,
        coalesce(json_extract(payload, '$.session_id'), '') AS session
    FROM events
    WHERE kind = '{RUN_STARTED}' AND json_valid(payload) AND json_extract(payload, '$.host') <> ''
    AND id > ?1 AND id <= ?2 ORDER BY id DESC LIMIT {SESSIONS})
SELECT live.run_id, live.host, live.session,
    {", ".join(f"max(CASE WHEN instr(touch.payload, ?{number + 4}) THEN touch.id END)" for number in range(MOST_PATHS))}
FROM live
JOIN events AS touch ON touch.run_id = live.run_id
    AND touch.id > (SELECT max(id) - {ROWS} FROM events WHERE id <= ?2)
WHERE touch.at >= ?3 AND touch.kind = '{TOOL_DISPATCH}'
AND touch.tool_id IN ({", ".join(f"'{name}'" for name in CHANGES_FILES)})
GROUP BY live.run_id"""
_ENDED = f"SELECT 1 FROM events WHERE run_id = ? AND id > ? AND kind = '{RUN_FINISHED}' LIMIT 1"
_CONFLICTS = f"""SELECT kind, json_extract(payload, '$.path'), json_extract(payload, '$.host'),
    json_extract(payload, '$.session'), json_extract(payload, '$.run')
FROM (SELECT id, kind, payload FROM events WHERE run_id = ? ORDER BY id DESC LIMIT {TOLD_ROWS})
WHERE kind IN ('{SESSION_CONFLICT}', '{SESSION_TOLD}') AND json_valid(payload) ORDER BY id DESC"""


@frozen
class Conflict:
    """Another live session that changed a file.

    Args:
        session: the host's own id of it. run: its run.
    """

    path: str
    host: str
    session: str
    run: str


class SessionConflicts:
    """The conflicts of one session.

    Args:
        run_id, host, session: of that session.
    """

    def __init__(self, log: EventLog, run_id: str, host: str, session: str) -> None:
        self._log = log
        self._run_id = run_id
        self._host = host
        self._session = session

    def find(self, paths: Sequence[str]) -> list[Conflict]:
        """The live sessions that changed one of these files after this one did, the last for each file.

        Args:
            paths: absolute; the first MOST_PATHS count.
        """
        wanted = paths[:MOST_PATHS]
        log = self._log
        since = micros(log.clock.now()) - WINDOW_S * 1_000_000
        names = [encode(path).decode() for path in wanted] + [None] * (MOST_PATHS - len(wanted))
        parameters = (log.first_id, log.first_id + SEQ_MASK, since, *names)
        newest: dict[str, tuple[int, Conflict]] = {}
        for run_id, host, session, *touches in log.database.query(_TOUCHES, parameters):
            ours = run_id == self._run_id
            for path, touch in zip(wanted, touches, strict=False):
                if touch is None or (not ours and log.database.query(_ENDED, (run_id, touch))):
                    continue
                if touch > newest.get(path, (0, None))[0]:
                    newest[path] = (touch, Conflict(path, host, session, run_id))
        return [conflict for _, conflict in newest.values() if conflict.run != self._run_id]

    def record(self, conflict: Conflict) -> None:
        """Record a conflict for both sessions; each learns of it at its next event.

        Nothing is done if it is among the newest TOLD_ROWS events of this session.
        """
        if conflict in [item for _, item in self._recent()]:
            return
        own = Conflict(conflict.path, self._host, self._session, self._run_id)
        with self._log.write() as write:
            write.append(SESSION_CONFLICT, asdict(conflict), Subject(self._run_id, agent=self._host))
            write.append(SESSION_CONFLICT, asdict(own), Subject(conflict.run, agent=conflict.host))

    def untold(self) -> list[Conflict]:
        """The conflicts that this session was not told of, oldest first."""
        found: list[Conflict] = []
        for kind, conflict in self._recent():
            if kind == SESSION_TOLD:
                break
            found.append(conflict)
        return list(dict.fromkeys(reversed(found)))

    def mark_as_told(self, count: int) -> None:
        """Put on record that this session was told of so many conflicts."""
        self._log.append(SESSION_TOLD, {}, Subject(self._run_id, agent=self._host), {"conflicts": count})

    def _recent(self) -> list[tuple[str, Conflict]]:
        """(kind of event, conflict) of the newest events of this session, the newest first."""
        rows = self._log.database.query(_CONFLICTS, (self._run_id,))
        return [(kind, Conflict(*(str(value or "") for value in about))) for kind, *about in rows]
