"""Term statistics of the whole database, cached by process."""

from __future__ import annotations

from collections.abc import Sequence

from sb.store.database import Database
from sb.store.embedding.embedder import Embedder
from sb.store.records.places import Execute
from sb.store.records.store import count

_KEPT = 50_000  # words whose frequency a process remembers
_GROWTH = 1.05  # by how much the database may grow until they are read again


class TextStatistics:
    """Statistics of all active and former records' own words.

    What a stem's frequency is based on is the index itself, so nothing has to be kept in step.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[tuple[str, str], int] = {}
        self._at = -1.0
        self.records = 0
        self.mean_length = 0.0
        self.mean_window = 0.0
        self.mean_information = 0.0  # of the records that housekeeping has seen: those since count as average

    def refresh(self) -> None:
        """Read the counters; once the database has grown, words are counted anew."""
        found: dict[str, float] = dict(
            self._database.query(
                "SELECT name, value FROM index_state WHERE typeof(value) IN ('integer', 'real')"
            )
        )
        self.records = int(found.get("records", 0))
        self.mean_length = found.get("words", 0) / max(1, self.records)
        self.mean_window = found.get("window", 0) / max(1, self.records)
        self.mean_information = found.get("information", 0.0)
        if not self._at <= self.records <= self._at * _GROWTH + 8 or len(self._known) > _KEPT:
            self._known = {}  # a thread that counts a word meanwhile puts it into the former ones
            self._at = self.records

    def document_frequency(self, stem: str) -> int:
        """In how many records a stem occurs."""
        return self._frequency(stem, "body")

    def records_in(self, places: Sequence[int]) -> int:
        """Estimates the number of records in some places, former ones included."""
        return sum(self._frequency(f"p{place}", "place") for place in places)

    def _frequency(self, term: str, column: str) -> int:
        frequencies = self._known
        known = frequencies.get((term, column))
        if known is None:
            rows = self._database.query(
                "SELECT doc FROM record_terms WHERE term = ? AND col = ?", (term, column)
            )
            known = frequencies[term, column] = int(rows[0][0]) if rows else 0
        return known


def counted(embedder: Embedder, database: Database) -> Embedder:
    """The embedder with what housekeeping last counted of this database's tokens, if it goes by that."""
    from sb.store.embedding.static import StaticEmbedder
    from sb.store.embedding.token_statistics import TokenStatistics

    if not isinstance(embedder, StaticEmbedder):
        return embedder
    rows = database.query("SELECT value FROM index_state WHERE name = ?", (f"tokens {embedder.model}",))
    return embedder.knowing(TokenStatistics.from_bytes(rows[0][0])) if rows else embedder


def keep_counts(execute: Execute, model: str, counts: bytes) -> None:
    """Stores the token statistics for queries and new vectors."""
    execute(
        "INSERT INTO index_state (name, value) VALUES (?, ?)"
        " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (f"tokens {model}", counts),
    )


def correct_counters(database: Database) -> None:
    """Count records and words anew: erasing and changing a record leave the counters about right, not right."""
    with database.snapshot() as connection:
        counted = connection.execute(
            "SELECT count(*), coalesce(sum(r.length), 0),"
            " coalesce(sum(r.length + coalesce(a.length, 0) + coalesce(b.length, 0)), 0) FROM records AS r"
            " LEFT JOIN records AS a ON a.id = r.prev1 AND a.state = 'active'"
            " LEFT JOIN records AS b ON b.id = r.prev2 AND b.state = 'active' WHERE r.state <> 'erased'"
        ).fetchone()
        stored = dict(connection.execute("SELECT name, value FROM index_state").fetchall())
    changes = {
        name: number - stored.get(name, 0)
        for name, number in zip(("records", "words", "window"), counted, strict=True)
    }
    with database.write() as execute:  # what others have written since is added to, not lost
        count(execute, **changes)
