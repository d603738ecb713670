"""Queries over records: by number, id, key or condition; counts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import orjson

from sb.store.database import Database
from sb.store.records.columns import COLUMNS, Row
from sb.store.records.reads import UNFOLDED

_MOST_EQUAL = 8  # of one text; only what is forced in makes more than one
_MOST_LEGS = 100  # SELECTs in one statement; SQLite takes 500


class RecordQueries:
    """Reads the records of one database."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def row(self, number: int) -> Row | None:
        """All columns of one record."""
        return next(iter(self.rows([number])), None)

    def rows(self, numbers: Sequence[int], columns: Sequence[str] = COLUMNS) -> Iterator[Row]:
        """These columns of these records, in no order that could be relied on."""
        marks = ", ".join("?" * len(numbers)) or "NULL"
        return self.select(f"r.id IN ({marks})", tuple(numbers), columns=columns)

    def proposed(self, numbers: Sequence[int], place: int, text: str) -> tuple[dict[int, bytes], list[int]]:
        """The words of these records, as ranking counts them, and the numbers of some with exactly a text.

        Args:
            place: of those with the text, which are active facts and beliefs.
        """
        marks = ", ".join("?" * len(numbers)) or "NULL"
        equal = (
            "SELECT id, NULL FROM records WHERE place = ? AND substr(text, 1, 100) = ? AND length(text) = ? AND text = ?"
            " AND kind IN ('fact', 'belief') AND state = 'active' ORDER BY id LIMIT +?"
        )
        found = self.database.query(
            f"SELECT id, terms FROM records WHERE id IN ({marks}) UNION ALL SELECT * FROM ({equal})",
            (*numbers, place, text[:100], len(text), text, _MOST_EQUAL),
        )
        terms = {number: counted for number, counted in found if counted is not None}
        return terms, [number for number, counted in found if counted is None]

    def find(self, uid: str) -> Row | None:
        """The record with a public id."""
        return next(self.select("r.uid = ?", (uid,)), None)

    def keyed(self, place: int, kind: str, key: str) -> Row | None:
        """The record that a key stands for, whatever its state."""
        where = "r.place = ? AND r.kind = ? AND r.key = ? AND r.state <> 'erased'"
        return next(self.select(where, (place, kind, key)), None)

    def select(
        self,
        where: str,
        parameters: tuple[Any, ...],
        *,
        order: str = "r.id",
        limit: int = -1,
        columns: Sequence[str] = COLUMNS,
    ) -> Iterator[Row]:
        """Records by a condition over `r`, the table of records.

        Args:
            where, order: SQL that holds no value. limit: the most that are returned; -1 for all.
            columns: those that are read.
        """
        sql = f"SELECT {_wanted(tuple(columns))} FROM records AS r WHERE {where} ORDER BY {order} LIMIT +?"
        for found in self.database.query(sql, (*parameters, limit)):
            yield dict(zip(columns, found, strict=True))

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
        selecting = f"SELECT r.id, r.happened_at{by and ', '}{by} FROM records AS r WHERE"
        legs = (
            [(place, kind) for place in places for kind in kinds]
            if len(places) * len(kinds) <= _MOST_LEGS
            else []
        )
        if legs:  # each is read in the order of its index, and no further than the limit
            parts = [f"{selecting} r.place = ? AND r.kind = ? AND r.state = 'active' AND {where}"] * len(legs)
            sql, values = " UNION ALL ".join(parts), [value for leg in legs for value in (*leg, *parameters)]
        else:
            marks, named = ", ".join("?" * len(kinds)), orjson.dumps(places).decode()
            there = f"r.place IN (SELECT value FROM json_each(?)) AND r.kind IN ({marks})"
            sql = f"{selecting} {there} AND r.state = 'active' AND {where}"
            values = [named, *kinds, *parameters]
        found = self.database.query(f"{sql} ORDER BY {order} LIMIT +? OFFSET +?", (*values, limit, skip))
        return [item[0] for item in found]

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
                "SELECT record AS id FROM record_stats WHERE place = ? ORDER BY accessed DESC LIMIT +?"
            )
            values += (place, each * len(kinds))
            for kind in kinds:
                for also in ("", " AND protected = 1"):
                    parts.append(
                        f"SELECT id FROM records WHERE place = ? AND kind = ? AND state = 'active'{also}"
                        " ORDER BY id DESC LIMIT +?"
                    )
                    values += (place, kind, each)
        found = " UNION ".join(f"SELECT id FROM ({part})" for part in parts)
        seen, wanted = (", ".join("?" * len(some)) for some in (places, kinds))
        where = f"r.id IN ({found}) AND r.state = 'active' AND +r.place IN ({seen}) AND +r.kind IN ({wanted})"
        return self.select(where, (*values, *places, *kinds))

    def known(self, uids: Sequence[str]) -> dict[str, Row]:
        """Returns the rows of these public ids that exist, whatever their state."""
        # There is no limit to how many, as there is to parameters; and half of a surrogate pair can be asked for, in vain.
        named = json.dumps(list(uids))
        where = "r.uid IN (SELECT value FROM json_each(?))"
        return {row["uid"]: row for row in self.select(where, (named,))}

    def mean_information(self) -> float:
        """Returns the mean information of all records that have any; reads them all."""
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
        """Counts the records that meet a condition over `r` that holds no value."""
        return int(self.database.query(f"SELECT count(*) FROM records AS r WHERE {where}", parameters)[0][0])

    def counts(self) -> list[tuple[int, str, str, int]]:
        """Counts the records by place, kind and state; reads them all."""
        return [
            (int(place), kind, state, int(n))
            for place, kind, state, n in self.database.query(
                "SELECT place, kind, state, count(*) FROM records GROUP BY place, kind, state"
            )
        ]

    def of_category(self, kind: str, category: str) -> int:
        """Counts the active records of a kind in a category; reads only those of the kind."""
        sql = (
            "SELECT count(*) FROM records WHERE place IN (SELECT id FROM places) AND kind = ? AND state = 'active'"
            " AND category = ?"
        )
        return int(self.database.query(sql, (kind, category))[0][0])

    def numbers_of_category(self, kind: str, category: str) -> list[int]:
        """The numbers of the active records of a kind in a category, newest first; reads only those of the kind."""
        sql = (
            "SELECT id FROM records WHERE place IN (SELECT id FROM places) AND kind = ? AND state = 'active'"
            " AND category = ? ORDER BY id DESC"
        )
        return [number for (number,) in self.database.query(sql, (kind, category))]

    def numbers_of_kinds(self, kinds: Sequence[str]) -> list[int]:
        """The numbers of the records of some kinds, in any state, newest first; reads only those of the kinds."""
        marks = ", ".join("?" * len(kinds))
        sql = (
            "SELECT id FROM records WHERE place IN (SELECT id FROM places)"
            f" AND kind IN ({marks}) ORDER BY id DESC"
        )
        return [number for (number,) in self.database.query(sql, tuple(kinds))]

    def numbers(self, where: str, parameters: tuple[Any, ...], *, above: int, to: int) -> list[int]:
        """The numbers of the records that meet a condition over `r`, newest first; those `above` < number <= `to`."""
        sql = f"SELECT r.id FROM records AS r WHERE r.id > ? AND r.id <= ? AND ({where}) ORDER BY r.id DESC"
        return [number for (number,) in self.database.query(sql, (above, to, *parameters))]

    def head(self) -> tuple[int, int]:
        """The number of the newest record, which counts all there ever were, and that of the newest change of one."""
        sql = "SELECT coalesce((SELECT max(id) FROM records), 0), coalesce((SELECT max(id) FROM record_history), 0)"
        ((newest, change),) = self.database.query(sql)
        return int(newest), int(change)

    def stamp(self, places: Sequence[int], kind: str) -> tuple[int, int, float]:
        """Changes whenever a record of this kind does in these places; (0, 0, 0.0) if there is none."""
        sql = (
            "SELECT count(*), coalesce(sum(version), 0), coalesce(max(updated_at), 0.0) FROM records"
            f" WHERE place IN ({', '.join('?' * len(places)) or 'NULL'}) AND kind = ?"
        )
        ((number, versions, last),) = self.database.query(sql, (*places, kind))
        return int(number), int(versions), float(last)

    def changed(self, after: int, limit: int) -> set[int]:
        """Returns the records changed after this change; at most `limit`."""
        sql = "SELECT DISTINCT record FROM record_history WHERE id > ? LIMIT +?"
        return {record for (record,) in self.database.query(sql, (after, limit))}


@lru_cache(maxsize=64)
def _wanted(columns: tuple[str, ...]) -> str:
    return ", ".join("r." + column for column in columns)
