"""The vector index: nearest records by exact vectors, preselected by bit vectors.

Each active record has an exact vector. Few are compared with all of them; of many, their signs name the best
(`sb.store.index.bit_vectors`), and these are compared exactly. The bits only propose: who may see a record, and whether it is
active, is read from the records by the same statement that reads the exact vectors.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from sb.base.values.numeric import np
from sb.store.database import Database
from sb.store.index.bit_vectors import BitIndex, Execute, bits_of
from sb.store.records.columns import LONGEST_QUOTE
from sb.store.records.descriptors import MEMORIES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sb.store.embedding.embedder import Vectors

FEW = 500  # records of a place that are all compared exactly, without bits
# Proposals for each record that is wanted: 256 bits alone find half of the nearest, four times as many 0.86.
_OVERSAMPLED = 4
_ENOUGH = 100  # but no more, unless more are wanted: each is read and compared exactly
_LENGTHS = struct.Struct(">QQQ")
_SLICE = 1_000  # rows that are read or written at once

# CROSS JOIN keeps the order of the tables, as SQLite has it: records first for those of a place, vectors first for those named.
_OF_PLACE = (
    "SELECT v.record, v.vector, r.place FROM records AS r CROSS JOIN vectors AS v ON v.record = r.id"
    f" WHERE v.model = ? AND r.state = 'active' AND {MEMORIES}"
)
_NAMED = (
    "SELECT v.record, v.vector, r.place FROM vectors AS v CROSS JOIN records AS r ON r.id = v.record"
    f" WHERE v.model = ? AND r.state = 'active' AND {MEMORIES}"
)
# The same records are quoted by the view `searchable`.
_SOURCES = f"""SELECT r.id, r.place, r.text, substr(a.text, 1, {LONGEST_QUOTE}), substr(b.text, 1, {LONGEST_QUOTE}), v.model, v.digest
    FROM records AS r
    LEFT JOIN records AS a ON a.id = r.prev1 AND a.state = 'active' AND a.place = r.place AND a.agent = r.agent
    LEFT JOIN records AS b ON b.id = r.prev2 AND b.state = 'active' AND b.place = r.place AND b.agent = r.agent
    LEFT JOIN vectors AS v ON v.record = r.id
    WHERE r.state = 'active'"""


class VectorRow(NamedTuple):
    """The stored vector of one record.

    Args:
        record: its number. place: see `sb.store.records.places`.
        model: what made the vector. digest: of what it was made from, see `Source`.
        vector: of length 1, or zero.
    """

    record: int
    place: int
    model: str
    digest: bytes
    vector: Vectors


class Source(NamedTuple):
    """The texts that a record's vector is made from.

    Args:
        previous: the texts of the records before it that it quotes, the nearest first; "" where there is none.
    """

    record: int
    place: int
    text: str
    previous: tuple[str, ...] = ()

    @property
    def digest(self) -> bytes:
        """The digest of the texts; 16 bytes."""
        first, second, third, *_ = (self.text, *self.previous, "", "")
        a, b, c = (
            first.encode("utf-8", "replace"),
            second.encode("utf-8", "replace"),
            third.encode("utf-8", "replace"),
        )
        return hashlib.blake2b(_LENGTHS.pack(len(a), len(b), len(c)) + a + b + c, digest_size=16).digest()


class VectorCounts(NamedTuple):
    """The number of records, and of vectors by model."""

    active: int
    vectors: Mapping[str, int]


class VectorIndex:
    """The vectors of one database. Whatever writes runs inside the caller's transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._bits = BitIndex(database)
        self._many: set[int] = set()  # places that were found to hold more than `FEW`

    def put(
        self, execute: Execute, record: int, place: int, model: str, digest: bytes, vector: Vectors
    ) -> None:
        """Stores the vector of an active record, replacing a former one."""
        self.put_many(execute, [VectorRow(record, place, model, digest, vector)])

    def put_many(self, execute: Execute, rows: Sequence[VectorRow]) -> None:
        """Stores vectors, all of one model."""
        if not rows:
            return
        listed = self._bits.prepared(execute, rows[0].model, len(rows[0].vector))
        named = orjson.dumps([row.record for row in rows]).decode()
        former = execute(
            "SELECT record FROM vectors WHERE record IN (SELECT value FROM json_each(?))", (named,)
        )
        for (record,) in former.fetchall():
            execute("DELETE FROM vectors WHERE record = ?", (record,))
            if listed:
                self._bits.drop(execute, record)
        vectors = np.array([row.vector for row in rows], np.float32)
        self._database.write_each(
            "INSERT INTO vectors (record, model, digest, vector) VALUES (?, ?, ?, ?)",
            [
                (row.record, row.model, row.digest, vector.tobytes())
                for row, vector in zip(rows, vectors.astype("<f2"), strict=True)
            ],
        )
        if listed:
            self._bits.put(bits_of([(row.record, row.place) for row in rows], vectors))

    def drop(self, execute: Execute, record: int) -> list[int]:
        """Remove what the text of a record went into: its vector, and those of the records that quote it.

        Returns:
            The records that quote it.

        Call it when a record's text, state, place or agent changes; `stale` finds those that need another vector.
        """
        rows = execute(
            "SELECT q.id FROM records AS r JOIN records AS q ON q.session = r.session AND q.id > r.id"
            " AND r.id IN (q.prev1, q.prev2) WHERE r.id = ?",
            (record,),
        ).fetchall()
        listed = self._bits.prepared(execute)
        quoting = [number for (number,) in rows]
        for number in (record, *quoting):
            execute("DELETE FROM vectors WHERE record = ?", (number,))
            if listed:
                self._bits.drop(execute, number)
        return quoting

    def nearest(
        self,
        model: str,
        query: Vectors,
        places: Sequence[int],
        k: int,
        *,
        also: Sequence[int] = (),
        where: str = "1",
        parameters: tuple[Any, ...] = (),
    ) -> list[tuple[int, float]]:
        """The k nearest active records and their cosines, the nearest first.

        Args:
            model: what made the query's vector: vectors of others are not compared with it.
            also: of these records that are compared too, and returned even if others are nearer.
            where: SQL over `r`, the table of records, that holds no value; parameters: its values.
        """
        compared = [_rows_of((), len(query))]
        large: list[int] = []
        proposed = set(also)
        for place in places:
            rows = self._few(model, len(query), place, where, parameters)
            if rows is None:
                large.append(place)
                proposed.update(self._bits.nearest(model, query, place, proposals(k)))
            else:
                proposed.difference_update(rows["id"].tolist())
                compared.append(rows)
        if large:
            named = self._meeting(sorted(proposed), where, parameters)
            rows = self._active(model, len(query), named)
            compared.append(rows[[place in large for place in rows["place"].tolist()]])
        rows = compared[-1] if len(compared) < 3 else np.concatenate(compared)
        cosines = _cosines(rows, query)
        order = np.lexsort((rows["id"], -cosines))
        ordered = list(zip(rows["id"][order].tolist(), cosines[order].tolist(), strict=True))
        required = set(also)
        return ordered[:k] + [pair for pair in ordered[k:] if pair[0] in required]

    def cosines(self, model: str, query: Vectors, records: Sequence[int]) -> dict[int, float]:
        """The cosines of those of these records that are active and have a vector of this model."""
        rows = self._active(model, len(query), records)
        return dict(zip(rows["id"].tolist(), _cosines(rows, query).tolist(), strict=True))

    def close_by(self, model: str, query: Vectors, place: int, k: int) -> list[int]:
        """About the k nearest records of a place, the nearest first, by bits alone wherever there are any.

        They may be in another state by now, or in another place.
        """
        if self._bits.unavailable(model):
            return [record for record, _ in self.nearest(model, query, (place,), k)]
        return self._bits.nearest(model, query, place, k)

    def last(self) -> int:
        """The number of the newest record with a vector, 0 before the first."""
        return int(self._database.query("SELECT coalesce(max(record), 0) FROM vectors")[0][0])

    def unavailable(self, model: str) -> str:
        """The reason why places with more than `FEW` records cannot be searched by this model's vectors, or ""."""
        return self._bits.unavailable(model)

    def sources(self, records: Sequence[int]) -> list[Source]:
        """Returns the texts for the vectors of those of these records that are active."""
        marks = ", ".join("?" * len(records)) or "NULL"
        rows = self._database.query(f"{_SOURCES} AND r.id IN ({marks}) ORDER BY r.id", tuple(records))
        return [_source(row) for row in rows]

    def stale(self, model: str, limit: int, *, after: int = 0) -> list[Source]:
        """Active records without a vector of this model, or with one of other texts, in the order of their numbers.

        Args:
            after: the number after which to look; the whole database is read if nothing is found.
        """
        found: list[Source] = []
        while len(found) < limit:
            rows = self._database.query(f"{_SOURCES} AND r.id > ? ORDER BY r.id LIMIT +?", (after, _SLICE))
            if not rows:
                break
            after = rows[-1][0]
            sources = ((_source(row), row[5:]) for row in rows)
            found += [source for source, item in sources if item != (model, source.digest)]
        return found[:limit]

    def stale_among(self, model: str, records: Sequence[int]) -> list[Source]:
        """Returns the sources of active records without a current vector of this model."""
        marks = ", ".join("?" * len(records)) or "NULL"
        rows = self._database.query(f"{_SOURCES} AND r.id IN ({marks}) ORDER BY r.id", tuple(records))
        return [
            source
            for source, item in ((_source(row), row[5:]) for row in rows)
            if item != (model, source.digest)
        ]

    def counts(self) -> VectorCounts:
        active = self._database.query("SELECT count(*) FROM records WHERE state = 'active'")[0][0]
        return VectorCounts(
            active, dict(self._database.query("SELECT model, count(*) FROM vectors GROUP BY model"))
        )

    def _few(
        self, model: str, length: int, place: int, where: str, parameters: tuple[Any, ...]
    ) -> NDArray[np.void] | None:
        """The vectors of all records in a place; None if there are too many to compare each."""
        if where == "1" and place in self._many:
            return None
        matching = f"r.place = ? AND r.state = 'active' AND ({where})"
        counted = f"SELECT count(*) FROM (SELECT 1 FROM records AS r WHERE {matching} LIMIT +?)"
        if self._database.query(counted, (place, *parameters, FEW + 1))[0][0] > FEW:
            self._many.add(place)  # a filter let so many pass: without it there are more
            return None
        return _rows_of(
            self._database.query(f"{_OF_PLACE} AND {matching}", (model, place, *parameters)), length
        )

    def _meeting(self, records: Sequence[int], where: str, parameters: tuple[Any, ...]) -> Sequence[int]:
        """Those of these records that meet a condition, in their order."""
        if where == "1":
            return records
        found: list[int] = []
        for start in range(0, len(records), _SLICE):
            part = records[start : start + _SLICE]
            marks = ", ".join("?" * len(part))
            sql = f"SELECT r.id FROM records AS r WHERE r.id IN ({marks}) AND ({where}) ORDER BY r.id"
            found += [number for (number,) in self._database.query(sql, (*part, *parameters))]
        return found

    def _active(self, model: str, length: int, records: Sequence[int]) -> NDArray[np.void]:
        """The vectors of these records, as far as they are active."""
        found: list[tuple[Any, ...]] = []
        for start in range(0, len(records), _SLICE):
            part = records[start : start + _SLICE]
            marks = ", ".join("?" * len(part))
            found += self._database.query(f"{_NAMED} AND v.record IN ({marks})", (model, *part))
        return _rows_of(found, length)


def proposals(k: int) -> int:
    """Returns how many records the bits propose when k are wanted."""
    return max(k, min(k * _OVERSAMPLED, _ENOUGH))


def _columns(length: int) -> tuple[tuple[str, str], tuple[str, str], tuple[str, str, int]]:
    """The columns stored for a vector of this many numbers."""
    return ("id", "i8"), ("place", "i8"), ("vector", "f4", length)


def _cosines(rows: NDArray[np.void], query: Vectors) -> NDArray[np.float32]:
    # threads of a matrix product wait for busy cores
    return np.asarray(np.einsum("ij,j->i", rows["vector"], query))


def _rows_of(found: Sequence[tuple[Any, ...]], length: int) -> NDArray[np.void]:
    """Rows of a record, its stored vector and its place, the vectors as 32-bit numbers."""
    rows = np.zeros(len(found), list(_columns(length)))
    if found:
        rows["id"], rows["place"] = [row[0] for row in found], [row[2] for row in found]
        rows["vector"] = np.frombuffer(b"".join([row[1] for row in found]), "<f2").reshape(len(found), length)
    return rows


def _source(row: tuple[Any, ...]) -> Source:
    return Source(row[0], row[1], row[2], (row[3] or "", row[4] or ""))
