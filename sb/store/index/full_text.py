"""The full-text index: FTS5 with bm25, and prefix search while typing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sb.store.database import Database, Row
from sb.store.index.record_cache import RecordCache

BODY_WEIGHT, PREV_WEIGHT, PLACE_WEIGHT = (
    1.0,
    0.4,
    0.0,
)  # RETRIEVAL.md, step 6; who may see a record is no evidence
_SPARE = 3  # times as many as wanted are ranked before a condition is looked at
_MERGED_AT_ONCE = 250  # pages, which takes some 10 ms
NO_TERMS = bytes(4)
_RANKED_BY = (
    "SELECT r.id, r.terms, r.session, r.happened_at, r.info, r.speaker, a.id, a.terms, a.speaker, b.id, b.terms"
    " FROM records AS r"
    " LEFT JOIN records AS a ON a.id = r.prev1 AND a.state = 'active' AND a.place = r.place AND a.agent = r.agent"
    " LEFT JOIN records AS b ON b.id = r.prev2 AND b.state = 'active' AND b.place = r.place AND b.agent = r.agent"
)


class RankedRow(NamedTuple):
    """What ranking has to know of a record.

    Args:
        texts: number and encoded terms of the record and of the two before it that it quotes; 0 and `NO_TERMS` for none.
        speaker: who said it, None if it is not a thing said. previous_speaker: who said the text before it.
        session: in which it was made, None if in none. happened_at: seconds since 1970.
        information: how specific its text is; 0 until housekeeping has seen it.
    """

    id: int
    texts: tuple[tuple[int, bytes], tuple[int, bytes], tuple[int, bytes]]
    speaker: str | None
    previous_speaker: str | None
    session: int | None
    happened_at: float | None
    information: float


class WordIndex:
    """The full-text index of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._ranked_by: RecordCache[RankedRow] = RecordCache(database)

    def best(
        self,
        expression: str,
        k: int,
        *,
        first: Sequence[str] = (),
        where: str = "",
        parameters: tuple[Any, ...] = (),
    ) -> list[tuple[int, float]]:
        """The k records that match best, with their bm25 (the larger the better).

        Args:
            expression: an FTS5 expression; it or the condition has to name the places in view.
            first: some that match fewer, which are enough if k of what one of them matches meet the condition; a record's best bm25 counts.
            where: a further condition over `r`, the table of records.
        """
        # A condition on each match would cost more than ranking them all: most often enough of the best meet it.
        ranked = _SPARE * k if where else k
        if first:
            scores: dict[int, float] = {}
            for one in first:
                for number, score in self._ranked(one, ranked):
                    scores[number] = max(score, scores.get(number, score))
            by_score = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
            kept = self._meeting(by_score[:ranked], where, parameters)
            if len(kept) >= k:
                return kept[:k]
        best = self._ranked(expression, ranked)
        kept = self._meeting(best, where, parameters)
        if len(kept) >= k or len(best) < ranked:
            return kept[:k]
        return self._ranked(expression, k, where=where, parameters=parameters)

    def _meeting(
        self, best: Sequence[tuple[int, float]], where: str, parameters: tuple[Any, ...]
    ) -> list[tuple[int, float]]:
        if not where:
            return list(best)
        marks = ", ".join("?" * len(best)) or "NULL"
        sql = f"SELECT r.id FROM records AS r WHERE r.id IN ({marks}) AND ({where})"
        met = {number for (number,) in self._database.query(sql, (*(one for one, _ in best), *parameters))}
        return [one for one in best if one[0] in met]

    def _ranked(
        self, expression: str, k: int, *, where: str = "", parameters: tuple[Any, ...] = ()
    ) -> list[tuple[int, float]]:
        rank = f"bm25(record_index, {BODY_WEIGHT}, {PREV_WEIGHT}, {PLACE_WEIGHT})"
        join = f"JOIN records AS r ON r.id = record_index.rowid AND {where}" if where else ""
        sql = (
            f"SELECT record_index.rowid, -{rank} FROM record_index {join}"
            f" WHERE record_index MATCH ? ORDER BY {rank} LIMIT +?"
        )
        return [(int(n), float(s)) for n, s in self._database.query(sql, (*parameters, expression, k))]

    def newest(
        self,
        expression: str,
        k: int,
        *,
        below: int | None = None,
        where: str = "1",
        parameters: tuple[Any, ...] = (),
    ) -> list[int]:
        """The k newest records that match, newest first: what can be shown before anything is ranked.

        Args:
            below: only records with a smaller number, to go on from there.
        """
        sql = (
            "SELECT record_index.rowid FROM record_index JOIN records AS r ON r.id = record_index.rowid"
            f" WHERE record_index MATCH ? AND record_index.rowid < ? AND {where}"
            " ORDER BY record_index.rowid DESC LIMIT +?"
        )
        end = (1 << 62) if below is None else below
        return [int(n) for (n,) in self._database.query(sql, (expression, end, *parameters, k))]

    def ranked_by(self, records: Sequence[int], changes: int | None = None) -> list[RankedRow]:
        """What ranking has to know of records, in the order of their numbers.

        Args:
            changes: see `RecordCache.at`.
        """
        known = self._ranked_by.at(changes)
        missing = [number for number in records if number not in known]
        if missing:
            marks = ", ".join("?" * len(missing))
            rows = self._database.query(f"{_RANKED_BY} WHERE r.id IN ({marks})", tuple(missing))
            known |= ((row[0], _ranked_row(row)) for row in rows)
        return [known[number] for number in sorted(records) if number in known]

    def beside(self, records: Sequence[int], where: str, parameters: tuple[Any, ...]) -> list[int]:
        """What was said right before and after these records in their sessions.

        Args:
            where: SQL over `r`, the table of records, that they meet; parameters: its values.
        """
        marks = ", ".join("?" * len(records)) or "NULL"
        sql = (
            "SELECT r.id FROM records AS r WHERE r.speaker IS NOT NULL AND r.state = 'active' AND r.id IN ("
            f"SELECT q.prev1 FROM records AS q WHERE q.id IN ({marks}) UNION ALL"
            " SELECT (SELECT n.id FROM records AS n WHERE n.session = q.session AND n.id > q.id AND n.prev1 = q.id LIMIT 1)"
            f" FROM records AS q WHERE q.id IN ({marks})) AND ({where}) ORDER BY r.id"
        )
        return [int(n) for (n,) in self._database.query(sql, (*records, *records, *parameters))]

    def texts(self, records: Sequence[int]) -> list[str]:
        """The texts of records."""
        marks = ", ".join("?" * len(records)) or "NULL"
        sql = f"SELECT text FROM records WHERE id IN ({marks})"
        return [text for (text,) in self._database.query(sql, tuple(records))]

    def check(self) -> bool:
        """Whether the index says what the records say; reads both entirely."""
        from sb.errors import StoreCorrupt

        try:
            with self._database.write() as execute:
                execute("INSERT INTO record_index (record_index, rank) VALUES ('integrity-check', 1)")
        except StoreCorrupt:
            return False
        return True

    def count(self) -> int:
        """Counts the entries of the index."""
        return int(self._database.query("SELECT count(*) FROM record_index_docsize")[0][0])

    def finds(self, expression: str, record: int) -> bool:
        """Whether one record is among those that match."""
        sql = "SELECT 1 FROM record_index WHERE record_index MATCH ? AND rowid = ?"
        return bool(self._database.query(sql, (expression, record)))

    def rebuild(self) -> None:
        """Make the index anew from the records."""
        with self._database.write() as execute:
            execute("INSERT INTO record_index (record_index) VALUES ('rebuild')")

    def optimize(self) -> None:
        """Rewrite the index as one segment, in short transactions: only then are the words of what was erased gone."""
        pages = -_MERGED_AT_ONCE  # a negative number begins it, a positive one goes on
        while True:
            with self._database.write() as execute:
                before = execute("SELECT total_changes()").fetchone()[0]
                execute("INSERT INTO record_index (record_index, rank) VALUES ('merge', ?)", (pages,))
                done = (
                    execute("SELECT total_changes()").fetchone()[0] - before < 2
                )  # FTS5: nothing was left to do
            if done:
                return
            pages = _MERGED_AT_ONCE


def _ranked_row(row: Row) -> RankedRow:
    (
        number, terms, session, happened_at, information, speaker,
        first, first_terms, first_speaker, second, second_terms,
    ) = row  # fmt: skip
    # What comes directly before it is first, whichever of the two is quoted.
    before = [one for one in ((first, first_terms), (second, second_terms)) if one[0] is not None]
    one, two = (*before, (0, NO_TERMS), (0, NO_TERMS))[:2]
    return RankedRow(
        number, ((number, terms), one, two), speaker, first_speaker, session, happened_at, information
    )
