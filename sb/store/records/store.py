"""Write records: insert, update, erase, each with its history and its words in the index.

Whoever writes has a transaction open and passes its `execute` on, so that what belongs together commits together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

import orjson

from sb.base.sources import SYSTEM_CLOCK, Clock
from sb.errors import NotFoundError, VersionConflictError
from sb.store import driver
from sb.store.database import Database
from sb.store.records.collapses import forget_words
from sb.store.records.columns import ACTIVE, COLUMNS, CONTENT, DEFAULTS, ERASED, LONGEST_QUOTE, Row
from sb.store.records.descriptors import ASIDE
from sb.store.records.history import RecordHistory
from sb.store.records.places import Execute
from sb.store.records.queries import RecordQueries

_Before = tuple[int | None, str, int]  # number, text and length of a record that stands before another
_NONE: _Before = (None, "", 0)

NEVER = float("-inf")  # when a record was last read that was not, in record_stats
_values = itemgetter(*COLUMNS)
_INSERT = f"INSERT INTO records ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"
_INDEX = "INSERT INTO record_index (rowid, body, prev, place) VALUES (?, ?, ?, ?)"
_READ = "INSERT INTO record_stats (record, place, accessed, last_accessed) VALUES (?, ?, ?, ?)"  # elsewhere
_ABOUT_RECORDS = (
    "vectors", "access_log", "folded_reads", "record_stats", "record_evidence", "personal_data", "pii_audit",
    "signal_log",
)  # fmt: skip
_SPEAKER = "INSERT INTO speakers (place, name) VALUES (?, ?) ON CONFLICT DO NOTHING"


class RecordStore(RecordQueries, RecordHistory):
    """The records of one database."""

    def __init__(self, database: Database, *, clock: Clock = SYSTEM_CLOCK) -> None:
        super().__init__(database)
        self._clock = clock

    def insert(self, execute: Execute, rows: Sequence[Row]) -> list[int]:
        """Write new records and index their words; returns their numbers.

        Args:
            rows: columns by name; what `DEFAULTS` has may be left out, and numbers and neighbours are given here.
                `accessed` and `last_accessed` (seconds since the epoch) say how often a record was read elsewhere.
        """
        if not rows:
            return []
        top = execute("SELECT coalesce(max(id), 0) FROM records").fetchone()[0]
        neighbours: dict[tuple[Any, ...], list[_Before]] = {}
        speakers: dict[tuple[int, str], None] = {}
        records: list[tuple[Any, ...]] = []
        indexed: list[tuple[Any, ...]] = []
        read: list[tuple[Any, ...]] = []
        words = window = 0
        for number, row in enumerate(rows, top + 1):
            whole = DEFAULTS | row
            whole["text"] = whole["text"].replace("\0", " ")  # SQLite's functions read no further than a NUL
            prev = self._before(execute, neighbours, whole)
            (whole["prev1"], first, _), (whole["prev2"], second, _) = prev
            whole["id"] = number
            records.append(_values(whole))
            quoted = f"{first[:LONGEST_QUOTE]} {second[:LONGEST_QUOTE]}"
            indexed.append((number, whole["text"], quoted, place_token(whole)))
            if whole["accessed"] or whole["last_accessed"] is not None:
                last = NEVER if whole["last_accessed"] is None else whole["last_accessed"]
                read.append((number, whole["place"], whole["accessed"], last))
            words += whole["length"]
            window += whole["length"] + prev[0][2] + prev[1][2]
            if whole["speaker"] is not None:
                speakers[whole["place"], whole["speaker"]] = None
            if whole["state"] == ACTIVE:  # as `_before` has it: nothing else is quoted
                prev[:] = (number, whole["text"], whole["length"]), prev[0]
        try:
            self.database.write_each(_INSERT, records)
        except driver.IntegrityError as error:
            raise ValueError(str(error)) from error
        for sql, values in ((_INDEX, indexed), (_READ, read), (_SPEAKER, speakers)):
            self.database.write_each(sql, values)
        count(execute, records=len(rows), words=words, window=window)
        return [row[0] for row in records]

    def _before(
        self, execute: Execute, known: dict[tuple[Any, ...], list[_Before]], row: Row
    ) -> list[_Before]:
        """The two records before this one in its session, place and agent, the nearest first; `_NONE` where there is none."""
        if row["session"] is None:
            return [_NONE, _NONE]
        key = (row["session"], row["place"], row["agent"])
        if key not in known:
            found = execute(
                "SELECT id, text, length FROM records WHERE session = ? AND place = ? AND agent = ? AND state = 'active'"
                " ORDER BY id DESC LIMIT 2",
                key,
            ).fetchall()
            known[key] = [*found, _NONE, _NONE][:2]
        return known[key]

    def update(
        self,
        execute: Execute,
        number: int,
        changes: Mapping[str, Any],
        *,
        actor: str,
        reason: str = "",
        operation: str = "update",
        expected_version: int | None = None,
        former: Row | None = None,
    ) -> int:
        """Change a record and keep its former state; returns its version.

        Args:
            changes: columns by name. Only content (`CONTENT`) that differs moves the version.
            expected_version: raise unless the record is still at it.
            former: the record as it is, if this transaction has read it already.

        Raises:
            VersionConflictError: somebody else changed it. ValueError: it cannot be changed in that way.
            NotFoundError: there is none.
        """
        former = former or self.row(number)
        if former is None:
            raise NotFoundError(f"no record {number}")
        if expected_version is not None and former["version"] != expected_version:
            raise VersionConflictError(former["kind"], former["uid"], expected_version, former["version"])
        if "text" in changes:
            changes = {**changes, "text": changes["text"].replace("\0", " ")}
        changed = {name: value for name, value in changes.items() if former[name] != value}
        if not changed:
            return int(former["version"])
        content = {name: former[name] for name in changed if name in CONTENT}
        version = former["version"] + bool(content)
        previous = {
            name: former[name] for name in changed if name not in ("updated_at", "info", "length", "terms")
        }
        now = self._clock.now()
        values = {**changed, "version": version, "updated_at": now}
        sets = ", ".join(f"{name} = ?" for name in values)
        self.add_history(execute, number, now, actor, operation, reason, former["version"], previous)
        _guarded(execute, f"UPDATE records SET {sets} WHERE id = ?", (*values.values(), number))
        if "length" in changed:
            count(execute, words=changed["length"] - former["length"])
        return int(version)

    def erase(self, execute: Execute, numbers: Sequence[int], *, actor: str, reason: str) -> None:
        """Empty records for good, with their history and relations; tombstones stay.

        Raises:
            NotFoundError: one is not there.
        """
        asked = orjson.dumps(sorted({*numbers})).decode()
        rows = list(self.select("r.id IN (SELECT value FROM json_each(?))", (asked,)))
        if len(rows) < len(set(numbers)):
            raise NotFoundError(f"no records {sorted({*numbers} - {row['id'] for row in rows})}")
        rows = [row for row in rows if row["state"] != ERASED]
        now, listed = self._clock.now(), orjson.dumps([row["id"] for row in rows]).decode()
        these = "(SELECT value FROM json_each(?))"  # one scan for all: not each table has an index of records
        execute(f"UPDATE record_history SET former = NULL, reason = '' WHERE record IN {these}", (listed,))
        execute(f"DELETE FROM edges WHERE source IN {these} OR target IN {these}", (listed, listed))
        for table in _ABOUT_RECORDS:
            execute(f"DELETE FROM {table} WHERE record IN {these}", (listed,))
        forget_words(execute, listed)
        for row in rows:
            self.add_history(execute, row["id"], now, actor, "erase", reason, row["version"], None)
        for row in reversed(rows):  # who quotes one is empty by then
            execute(
                "UPDATE records SET state = 'erased', text = '', fields = '{}', tags = NULL, key = NULL,"
                " speaker = NULL, category = NULL, confidence = NULL, terms = x'00000000', length = 0, info = 0,"
                " updated_at = ? WHERE id = ?",
                (now, row["id"]),
            )
        for spoken in {(row["place"], row["speaker"]) for row in rows if row["speaker"] is not None}:
            execute(
                "DELETE FROM speakers WHERE (place, name) = (?, ?)"
                " AND NOT EXISTS (SELECT 1 FROM records AS r WHERE r.place = speakers.place AND r.speaker = speakers.name)",
                spoken,
            )
        if rows:
            count(execute, records=-len(rows), words=-sum(row["length"] for row in rows))

    def note(
        self, execute: Execute, numbers: Sequence[int], *, actor: str, operation: str, reason: str
    ) -> None:
        """Adds the origin of new records to their history."""
        now = self._clock.now()
        for number in numbers:
            self.add_history(execute, number, now, actor, operation, reason, 1, None)

    def spoken(self) -> list[tuple[Any, ...]]:
        """Session, place, speaker, texts and their mean length in words, of everything active that was said in a session."""
        return self.database.query(
            "SELECT session, place, speaker, count(*), avg(length) FROM records"
            " WHERE session IS NOT NULL AND speaker IS NOT NULL AND state = 'active' GROUP BY session, place, speaker"
        )

    def inform(self, execute: Execute, informations: Mapping[int, float]) -> None:
        """Stores how specific the texts of records are, without changing the records.

        Args:
            informations: by the records' numbers.
        """
        for number, information in informations.items():
            execute("UPDATE records SET info = ? WHERE id = ? AND state <> 'erased'", (information, number))

    def strengthen(self, execute: Execute, number: int, strength: float, state: str) -> None:
        """Stores the strength of a record, without an entry in its history.

        Args:
            state: what it is in at that strength; those who write vectors have to know if that is another one.
        """
        execute(
            "UPDATE records SET strength = ? WHERE id = ? AND strength <> ?", (strength, number, strength)
        )
        execute("UPDATE records SET state = ? WHERE id = ? AND state <> ?", (state, number, state))


def place_token(row: Row) -> str:
    """Returns the full-text token for who may see a record, as in the view `searchable`."""
    aside = "aside" if row["kind"] in ASIDE else ""
    state = "" if row["state"] == ACTIVE else row["state"]
    return f"{aside}{state}p{row['place']}"


def count(execute: Execute, **changes: int) -> None:
    """Move the index's counters."""
    rows = ", ".join(["(?, ?)"] * len(changes))
    execute(
        f"INSERT INTO index_state (name, value) VALUES {rows}"
        " ON CONFLICT (name) DO UPDATE SET value = value + excluded.value",
        [part for change in changes.items() for part in change],
    )


def _guarded(execute: Execute, sql: str, parameters: tuple[Any, ...]) -> None:
    try:
        execute(sql, parameters)
    except driver.IntegrityError as error:
        raise ValueError(str(error)) from error
