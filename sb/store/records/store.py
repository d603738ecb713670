"""How is a record written, changed and read? As a row of columns; descriptors make it of what a caller holds.

Whoever writes has a transaction open and passes its `execute` on, so that what belongs together commits together.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

import orjson

from sb.errors import NotFoundError, VersionConflictError
from sb.sources import SYSTEM_CLOCK, Clock
from sb.store import driver
from sb.store.database import Database
from sb.store.records.descriptors import ASIDE
from sb.store.records.places import Execute
from sb.store.records.reads import UNFOLDED

Row = dict[str, Any]
_Before = tuple[int | None, str, int]  # number, text and length of a record that stands before another
_NONE: _Before = (None, "", 0)

CONTENT = ("key", "category", "speaker", "confidence", "evidence_n", "happened_at", "tags", "fields", "text")
COLUMNS = (
    "id", "uid", "kind", "place", "state", "agent", "session", "prev1", "prev2", "source_type", "strength",
    "protected", "created_at", "updated_at", "version", "length", "info", "terms", *CONTENT,
)  # fmt: skip
DEFAULTS: Row = {
    "state": "active",
    "session": None,
    "prev1": None,
    "prev2": None,
    "strength": 1.0,
    "protected": 0,
    "version": 1,
    "length": 0,
    "terms": bytes(4),
    "info": 0.0,
    "key": None,
    "category": None,
    "speaker": None,
    "confidence": None,
    "evidence_n": 2.0,
    "tags": None,
    "accessed": 0,
    "last_accessed": None,
}
NEVER = float("-inf")  # when a record was last read that was not, in record_stats
_SELECT = f"SELECT {', '.join('r.' + column for column in COLUMNS)} FROM records AS r"
_values = itemgetter(*COLUMNS)
_INSERT = f"INSERT INTO records ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"
_INDEX = "INSERT INTO record_index (rowid, body, prev, place) VALUES (?, ?, ?, ?)"
_READ = "INSERT INTO record_stats (record, place, accessed, last_accessed) VALUES (?, ?, ?, ?)"  # elsewhere
_SPEAKER = "INSERT INTO speakers (place, name) VALUES (?, ?) ON CONFLICT DO NOTHING"
_QUOTED = (
    1000  # characters of a record that the two after it are found by; the view `searchable` says the same
)
_MOST_LEGS = 100  # SELECTs in one statement; SQLite takes 500

ACTIVE, FORGOTTEN, QUARANTINED, SUPERSEDED, ERASED = (
    "active",
    "forgotten",
    "quarantined",
    "superseded",
    "erased",
)


class RecordStore:
    """The records of one database."""

    def __init__(self, database: Database, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self.database = database
        self._clock = clock

    def insert(self, execute: Execute, rows: Sequence[Row]) -> list[int]:
        """Write new records and index their words; returns their numbers.

        Args:
            rows: columns by name; what `DEFAULTS` has may be left out, and numbers and neighbours are given here.
                `accessed` and `last_accessed` (seconds since the epoch) say how often a record was read elsewhere.
        """
        top = execute("SELECT coalesce(max(id), 0) FROM records").fetchone()[0]
        neighbours: dict[tuple[Any, ...], list[_Before]] = {}
        speakers: dict[tuple[int, str], None] = {}
        kept: list[tuple[Any, ...]] = []
        indexed: list[tuple[Any, ...]] = []
        read: list[tuple[Any, ...]] = []
        words = window = 0
        for number, row in enumerate(rows, top + 1):
            whole = DEFAULTS | row
            whole["text"] = whole["text"].replace("\0", " ")  # SQLite's functions read no further than a NUL
            prev = self._before(execute, neighbours, whole)
            (whole["prev1"], first, _), (whole["prev2"], second, _) = prev
            whole["id"] = number
            kept.append(_values(whole))
            quoted = f"{first[:_QUOTED]} {second[:_QUOTED]}"
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
            self.database.write_each(_INSERT, kept)
        except driver.IntegrityError as error:
            raise ValueError(str(error)) from error
        for sql, values in ((_INDEX, indexed), (_READ, read), (_SPEAKER, speakers)):
            self.database.write_each(sql, values)
        count(execute, records=len(rows), words=words, window=window)
        return [row[0] for row in kept]

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
        kept = {
            name: former[name] for name in changed if name not in ("updated_at", "info", "length", "terms")
        }
        now = self._clock.now()
        values = {**changed, "version": version, "updated_at": now}
        sets = ", ".join(f"{name} = ?" for name in values)
        self._note(execute, number, now, actor, operation, reason, former["version"], kept)
        _guarded(execute, f"UPDATE records SET {sets} WHERE id = ?", (*values.values(), number))
        if "length" in changed:
            count(execute, words=changed["length"] - former["length"])
        return int(version)

    def erase(self, execute: Execute, number: int, *, actor: str, reason: str) -> None:
        """Empty a record for good, with its history and relations; a tombstone stays.

        Raises:
            NotFoundError: there is none.
        """
        former = self.row(number)
        if former is None:
            raise NotFoundError(f"no record {number}")
        if former["state"] == ERASED:
            return
        now = self._clock.now()
        execute("UPDATE record_history SET former = NULL, reason = '' WHERE record = ?", (number,))
        execute("DELETE FROM edges WHERE ? IN (source, target)", (number,))
        execute("DELETE FROM vectors WHERE record = ?", (number,))
        execute("DELETE FROM access_log WHERE record = ?", (number,))
        execute("DELETE FROM record_stats WHERE record = ?", (number,))
        self._note(execute, number, now, actor, "erase", reason, former["version"], None)
        execute(
            "UPDATE records SET state = 'erased', text = '', fields = '{}', tags = NULL, key = NULL,"
            " speaker = NULL, category = NULL, confidence = NULL, terms = x'00000000', length = 0, info = 0, updated_at = ?"
            " WHERE id = ?",
            (now, number),
        )
        execute(
            "DELETE FROM speakers WHERE (place, name) = (?, ?)"
            " AND NOT EXISTS (SELECT 1 FROM records AS r WHERE r.place = speakers.place AND r.speaker = speakers.name)",
            (former["place"], former["speaker"]),
        )
        count(execute, records=-1, words=-former["length"])

    def note(
        self, execute: Execute, numbers: Sequence[int], *, actor: str, operation: str, reason: str
    ) -> None:
        """Keep in the history of new records how they came here."""
        now = self._clock.now()
        for number in numbers:
            self._note(execute, number, now, actor, operation, reason, 1, None)

    def _note(
        self,
        execute: Execute,
        number: int,
        at: float,
        actor: str,
        operation: str,
        reason: str,
        version: int,
        former: Row | None,
    ) -> None:
        execute(
            "INSERT INTO record_history (record, at, actor, operation, reason, version, former)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                number,
                at,
                actor,
                operation,
                reason,
                version,
                None if former is None else orjson.dumps(former).decode(),
            ),
        )

    def row(self, number: int) -> Row | None:
        """All columns of one record."""
        return next(iter(self.rows([number])), None)

    def rows(self, numbers: Sequence[int]) -> Iterator[Row]:
        """All columns of these records, in no order that could be relied on."""
        marks = ", ".join("?" * len(numbers)) or "NULL"
        return self.select(f"r.id IN ({marks})", tuple(numbers))

    def find(self, uid: str) -> Row | None:
        """The record with a public id."""
        return next(self.select("r.uid = ?", (uid,)), None)

    def keyed(self, place: int, kind: str, key: str) -> Row | None:
        """The record that a key stands for, whatever its state."""
        where = "r.place = ? AND r.kind = ? AND r.key = ? AND r.state <> 'erased'"
        return next(self.select(where, (place, kind, key)), None)

    def select(
        self, where: str, parameters: tuple[Any, ...], *, order: str = "r.id", limit: int = -1
    ) -> Iterator[Row]:
        """Records by a condition over `r`, the table of records.

        Args:
            where, order: SQL that holds no value. limit: the most that are returned; -1 for all.
        """
        sql = f"{_SELECT} WHERE {where} ORDER BY {order} LIMIT ?"
        for found in self.database.query(sql, (*parameters, limit)):
            yield dict(zip(COLUMNS, found, strict=True))

    def leading(
        self,
        places: Sequence[int],
        kinds: Sequence[str],
        where: str,
        parameters: tuple[Any, ...],
        *,
        by: str = "",
        skip: int,
        limit: int,
    ) -> list[int]:
        """The numbers of active records of some places and kinds: those first that have most of `by`, then the newest.

        Without `by` the cost depends on how many are asked for, not on how many there are.

        Args:
            where, by: SQL over `r`, the table of records, that holds no value.
        """
        order = f"{'3 DESC, ' if by else ''}2 DESC, 1 DESC"
        one = f"SELECT r.id, r.happened_at{by and ', '}{by} FROM records AS r WHERE"
        legs = (
            [(place, kind) for place in places for kind in kinds]
            if len(places) * len(kinds) <= _MOST_LEGS
            else []
        )
        if legs:  # each is read in the order of its index, and no further than the limit
            parts = [f"{one} r.place = ? AND r.kind = ? AND r.state = 'active' AND {where}"] * len(legs)
            sql, values = " UNION ALL ".join(parts), [value for leg in legs for value in (*leg, *parameters)]
        else:
            marks, named = ", ".join("?" * len(kinds)), orjson.dumps(places).decode()
            there = f"r.place IN (SELECT value FROM json_each(?)) AND r.kind IN ({marks})"
            sql = f"{one} {there} AND r.state = 'active' AND {where}"
            values = [named, *kinds, *parameters]
        found = self.database.query(f"{sql} ORDER BY {order} LIMIT ? OFFSET ?", (*values, limit, skip))
        return [one[0] for one in found]

    def prominent(self, places: Sequence[int], kinds: Sequence[str], each: int) -> Iterator[Row]:
        """The active records that stand out in these places: the newest and the protected ones of each kind, and
        those that were read most.

        Args:
            each: how many of them of each place and kind; the cost depends on it, not on how many records there are.
        """
        if not places:
            return iter(())
        parts: list[str] = [f"SELECT record AS id FROM access_log WHERE {UNFOLDED}"]
        values: list[Any] = []
        for place in places:
            parts.append(
                "SELECT record AS id FROM record_stats WHERE place = ? ORDER BY accessed DESC LIMIT ?"
            )
            values += (place, each * len(kinds))
            for kind in kinds:
                for also in ("", " AND protected = 1"):
                    parts.append(
                        f"SELECT id FROM records WHERE place = ? AND kind = ? AND state = 'active'{also}"
                        " ORDER BY id DESC LIMIT ?"
                    )
                    values += (place, kind, each)
        found = " UNION ".join(f"SELECT id FROM ({part})" for part in parts)
        seen, wanted = (", ".join("?" * len(some)) for some in (places, kinds))
        where = f"r.id IN ({found}) AND r.state = 'active' AND +r.place IN ({seen}) AND +r.kind IN ({wanted})"
        return self.select(where, (*values, *places, *kinds))

    def known(self, uids: Sequence[str]) -> dict[str, Row]:
        """Those of these public ids that there are, whatever their state."""
        # There is no limit to how many, as there is to parameters; and half of a surrogate pair can be asked for, in vain.
        named = json.dumps(list(uids))
        where = "r.uid IN (SELECT value FROM json_each(?))"
        return {row["uid"]: row for row in self.select(where, (named,))}

    def inform(self, execute: Execute, informations: Mapping[int, float]) -> None:
        """Keep how specific the texts of records are, which says nothing new of them: they do not change by it.

        Args:
            informations: by the records' numbers.
        """
        for number, information in informations.items():
            execute("UPDATE records SET info = ? WHERE id = ? AND state <> 'erased'", (information, number))

    def strengthen(self, execute: Execute, number: int, strength: float, state: str) -> None:
        """Keep how present a record is by now, which nobody decided: its history says nothing of it.

        Args:
            state: what it is in at that strength; those who write vectors have to know if that is another one.
        """
        execute(
            "UPDATE records SET strength = ? WHERE id = ? AND strength <> ?", (strength, number, strength)
        )
        execute("UPDATE records SET state = ? WHERE id = ? AND state <> ?", (state, number, state))

    def mean_information(self) -> float:
        """Of all records that have any; reads them all."""
        sql = "SELECT coalesce(avg(info), 0) FROM records WHERE info > 0"
        return float(self.database.query(sql)[0][0])

    def spread(self, most: int) -> Iterator[Row]:
        """About so many records, evenly spread over all; all if there are fewer."""
        last = self.last()
        step = max(1, last // most)
        for start in range(1, last + 1, step * 500):
            yield from self.rows(range(start, min(start + step * 500, last + 1), step))

    def last(self) -> int:
        """The number of the newest record, 0 before the first."""
        return int(self.database.query("SELECT coalesce(max(id), 0) FROM records")[0][0])

    def number_of(self, where: str, parameters: tuple[Any, ...]) -> int:
        """How many records fit a condition over `r` that holds no value."""
        return int(self.database.query(f"SELECT count(*) FROM records AS r WHERE {where}", parameters)[0][0])

    def counts(self) -> list[tuple[int, str, str, int]]:
        """How many records of each place, kind and state there are; reads them all."""
        return [
            (int(place), kind, state, int(n))
            for place, kind, state, n in self.database.query(
                "SELECT place, kind, state, count(*) FROM records GROUP BY place, kind, state"
            )
        ]

    def of_category(self, kind: str, category: str) -> int:
        """How many active records of a kind are in this category; reads only those of the kind."""
        sql = (
            "SELECT count(*) FROM records WHERE place IN (SELECT id FROM places) AND kind = ? AND state = 'active'"
            " AND category = ?"
        )
        return int(self.database.query(sql, (kind, category))[0][0])

    def numbers(self, where: str, parameters: tuple[Any, ...], *, above: int, to: int) -> list[int]:
        """The numbers of the records that meet a condition over `r`, newest first; those `above` < number <= `to`."""
        sql = f"SELECT r.id FROM records AS r WHERE r.id > ? AND r.id <= ? AND ({where}) ORDER BY r.id DESC"
        return [number for (number,) in self.database.query(sql, (above, to, *parameters))]

    def head(self) -> tuple[int, int]:
        """The number of the newest record, which counts all there ever were, and that of the newest change of one."""
        sql = "SELECT coalesce((SELECT max(id) FROM records), 0), coalesce((SELECT max(id) FROM record_history), 0)"
        ((newest, change),) = self.database.query(sql)
        return int(newest), int(change)

    def changed(self, after: int, limit: int) -> set[int]:
        """Which records were changed by the changes after this one; no more than `limit` of them."""
        sql = "SELECT DISTINCT record FROM record_history WHERE id > ? LIMIT ?"
        return {record for (record,) in self.database.query(sql, (after, limit))}

    def reasons(self) -> Iterator[tuple[int, str]]:
        """The number and the reason of every change for which one was given."""
        after = 0
        while rows := self.database.query(
            "SELECT id, reason FROM record_history WHERE id > ? AND reason <> '' ORDER BY id LIMIT 1000",
            (after,),
        ):
            yield from rows
            after = rows[-1][0]

    def blank_reason(self, execute: Execute, change: int) -> None:
        """Remove a reason, since it says what was erased."""
        execute("UPDATE record_history SET reason = '' WHERE id = ?", (change,))

    def history(self, number: int) -> list[Row]:
        """What was done with a record, oldest first; `former` holds what each change replaced."""
        names = ("at", "actor", "operation", "reason", "version", "former")
        rows = self.database.query(
            f"SELECT {', '.join(names)} FROM record_history WHERE record = ? ORDER BY id", (number,)
        )
        return [
            dict(zip(names, (*row[:-1], orjson.loads(row[-1]) if row[-1] else None), strict=True))
            for row in rows
        ]


def place_token(row: Row) -> str:
    """How the full-text index names who may see a record, as the view `searchable` has it."""
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
