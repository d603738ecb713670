"""Which records are nearest in meaning to a question?

Each active record has an exact vector. Few are compared with all of them; of many, their signs (one bit for each
number, in a sqlite-vec table) name the best, and these are compared exactly. The bits only propose: who may see a
record, and whether it is active, is read from the records by the same statement that reads the exact vectors. So
a process that cannot load sqlite-vec can still write; it leaves a mark, and the next one that can makes them anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import orjson

from sb.errors import StoreError
from sb.store.database import Database

if TYPE_CHECKING:
    from sb.store.embedding.embedder import Vectors

Execute = Callable[..., Any]

FEW = 500  # records of a place that are all compared exactly, which takes as long as bits name 100 of more
# Proposals for each record that is wanted: 256 bits alone find half of the nearest, four times as many 0.86.
_OVERSAMPLED = 4
_ENOUGH = 100  # but no more, unless more are wanted: their cost grows faster than their number
_MOST_PROPOSED = 4_096  # sqlite-vec's own limit
_CHUNK = 512  # bits that a place makes room for at once, 22 KB: a place is searched without looking at others
_SLICE = 1_000  # rows that are read or written at once
_MODEL = "bits_model"  # in index_state: whose bits there are
_BEHIND = "bits_behind"  # in index_state, if a process without sqlite-vec wrote: some are missing or former

_ACTIVE_VECTORS = (
    "SELECT v.record, v.vector FROM records AS r JOIN vectors AS v ON v.record = r.id"
    " WHERE v.model = ? AND r.state = 'active'"
)
_PROPOSED = (
    "WITH near AS MATERIALIZED (SELECT record FROM record_bits WHERE bits MATCH vec_bit(?) AND k = ? AND place = ?)"
    " SELECT v.record, v.vector FROM (SELECT record FROM near UNION SELECT value FROM json_each(?)) AS n"
    " CROSS JOIN vectors AS v ON v.record = n.record CROSS JOIN records AS r ON r.id = v.record"
    " WHERE v.model = ? AND r.state = 'active' AND r.place = ?"
)
# The same records are quoted by the view `searchable`.
_SOURCES = """SELECT r.id, r.place, r.text, substr(a.text, 1, 1000), substr(b.text, 1, 1000), v.model, v.digest
    FROM records AS r
    LEFT JOIN records AS a ON a.id = r.prev1 AND a.state = 'active' AND a.place = r.place AND a.agent = r.agent
    LEFT JOIN records AS b ON b.id = r.prev2 AND b.state = 'active' AND b.place = r.place AND b.agent = r.agent
    LEFT JOIN vectors AS v ON v.record = r.id
    WHERE r.state = 'active'"""


class VectorRow(NamedTuple):
    """What is kept of one record.

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
    """What the vector of one record is made from.

    Args:
        previous: the texts of the records before it that it quotes, the nearest first; "" where there is none.
    """

    record: int
    place: int
    text: str
    previous: tuple[str, ...] = ()

    @property
    def digest(self) -> bytes:
        """Of the texts; 16 bytes."""
        texts = (self.text, *self.previous, "", "")[:3]
        parts = [text.encode("utf-8", "replace") for text in texts]
        lengths = b"".join(len(part).to_bytes(8, "big") for part in parts)
        return hashlib.blake2b(lengths + b"".join(parts), digest_size=16).digest()


class VectorCounts(NamedTuple):
    """How many records there are, and vectors of each model."""

    active: int
    vectors: Mapping[str, int]


class VectorIndex:
    """The vectors of one database. Whatever writes runs inside the caller's transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._missing: str | None = None
        self._many: set[int] = set()  # places that were found to hold more than `FEW`

    def put(
        self, execute: Execute, record: int, place: int, model: str, digest: bytes, vector: Vectors
    ) -> None:
        """Keep the vector of an active record, in place of a former one."""
        self.put_many(execute, [VectorRow(record, place, model, digest, vector)])

    def put_many(self, execute: Execute, rows: Sequence[VectorRow]) -> None:
        """Keep vectors, all of one model."""
        if not rows:
            return
        listed = self._listed(execute, rows[0].model, len(rows[0].vector))
        for row in rows:
            if execute("SELECT 1 FROM vectors WHERE record = ?", (row.record,)).fetchone():
                execute("DELETE FROM vectors WHERE record = ?", (row.record,))
                if listed:  # sqlite-vec can neither update nor replace bits
                    execute("DELETE FROM record_bits WHERE record = ?", (row.record,))
            execute(
                "INSERT INTO vectors (record, model, digest, vector) VALUES (?, ?, ?, ?)",
                (row.record, row.model, row.digest, row.vector.astype("<f2").tobytes()),
            )
            if listed:
                _list(execute, row.record, row.place, row.vector)

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
        listed = self._listed(execute)
        quoting = [number for (number,) in rows]
        for number in (record, *quoting):
            execute("DELETE FROM vectors WHERE record = ?", (number,))
            if listed:
                execute("DELETE FROM record_bits WHERE record = ?", (number,))
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
            also: records in these places that are compared too, and returned even if others are nearer.
            where: SQL over `r`, the table of records, that holds no value; parameters: its values.
        """
        found: dict[int, float] = {}
        named = orjson.dumps(also).decode()
        for place in places:
            rows = self._few(model, place, where, parameters)
            if rows is None and not self.unavailable(model):
                asked = (np.packbits(query > 0).tobytes(), proposals(k), place, named)
                rows = self._database.query(f"{_PROPOSED} AND ({where})", (*asked, model, place, *parameters))
            found.update(_cosines(rows or (), query))
        found |= self.exact(model, query, [number for number in also if number not in found])
        ordered = sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))
        kept = set(also)
        return ordered[:k] + [pair for pair in ordered[k:] if pair[0] in kept]

    def exact(self, model: str, query: Vectors, records: Sequence[int]) -> dict[int, float]:
        """The cosines of these records, as far as they are active and have a vector of that model."""
        found: dict[int, float] = {}
        for start in range(0, len(records), _SLICE):
            part = records[start : start + _SLICE]
            marks = ", ".join("?" * len(part))
            rows = self._database.query(f"{_ACTIVE_VECTORS} AND r.id IN ({marks})", (model, *part))
            found.update(_cosines(rows, query))
        return found

    def unavailable(self, model: str) -> str:
        """Why places with more than `FEW` records cannot be searched for vectors of this model; "" if they can."""
        if not self._loads():
            return self._missing or ""
        kept = self._database.query("SELECT value FROM index_state WHERE name = ?", (_MODEL,))
        return "" if kept == [(model,)] else f"no vectors of {model} are listed"

    def sources(self, records: Sequence[int]) -> list[Source]:
        """What the vectors of these records are to be made from, for those that are active."""
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
            rows = self._database.query(f"{_SOURCES} AND r.id > ? ORDER BY r.id LIMIT ?", (after, _SLICE))
            if not rows:
                break
            after = rows[-1][0]
            sources = ((_source(row), row[5:]) for row in rows)
            found += [source for source, kept in sources if kept != (model, source.digest)]
        return found[:limit]

    def stale_among(self, model: str, records: Sequence[int]) -> list[Source]:
        """Those of these records that are active, and have no vector of this model and of their texts."""
        marks = ", ".join("?" * len(records)) or "NULL"
        rows = self._database.query(f"{_SOURCES} AND r.id IN ({marks}) ORDER BY r.id", tuple(records))
        return [
            source
            for source, kept in ((_source(row), row[5:]) for row in rows)
            if kept != (model, source.digest)
        ]

    def counts(self) -> VectorCounts:
        active = self._database.query("SELECT count(*) FROM records WHERE state = 'active'")[0][0]
        return VectorCounts(
            active, dict(self._database.query("SELECT model, count(*) FROM vectors GROUP BY model"))
        )

    def _few(
        self, model: str, place: int, where: str, parameters: tuple[Any, ...]
    ) -> list[tuple[Any, ...]] | None:
        """The vectors of all records in a place; None if there are too many to compare each."""
        if where == "1" and place in self._many:
            return None
        matching = f"r.place = ? AND r.state = 'active' AND ({where})"
        counted = f"SELECT count(*) FROM (SELECT 1 FROM records AS r WHERE {matching} LIMIT ?)"
        if self._database.query(counted, (place, *parameters, FEW + 1))[0][0] > FEW:
            self._many.add(place)  # a filter let so many pass: without it there are more
            return None
        return self._database.query(f"{_ACTIVE_VECTORS} AND {matching}", (model, place, *parameters))

    def _loads(self) -> bool:
        if self._missing is None:
            try:
                self._database.use_vectors()
                self._missing = ""
            except StoreError as error:
                self._missing = error.message
        return not self._missing

    def _listed(self, execute: Execute, model: str = "", dimensions: int = 0) -> bool:
        """Whether bits are to be written as well, after making their table what it has to be.

        Args:
            model: whose bits it has to hold; "" leaves it as it is.
        """
        state = dict(
            execute("SELECT name, value FROM index_state WHERE name IN (?, ?)", (_MODEL, _BEHIND)).fetchall()
        )
        if not self._loads():
            if _MODEL in state and _BEHIND not in state:
                execute("INSERT INTO index_state (name, value) VALUES (?, 1)", (_BEHIND,))
            return False
        if model and (state.get(_MODEL) != model or _BEHIND in state):
            execute("DROP TABLE IF EXISTS record_bits")
            execute(
                "CREATE VIRTUAL TABLE record_bits USING vec0"
                f" (record INTEGER PRIMARY KEY, place INTEGER PARTITION KEY,"
                f" bits bit[{-dimensions // 8 * -8}], chunk_size={_CHUNK})"
            )
            for record, place, vector in _of_model(execute, model):
                _list(execute, record, place, np.frombuffer(vector, "<f2"))
            execute("DELETE FROM index_state WHERE name = ?", (_BEHIND,))
            execute("INSERT OR REPLACE INTO index_state (name, value) VALUES (?, ?)", (_MODEL, model))
        return bool(model) or _MODEL in state


def proposals(k: int) -> int:
    """How many records the bits name when k are wanted."""
    return min(max(k, min(k * _OVERSAMPLED, _ENOUGH)), _MOST_PROPOSED)


def _of_model(execute: Execute, model: str) -> Iterator[tuple[int, int, bytes]]:
    after = 0
    while True:
        rows = execute(
            "SELECT v.record, r.place, v.vector FROM vectors AS v JOIN records AS r ON r.id = v.record"
            " WHERE v.model = ? AND v.record > ? AND r.state = 'active' ORDER BY v.record LIMIT ?",
            (model, after, _SLICE),
        ).fetchall()
        if not rows:
            return
        yield from rows
        after = rows[-1][0]


def _list(execute: Execute, record: int, place: int, vector: Any) -> None:
    if vector.any():  # a text without meaning is near to nothing
        bits = np.packbits(vector > 0).tobytes()
        execute(
            "INSERT INTO record_bits (record, place, bits) VALUES (?, ?, vec_bit(?))", (record, place, bits)
        )


def _cosines(rows: Sequence[tuple[int, bytes]], query: Vectors) -> Iterator[tuple[int, float]]:
    if not rows:
        return iter(())
    kept = np.frombuffer(b"".join(vector for _, vector in rows), "<f2").reshape(len(rows), -1)
    scores = np.einsum(
        "ij,j->i", kept.astype(np.float32), query
    )  # threads of a matrix product wait for busy cores
    return zip((record for record, _ in rows), scores.tolist(), strict=True)


def _source(row: tuple[Any, ...]) -> Source:
    return Source(row[0], row[1], row[2], (row[3] or "", row[4] or ""))
