"""The access log: which records reached an agent's context, and when."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from math import inf
from typing import Any, NamedTuple

import orjson

from sb.store.database import Database
from sb.store.records.columns import ACTIVE
from sb.store.records.edges import DERIVED_FROM
from sb.store.records.places import Execute

ORIENT = "orient"  # what a session is shown when it starts
LOAD = "load"  # what a stack gives an entity to keep in mind
_UNASKED = f"('{ORIENT}', '{LOAD}')"  # nobody asked for what is in these, so it does not count as use

_FOLDED = "reads_folded"  # the last broadcast whose reads are in record_stats
FOLD_AFTER = 90 * 86_400.0  # seconds that a read is on record with its question
_WITH_SESSIONS = (
    "records", "broadcasts", "record_evidence", "belief_collapse_events", "trigger_showings",
)  # fmt: skip
_UNFOLDED = 16  # broadcasts that are counted one by one; with more, they are folded by whoever reads next
_LAST_FOLDED = f"coalesce((SELECT value FROM index_state WHERE name = '{_FOLDED}'), 0)"
_DEEPEST = 8  # steps of derivation that count
_MOST_CITING = 1_000  # records that are looked at for it, the nearest ones
UNFOLDED = f"broadcast > {_LAST_FOLDED}"  # of access_log


class Known(NamedTuple):
    """A record that a session wrote or was shown.

    Args:
        record, uid, kind, place: which it is. version: the one that the session knows of. actual: the one that it is at.
        active: whether it still counts.
    """

    record: int
    uid: str
    kind: str
    place: int
    version: int
    actual: int
    active: bool

    @property
    def unchanged(self) -> bool:
        return self.active and self.version == self.actual


class Contact(NamedTuple):
    """The last time that a record reached an agent.

    Args:
        at: when it was told the record; None if never. change: the last one of any record by then.
        wrote: whether it wrote or changed the record itself.
    """

    at: float | None
    change: int
    wrote: bool


class ReadLog:
    """The broadcasts of one database, and how often each record was in one."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.denied: Callable[[Execute], None] | None = None  # puts on record what a read did not give

    def append(
        self,
        execute: Execute,
        operation: str,
        query: str,
        hits: Sequence[tuple[int, float]],
        *,
        at: float,
        agent: str,
        session: int | None,
        tokens: int,
        purpose: str = "",
    ) -> int:
        """Logs that records were handed to an agent; returns the broadcast's number.

        Args:
            hits: numbers of records and their scores. tokens: what they took of the reader's budget.
            purpose: for what they were read.
        """
        cursor = execute(
            "INSERT INTO broadcasts (at, agent, session, operation, query, tokens, purpose, change)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, (SELECT coalesce(max(id), 0) FROM record_history))",
            (at, agent, session, operation, query, tokens, purpose),
        )
        number = int(cursor.lastrowid)
        if self.denied is not None:
            self.denied(execute)
        rows = [(number, record, score) for record, score in dict(hits).items()]
        self._database.write_each("INSERT INTO access_log VALUES (?, ?, ?)", rows)
        if number % _UNFOLDED == 0:
            self.fold(execute)
        return number

    def fold(self, execute: Execute) -> int:
        """Add what was read since the last time to the counts of each record; returns how many reads that were."""
        (last,) = execute("SELECT coalesce(max(id), 0) FROM broadcasts").fetchone()
        found = execute("SELECT value FROM index_state WHERE name = ?", (_FOLDED,)).fetchone()
        first = found[0] if found else 0
        cursor = execute(
            "INSERT INTO record_stats (record, place, accessed, last_accessed)"
            " SELECT a.record, r.place, count(*), max(b.at) FROM access_log AS a"
            " JOIN broadcasts AS b ON b.id = a.broadcast JOIN records AS r ON r.id = a.record"
            f" WHERE a.broadcast > ? AND a.broadcast <= ? AND b.operation NOT IN {_UNASKED} GROUP BY a.record"
            " ON CONFLICT (record) DO UPDATE SET accessed = accessed + excluded.accessed,"
            " last_accessed = max(last_accessed, excluded.last_accessed)",
            (first, last),
        )
        execute(
            "INSERT INTO index_state (name, value) VALUES (?, ?)"
            " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            (_FOLDED, last),
        )
        read = "SELECT DISTINCT record FROM access_log WHERE broadcast > ? AND broadcast <= ?"
        self.weigh(execute, [number for (number,) in execute(read, (first, last)).fetchall()])
        return int(cursor.rowcount)

    def weigh(self, execute: Execute, records: Sequence[int]) -> None:
        """Store the importance of records as it is now."""
        sql = "UPDATE record_stats SET ewc_importance = ? WHERE record = ? AND ewc_importance <> ?"
        found = self.importance(records)
        for number in records:
            execute(sql, (found.get(number, 0.0), number, found.get(number, 0.0)))

    def fold_old(self, execute: Execute, before: float, most: int) -> int:
        """Fold the oldest broadcasts from before a time into a row for each agent and record; returns how many there were.

        What they count for stays in `record_stats`. Their sessions go with them, unless something was written in them. The
        newest broadcast stays, so that no number is given twice.
        """
        rows = execute(
            "SELECT id, at, session FROM broadcasts WHERE id <= min((SELECT max(id) - 1 FROM broadcasts),"
            f" {_LAST_FOLDED}) ORDER BY id LIMIT ?",
            (most,),
        ).fetchall()
        old = list(takewhile(lambda row: row[1] < before, rows))
        if not old:
            return 0
        span = (old[0][0], old[-1][0])
        execute(
            "INSERT INTO folded_reads (agent, record, first, last, count, change)"
            " SELECT b.agent, a.record, min(b.at), max(b.at), count(*), max(b.change) FROM broadcasts AS b"
            " CROSS JOIN access_log AS a ON a.broadcast = b.id WHERE b.id BETWEEN ? AND ? GROUP BY b.agent, a.record"
            " ON CONFLICT (agent, record) DO UPDATE SET first = min(first, excluded.first),"
            " last = max(last, excluded.last), count = count + excluded.count,"
            " change = max(change, excluded.change)",
            span,
        )
        execute("DELETE FROM access_log WHERE broadcast BETWEEN ? AND ?", span)
        execute("DELETE FROM broadcasts WHERE id BETWEEN ? AND ?", span)
        unused = " AND ".join(
            f"NOT EXISTS (SELECT 1 FROM {table} WHERE session = s.id)" for table in _WITH_SESSIONS
        )
        ended = "coalesce(s.ended_at, s.started_at) < ?"
        for session in {row[2] for row in old}:
            execute(
                f"DELETE FROM memory_sessions AS s WHERE s.id = ? AND {ended} AND {unused}", (session, before)
            )
        return len(old)

    @property
    def oldest(self) -> float:
        """The time of the oldest broadcast that can be folded, in seconds since the epoch; infinity if there is none."""
        rows = self._database.query(
            "SELECT at FROM broadcasts WHERE id < (SELECT max(id) FROM broadcasts) ORDER BY id LIMIT 1"
        )
        return float(rows[0][0]) if rows else inf

    def count(self, execute: Execute, record: int, place: int, at: float) -> None:
        """Counts a use of a record other than a read, such as a restatement that was merged into it."""
        execute(
            "INSERT INTO record_stats (record, place, accessed, last_accessed) VALUES (?, ?, 1, ?)"
            " ON CONFLICT (record) DO UPDATE SET accessed = accessed + 1, last_accessed = max(last_accessed, ?)",
            (record, place, at, at),
        )

    def stats(self, records: Sequence[int]) -> dict[int, tuple[int, float]]:
        """Returns how often each record was read, and when last, unfolded reads included.

        The time is in seconds since the epoch; minus infinity where reads were counted elsewhere, nobody knows when.
        """
        marks = ", ".join("?" * len(records)) or "NULL"
        rows = self._database.query(
            f"SELECT record, sum(n), max(at) FROM ("
            f" SELECT record, accessed AS n, last_accessed AS at FROM record_stats WHERE record IN ({marks})"
            f" UNION ALL SELECT a.record, 1, b.at FROM broadcasts AS b CROSS JOIN access_log AS a"
            f" WHERE b.id > {_LAST_FOLDED} AND b.operation NOT IN {_UNASKED}"  # of these there may be thousands
            f" AND a.broadcast = b.id AND +a.record IN ({marks})"
            f") GROUP BY record",
            (*records, *records),
        )
        return {int(record): (int(n), float(at)) for record, n, at in rows}

    def importance(self, records: Sequence[int]) -> dict[int, float]:
        """Returns how often records were read, times in how many steps active ones were derived from each; none that is 0."""
        cited = self._database.query(
            "SELECT DISTINCT e.target FROM json_each(?) AS j CROSS JOIN edges AS e ON e.target = j.value"
            f" WHERE e.relation = '{DERIVED_FROM}'",
            (orjson.dumps(list(records)).decode(),),
        )
        numbers = [number for (number,) in cited]
        reads = self.stats(numbers) if numbers else {}
        found = {number: float(times * self._depth(number)) for number, (times, _) in reads.items()}
        return {number: value for number, value in found.items() if value}

    def _depth(self, record: int) -> int:
        rows = self._database.query(
            "WITH RECURSIVE down (id, steps) AS (SELECT ?, 0 UNION SELECT e.source, down.steps + 1 FROM down"
            f" CROSS JOIN edges AS e ON e.target = down.id AND e.relation = '{DERIVED_FROM}'"
            f" CROSS JOIN records AS r ON r.id = e.source AND r.state = '{ACTIVE}' WHERE down.steps < {_DEEPEST}"
            f" LIMIT {_MOST_CITING}) SELECT max(steps) FROM down",
            (record,),
        )
        return int(rows[0][0])

    def kept_importance(self, records: Sequence[int]) -> dict[int, float]:
        """The importance of records as of the last time that reads were folded; none that is 0."""
        rows = self._database.query(
            "SELECT s.record, s.ewc_importance FROM json_each(?) AS j CROSS JOIN record_stats AS s ON s.record = j.value"
            " WHERE s.ewc_importance > 0",
            (orjson.dumps(list(records)).decode(),),
        )
        return {int(record): float(value) for record, value in rows}

    def known(self, session: int, agent: str, limit: int = -1) -> list[Known]:
        """Lists what a session wrote or was shown, the latest first.

        Args:
            agent: whose session it is; what that one changed later is known to it too.
            limit: the most that are returned; -1 for all.
        """
        rows = self._database.query(
            "SELECT k.record, r.uid, r.kind, r.place, coalesce((SELECT h.version FROM record_history AS h"
            " WHERE h.record = k.record AND h.id > k.change AND h.actor <> ? ORDER BY h.id LIMIT 1), r.version),"
            " r.version, r.state = 'active' FROM (SELECT record, max(at) AS at, max(change) AS change FROM ("
            " SELECT id AS record, created_at AS at, 0 AS change FROM records WHERE session = ?"
            " UNION ALL SELECT a.record, b.at, b.change FROM broadcasts AS b JOIN access_log AS a ON a.broadcast = b.id"
            " WHERE b.session = ?) GROUP BY record) AS k JOIN records AS r ON r.id = k.record"
            " ORDER BY k.at DESC, k.record DESC LIMIT +?",
            (agent, session, session, limit),
        )
        return [
            Known(record, uid, kind, place, version, actual, bool(active))
            for record, uid, kind, place, version, actual, active in rows
        ]

    def contacts(self, agent: str, records: Sequence[int]) -> dict[int, Contact]:
        """Returns when an agent was last told each of these records; none that it neither wrote nor was told."""
        rows = self._database.query(
            "SELECT k.id, coalesce(b.at, f.last), coalesce(b.change, f.change, own), own IS NOT NULL FROM (SELECT r.id,"
            " iif(r.agent = ?2, 0, (SELECT min(h.id) FROM record_history AS h WHERE h.record = r.id AND h.actor = ?2))"
            " AS own FROM json_each(?1) AS j CROSS JOIN records AS r ON r.id = j.value) AS k"
            " LEFT JOIN broadcasts AS b ON b.id = (SELECT a.broadcast FROM access_log AS a CROSS JOIN broadcasts AS o"
            " ON o.id = a.broadcast WHERE a.record = k.id AND o.agent = ?2 ORDER BY a.broadcast DESC LIMIT 1)"
            " LEFT JOIN folded_reads AS f ON f.agent = ?2 AND f.record = k.id",
            (orjson.dumps(list(records)).decode(), agent),
        )
        return {
            record: Contact(at, change, bool(wrote))
            for record, at, change, wrote in rows
            if change is not None
        }

    def queries(self) -> Iterator[tuple[int, str]]:
        """The number and the question of every read that had one."""
        after = 0
        while rows := self._database.query(
            "SELECT id, query FROM broadcasts WHERE id > ? AND query <> '' ORDER BY id LIMIT 1000", (after,)
        ):
            yield from rows
            after = rows[-1][0]

    def blank(self, execute: Execute, broadcast: int) -> None:
        """Remove a question, since it says what was erased."""
        execute("UPDATE broadcasts SET query = '' WHERE id = ?", (broadcast,))

    def of(self, record: int, limit: int = 20) -> list[dict[str, Any]]:
        """The latest reads of one record, newest first; those of an agent that were folded are one."""
        names = ("broadcast", "at", "agent", "operation", "query", "score")
        rows = self._database.query(
            "SELECT b.id, b.at, b.agent, b.operation, b.query, a.score FROM broadcasts AS b"
            " JOIN access_log AS a ON a.broadcast = b.id AND a.record = ?1 UNION ALL"
            " SELECT 0, last, agent, count || ' reads', '', 0.0 FROM folded_reads WHERE record = ?1"
            " ORDER BY 1 DESC, 2 DESC LIMIT ?2",
            (record, limit),
        )
        return [dict(zip(names, row, strict=True)) for row in rows]
