"""The full-text index: FTS5 with bm25, and prefix search while typing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from copy import copy
from typing import Any

from sb.store.database import Database, Row
from sb.store.index.column_table import among
from sb.store.index.postings import Postings
from sb.store.index.ranked_rows import NO_TEXT, RankedRow, RankedRows, RankedTable
from sb.store.index.record_cache import RecordCache
from sb.store.records.descriptors import MEMORIES

BODY_WEIGHT, PREV_WEIGHT, PLACE_WEIGHT = (
    1.0,
    0.4,
    0.0,
)  # RETRIEVAL.md, step 6; who may see a record is no evidence
_SPARE = 3  # times as many as wanted are ranked before a condition is looked at
_MERGED_AT_ONCE = 250  # pages, which takes some 10 ms
_RANKED_BY = (
    "SELECT r.id, r.terms, r.session, r.happened_at, r.info, r.speaker, a.id, a.terms, a.speaker, b.id, b.terms,"
    f" CASE WHEN r.state = 'active' AND {MEMORIES} THEN r.place END, r.prev1 FROM records AS r"
    " LEFT JOIN records AS a ON a.id = r.prev1 AND a.state = 'active' AND a.place = r.place AND a.agent = r.agent"
    " LEFT JOIN records AS b ON b.id = r.prev2 AND b.state = 'active' AND b.place = r.place AND b.agent = r.agent"
)
_NEXT = (
    "SELECT q.id, (SELECT n.id FROM records AS n WHERE n.session = q.session AND n.id > q.id AND n.prev1 = q.id LIMIT 1)"
    " FROM records AS q WHERE q.id IN"
)


class WordIndex:
    """The full-text index of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._ranked_by = RecordCache(database, RankedTable)
        self._next: RecordCache[dict[int, int]] = RecordCache(database, dict)
        self._postings = RecordCache(database, lambda: Postings(database, BODY_WEIGHT, PREV_WEIGHT))
        self._asked_at: int | None = None  # the changes that were counted when somebody last asked

    def through(self, database: Database) -> WordIndex:
        """This index with all that it remembers, read by another way into the same database."""
        other = copy(self)
        other._database = database
        return other

    def best(
        self,
        expression: str,
        k: int,
        *,
        first: Sequence[str] = (),
        places: Sequence[int] | None = None,
        placed: bool = False,
        spare: float = 1.0,
        stems: Sequence[str] = (),
        where: str = "",
        parameters: tuple[Any, ...] = (),
        changes: int | None = None,
    ) -> list[tuple[int, float]]:
        """The k records that match best, with their bm25 (the larger the better).

        Args:
            expression: an FTS5 expression; without `places` it or the condition has to name the places in view.
            first: some that match fewer, which are enough if k of what one of them matches meet the condition; a record's best bm25 counts.
            places: in which a memory has to be, and active. placed: whether the expression names them.
            spare: of how many times k records probably k are, if it does not.
            stems: of the words that the expression names, where their postings are few enough to be kept.
            where: a further condition over `r`, the table of records; parameters: its values.
            changes: see `RecordCache.at`.
        """
        # A condition on each match would cost more than ranking them all: most often enough of the best meet it.
        ranked = int(k * max(_SPARE if where else 1.0, spare))

        def meeting(best: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
            numbers = [number for number, _ in best]
            if places is not None and not placed:
                numbers = self._in_places(numbers, places, changes)
            matches = set(self._meeting(numbers, where, parameters))
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
        if stems and (postings := self._held_postings(changes)) is not None:
            best = postings.best(stems, ranked, places if placed else None)
        else:
            best = self._ranked(expression, ranked)
        hits = meeting(best)
        if len(hits) >= k or len(best) < ranked:
            return hits[:k]
        return self._ranked(expression, k, *in_view(None if placed else places, where, parameters))

    def frequencies(self, stems: Sequence[str], changes: int | None = None) -> dict[str, int]:
        """In how many records' own text each stem is, as far as its postings are kept; see `best`."""
        postings = self._held_postings(changes) if stems else None
        return {} if postings is None else postings.frequencies(stems)

    def _held_postings(self, changes: int | None) -> Postings | None:
        """The postings that still hold; None where none can be kept, and right after a change.

        Read for one search alone they would cost more than they save.
        """
        if changes is None or self._database.writer:
            return None
        if changes != self._asked_at:
            self._asked_at = changes
            return None
        return self._postings.at(changes)

    def _in_places(
        self, records: Sequence[int], places: Collection[int], changes: int | None, *, spoken: bool = False
    ) -> list[int]:
        """Those of these records that searches find in some places, by number.

        Args:
            spoken: only what somebody said.
        """
        columns = self.ranked_by(records, changes).columns
        inside = among(columns["place"], places)
        if spoken:
            inside &= columns["speaker"] > 0
        found: list[int] = columns["id"][inside].tolist()
        return found

    def _meeting(self, records: Sequence[int], where: str, parameters: tuple[Any, ...]) -> list[int]:
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

    def ranked_by(self, records: Sequence[int], changes: int | None = None) -> RankedRows:
        """The facts that ranking needs of records, in the order of their numbers.

        Args:
            changes: see `RecordCache.at`.
        """
        known, ordered = self._ranked_by.at(changes), sorted(records)
        try:
            return known.of(ordered)
        except KeyError:  # one was not met yet
            missing = [number for number in ordered if number not in known]
        marks = ", ".join("?" * len(missing))
        rows = self._database.query(f"{_RANKED_BY} WHERE r.id IN ({marks})", tuple(missing))
        known.add(list(map(_ranked_row, rows)))
        return known.of(number for number in ordered if number in known)

    def beside(
        self,
        records: Sequence[int],
        places: Collection[int],
        where: str = "",
        parameters: tuple[Any, ...] = (),
        changes: int | None = None,
    ) -> list[int]:
        """The records right before and after these in their sessions, in some places.

        Args:
            where: SQL over `r`, the table of records, that they meet too; parameters: its values.
            changes: see `RecordCache.at`.
        """
        columns = self.ranked_by(records, changes).columns
        columns = columns[columns["session"] > 0]
        numbers: list[int] = columns["id"].tolist()
        following = self._next.at(changes)
        # The last one of a session is asked for again and again: the next may come, which is no change.
        if last := [number for number in numbers if number not in following]:
            found = self._database.query(f"{_NEXT} ({', '.join('?' * len(last))})", tuple(last))
            following |= ((number, after) for number, after in found if after is not None)
        around = {*columns["previous"].tolist(), *map(following.get, numbers)}
        beside = self._in_places([number for number in around if number], places, changes, spoken=True)
        return self._meeting(beside, where, parameters)

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


def _ranked_row(row: Row) -> RankedRow:
    (
        number, terms, session, happened_at, information, speaker,
        first, first_terms, first_speaker, second, second_terms, place, previous,
    ) = row  # fmt: skip
    # What comes directly before it is first, whichever of the two is quoted.
    before = [item for item in ((first, first_terms), (second, second_terms)) if item[0] is not None]
    neighbour, two = (*before, NO_TEXT, NO_TEXT)[:2]
    texts = ((number, terms), neighbour, two)
    return RankedRow(
        number, texts, speaker, first_speaker, session, happened_at, information, place, previous
    )
