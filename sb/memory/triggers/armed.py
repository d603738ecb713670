"""Armed triggers in the database: those that may fit a situation, and who was shown them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import orjson

from sb.memory.triggers.precondition import LEAST_WORDS, Situation, Spec, score
from sb.store.database import Database
from sb.store.records.places import Execute

IGNORED_AFTER_S = 3_600.0  # a session that was shown a trigger may yet come to it
IGNORED_BEFORE_RETIREMENT = 3
_SESSION_S = 86_400.0  # a confirmation does not say in which session it was given
_MOST_TRIED = 200  # of those that share a key with a situation, the best first


class Fitting(NamedTuple):
    """A trigger or lesson that fits: its record's number, what it is matched by, and how well."""

    record: int
    spec: Spec
    score: float
    kind: str = "trigger"


def unprepared(database: Database) -> list[int]:
    """The records whose keys have not been made yet."""
    return [number for (number,) in database.query("SELECT record FROM triggers WHERE spec IS NULL")]


def inert(database: Database) -> frozenset[int]:
    """The records that have no keys, and so never fire."""
    return frozenset(number for (number,) in database.query("SELECT record FROM triggers WHERE spec = '{}'"))


def prepare(execute: Execute, record: int, spec: Spec, keys: Mapping[str, float]) -> None:
    """Store what a trigger is matched by, unless it has changed meanwhile."""
    text = orjson.dumps(spec).decode()
    sql = "UPDATE triggers SET spec = ?, expires = ? WHERE record = ? AND spec IS NULL"
    done = execute(sql, (text, spec.get("expires"), record))
    if done.rowcount:
        for key, weight in keys.items():
            execute("INSERT INTO trigger_keys (key, record, weight) VALUES (?, ?, ?)", (key, record, weight))


def fitting(
    database: Database, situation: Situation, least: float = LEAST_WORDS, kind: str = ""
) -> list[Fitting]:
    """The triggers and lessons that fit a situation, the best first; snoozed and expired ones among them.

    Args:
        least: share of their words that has to be there. kind: only these.
    """
    rows = database.query(
        "SELECT t.record, t.spec, t.kind FROM trigger_keys AS k JOIN triggers AS t ON t.record = k.record"
        " WHERE k.key IN (SELECT value FROM json_each(?)) AND ? IN ('', t.kind)"
        " GROUP BY k.record HAVING sum(k.weight) >= ? ORDER BY sum(k.weight) DESC, k.record DESC LIMIT ?",
        (orjson.dumps(sorted(set(situation.keys()))).decode(), kind, least - 1e-9, _MOST_TRIED),
    )
    scored = [
        Fitting(record, spec := orjson.loads(text), score(spec, situation), kind_)
        for record, text, kind_ in rows
    ]
    found = [item for item in scored if item.score >= least - 1e-9 and item.score > 0]
    return sorted(found, key=lambda item: (-item.score, -item.record))


def shown_in(database: Database, session: int | None, records: Iterable[int]) -> frozenset[int]:
    """Those of these triggers that a session has been shown."""
    if session is None:
        return frozenset()
    listed = orjson.dumps(list(records)).decode()
    sql = (
        "SELECT record FROM trigger_showings WHERE session = ? AND record IN (SELECT value FROM json_each(?))"
    )
    return frozenset(number for (number,) in database.query(sql, (session, listed)))


def heed(execute: Execute, session: int, records: Iterable[int]) -> None:
    """Note that a session came to what it was reminded of."""
    for record in records:
        execute("UPDATE trigger_showings SET heeded = 1 WHERE record = ? AND session = ?", (record, session))


def note_shown(execute: Execute, session: int, record: int, at: float) -> bool:
    """Note that a session is shown a trigger; False if it was before."""
    sql = "INSERT OR IGNORE INTO trigger_showings (record, session, at) VALUES (?, ?, ?)"
    return bool(execute(sql, (record, session, at)).rowcount)


def showings(database: Database, records: Iterable[int], now: float) -> dict[int, tuple[int, int]]:
    """For each trigger how many sessions were shown it, and how many of them ignored it.

    Heeded is a matching call after it, a confirmation, or a record that the session derived from it.
    """
    sql = (
        "SELECT s.record, count(*), sum(s.at < ? AND s.heeded = 0"
        " AND NOT EXISTS (SELECT 1 FROM record_evidence AS e JOIN memory_sessions AS m ON m.agent = e.agent"
        " WHERE e.record = s.record AND m.id = s.session AND e.kind = 'confirmed' AND e.at BETWEEN s.at AND s.at + ?)"
        " AND NOT EXISTS (SELECT 1 FROM edges JOIN records AS r ON r.id = edges.source"
        " WHERE edges.target = s.record AND edges.relation = 'derived_from' AND r.session = s.session))"
        " FROM trigger_showings AS s WHERE s.record IN (SELECT value FROM json_each(?)) GROUP BY s.record"
    )
    listed = orjson.dumps(list(records)).decode()
    return {
        record: (count, ignored)
        for record, count, ignored in database.query(sql, (now - IGNORED_AFTER_S, _SESSION_S, listed))
    }


def ignored(database: Database, now: float) -> list[int]:
    """The triggers and lessons that are proposed for retirement, the newest first."""
    sql = (
        "SELECT s.record FROM trigger_showings AS s JOIN triggers AS t ON t.record = s.record WHERE s.heeded = 0"
        " GROUP BY s.record HAVING count(*) >= ? ORDER BY s.record DESC"
    )
    found = [number for (number,) in database.query(sql, (IGNORED_BEFORE_RETIREMENT,))]
    counts = showings(database, found, now) if found else {}
    return [number for number in found if counts[number][1] >= IGNORED_BEFORE_RETIREMENT]


def keep(execute: Execute, record: int) -> None:
    """Count anew how often a trigger or lesson is ignored: somebody looked, and keeps it."""
    execute("UPDATE trigger_showings SET heeded = 1 WHERE record = ?", (record,))
