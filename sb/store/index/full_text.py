"""The full-text index: FTS5 with bm25, and prefix search while typing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sb.store.database import Database
from sb.store.index.ranked_rows import RankedRows, ranked_rows
from sb.store.records.descriptors import MEMORIES

BODY_WEIGHT, PREV_WEIGHT, PLACE_WEIGHT = (
    1.0,
    0.4,
    0.0,
)  # RETRIEVAL.md, step 6; who may see a record is no evidence
_SPARE = 3  # times as many as wanted are ranked before a condition is looked at
_MERGED_AT_ONCE = 250  # pages, which takes some 10 ms
_RANKED_BY = (
    # What comes directly before a record is first, whichever of the two is quoted.
    "SELECT r.id, coalesce(r.session, 0), r.happened_at, r.info, r.speaker, a.speaker, r.id, r.terms,"
    " coalesce(a.id, b.id, 0), coalesce(a.terms, b.terms), iif(a.id IS NULL OR b.id IS NULL, 0, b.id), b.terms"
    " FROM records AS r"
    " LEFT JOIN records AS a ON a.id = r.prev1 AND a.state = 'active' AND a.place = r.place AND a.agent = r.agent"
    " LEFT JOIN records AS b ON b.id = r.prev2 AND b.state = 'active' AND b.place = r.place AND b.agent = r.agent"
)
_BESIDE = (
    "SELECT q.prev1, (SELECT n.id FROM records AS n WHERE n.session = q.session AND n.id > q.id AND n.prev1 = q.id LIMIT 1)"
    " FROM records AS q WHERE q.session IS NOT NULL AND q.id IN"
)


class WordIndex:
    """The full-text index of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def best(
        self,
        expression: str,
        k: int,
        *,
        first: Sequence[str] = (),
        places: Sequence[int] | None = None,
        placed: bool = False,
        spare: float = 1.0,
        where: str = "",
        parameters: tuple[Any, ...] = (),
    ) -> list[tuple[int, float]]:
        """The k records that match best, with their bm25 (the larger the better).

        Args:
            expression: an FTS5 expression; without `places` it or the condition has to name the places in view.
            first: some that match fewer, which are enough if k of what one of them matches meet the condition; a record's best bm25 counts.
            places: in which a memory has to be, and active. placed: whether the expression names them.
            spare: of how many times k records probably k are, if it does not.
            where: a further condition over `r`, the table of records; parameters: its values.
        """
        # A condition on each match would cost more than ranking them all: most often enough of the best meet it.
        ranked = int(k * max(_SPARE if where else 1.0, spare))

        condition = in_view(None if placed else places, where, parameters)

        def meeting(best: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
            matches = set(self.meeting([number for number, _ in best], *condition))
            return [entry for entry in best if entry[0] in matches]

        if first:
            scores: dict[int, float] = {}
            for item in first:
                for number, score in self._ranked(item, ranked):
                    scores[number] = max(score, scores.get(number, score))
            by_score = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
            hits = meeting(by_score[:ranked])
            if len(hits) >= k:
                return hits[:k]
        best = self._ranked(expression, ranked)
        hits = meeting(best)
        if len(hits) >= k or len(best) < ranked:
            return hits[:k]
        return self._ranked(expression, k, *condition)

    def meeting(self, records: Sequence[int], where: str, parameters: tuple[Any, ...]) -> list[int]:
        """Those of these records that meet a condition over `r`, the table of records; "" for none."""
        if not where:
            return list(records)
        marks = ", ".join("?" * len(records)) or "NULL"
        sql = f"SELECT r.id FROM records AS r WHERE r.id IN ({marks}) AND ({where}) ORDER BY r.id"
        return [int(number) for (number,) in self._database.query(sql, (*records, *parameters))]

    def _ranked(
        self, expression: str, k: int, where: str = "", parameters: tuple[Any, ...] = ()
    ) -> list[tuple[int, float]]:
        rank = f"bm25(record_index, {BODY_WEIGHT}, {PREV_WEIGHT}, {PLACE_WEIGHT})"
        join = f"JOIN records AS r ON r.id = record_index.rowid AND {where}" if where else ""
        # Ordered by the column itself: bm25 is not computed again for what is returned.
        sql = (
            f"SELECT record_index.rowid, {rank} AS less FROM record_index {join}"
            f" WHERE record_index MATCH ? ORDER BY less LIMIT +?"
        )
        return [(n, -less) for n, less in self._database.query(sql, (*parameters, expression, k))]

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

    def ranked_by(self, records: Sequence[int]) -> RankedRows:
        """The facts that ranking needs of records, in the order of their numbers."""
        marks = ", ".join("?" * len(records)) or "NULL"
        return ranked_rows(
            self._database.query(f"{_RANKED_BY} WHERE r.id IN ({marks}) ORDER BY r.id", tuple(records))
        )

    def beside(
        self,
        records: Sequence[int],
        places: Collection[int],
        where: str = "",
        parameters: tuple[Any, ...] = (),
    ) -> list[int]:
        """The records right before and after these in their sessions, in some places.

        Args:
            where: SQL over `r`, the table of records, that they meet too; parameters: its values.
        """
        marks = ", ".join("?" * len(records)) or "NULL"
        around = {
            number for pair in self._database.query(f"{_BESIDE} ({marks})", tuple(records)) for number in pair
        }
        spoken = f"r.speaker IS NOT NULL AND ({where or 1})"
        return self.meeting([number for number in around if number], *in_view(places, spoken, parameters))

    def texts(self, records: Sequence[int]) -> list[str]:
        """The texts of records."""
        marks = ", ".join("?" * len(records)) or "NULL"
        sql = f"SELECT text FROM records WHERE id IN ({marks})"
        return [text for (text,) in self._database.query(sql, tuple(records))]

    def check(self) -> bool:
        """True if the index says what the records say; reads both entirely."""
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
        """True if one record is among those that match."""
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


def in_view(
    places: Collection[int] | None, where: str = "", parameters: tuple[Any, ...] = ()
) -> tuple[str, tuple[Any, ...]]:
    """The condition over `r` that a record is an active memory in some places, and its parameters.

    Args:
        places: None for anywhere, and in any state. where: what else it meets, "" for nothing; parameters: its values.
    """
    if places is None:
        return where, parameters
    marks = ", ".join("?" * len(places)) or "NULL"
    here = f"+r.place IN ({marks}) AND r.state = 'active' AND {MEMORIES}"
    return f"{here} AND ({where})" if where else here, (*places, *parameters)
