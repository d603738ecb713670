"""The evidence of records: restatements that were merged into them, and outcomes that confirm or refute them.

The text of a restatement is a record in the state superseded, related to its memory by `MERGED_INTO`. So whatever holds for
records (erasure, privacy, retention, bundles, syncs, history) holds for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import orjson

from sb.store.database import Database
from sb.store.records.columns import SUPERSEDED
from sb.store.records.edges import MERGED_INTO
from sb.store.records.places import Execute

RESTATED, CONFIRMED, REFUTED = "restated", "confirmed", "refuted"
MOST_TEXTS = 100  # of one memory; the gate merges no further text into it
# A condition over `r`, the table of records: that it is a restatement.
IS_RESTATEMENT = (
    f"r.state = '{SUPERSEDED}'"
    f" AND EXISTS (SELECT 1 FROM edges AS m WHERE m.source = r.id AND m.relation = '{MERGED_INTO}')"
)
_MERGED = f"e.relation = '{MERGED_INTO}' AND s.state = '{SUPERSEDED}'"
_TEXTS = f"SELECT e.source, e.target FROM edges AS e JOIN records AS s ON s.id = e.source WHERE {_MERGED}"
_COLUMNS = ("at", "agent", "source_type", "session", "kind", "weight", "likeness", "confidence")


class Evidence(NamedTuple):
    """One piece of evidence of a record.

    Args:
        at: seconds since the epoch. agent: who gave it. source_type: where that one had it from.
        session: its number, or None. kind: restated, confirmed or refuted.
        weight: what it added to `evidence_n`; 0 for a restatement that was trusted less than the record.
        likeness: of a restatement, from 0 to 1. confidence: the record's before.
    """

    at: float
    agent: str
    source_type: str
    session: int | None
    kind: str
    weight: float
    likeness: float | None = None
    confidence: float | None = None


class EvidenceStore:
    """The evidence in one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, execute: Execute, record: int, evidence: Evidence) -> None:
        """Adds evidence of a record, within the caller's transaction."""
        marks = ", ".join("?" * (len(_COLUMNS) + 1))
        execute(
            f"INSERT INTO record_evidence (record, {', '.join(_COLUMNS)}) VALUES ({marks})",
            (record, *evidence),
        )

    def restatements(self, record: int, most: int) -> int:
        """Counts the restatements of a record that moved its confidence, up to `most`."""
        sql = (
            "SELECT count(*) FROM (SELECT 1 FROM record_evidence WHERE record = ? AND kind = 'restated'"
            " AND weight > 0 LIMIT +?)"
        )
        return int(self._database.query(sql, (record, most))[0][0])

    def outcomes_by(self, record: int, agent: str) -> int:
        """Counts the outcomes of a record that an agent reported."""
        sql = "SELECT count(*) FROM record_evidence WHERE record = ? AND agent = ? AND kind <> 'restated'"
        return int(self._database.query(sql, (record, agent))[0][0])

    def of(self, record: int, limit: int = -1) -> list[Evidence]:
        """Lists the evidence of a record, oldest first.

        Args:
            limit: the most that are returned; -1 for all.
        """
        sql = f"SELECT {', '.join(_COLUMNS)} FROM record_evidence WHERE record = ? ORDER BY id LIMIT +?"
        return [Evidence(*row) for row in self._database.query(sql, (record, limit))]

    def latest(self, record: int, limit: int) -> tuple[list[Evidence], int]:
        """Lists the newest evidence of a record, the newest first, and counts all of it.

        Args:
            limit: the most that are listed.
        """
        sql = f"SELECT {', '.join(_COLUMNS)} FROM record_evidence WHERE record = ? ORDER BY id DESC LIMIT +?"
        listed = [Evidence(*row) for row in self._database.query(sql, (record, limit))]
        counted = self._database.query("SELECT count(*) FROM record_evidence WHERE record = ?", (record,))
        return listed, int(counted[0][0])

    def texts(self, records: Sequence[int], limit: int = -1) -> list[int]:
        """Lists the numbers of the restatements of records, oldest first."""
        sql = f"{_TEXTS} AND e.target IN (SELECT value FROM json_each(?)) ORDER BY e.source LIMIT +?"
        return [source for source, _ in self._database.query(sql, (_listed(records), limit))]

    def memories_of(self, texts: Sequence[int]) -> dict[int, int]:
        """Returns the number of the memory that each of these restatements was merged into last."""
        sql = f"{_TEXTS} AND e.source IN (SELECT value FROM json_each(?)) ORDER BY e.id"
        return dict(self._database.query(sql, (_listed(texts),))) if texts else {}

    def saying(self, place: int, text: str) -> list[int]:
        """Lists the numbers of the memories of a place that have exactly this text as a restatement."""
        sql = (
            f"SELECT DISTINCT e.target FROM records AS s JOIN edges AS e ON e.source = s.id AND {_MERGED}"
            " WHERE s.place = ? AND substr(s.text, 1, 100) = ? AND length(s.text) = ? AND s.text = ?"
            " AND s.kind IN ('fact', 'belief') LIMIT 8"
        )
        return [number for (number,) in self._database.query(sql, (place, text[:100], len(text), text))]

    def memory_of(self, text: int) -> int | None:
        """Returns the number of the memory that a record was merged into last, whatever its state is now."""
        sql = f"SELECT target FROM edges WHERE source = ? AND relation = '{MERGED_INTO}' ORDER BY id DESC LIMIT 1"
        return next((int(target) for (target,) in self._database.query(sql, (text,))), None)

    def weight_of_text(self, text: int, record: int) -> float:
        """Returns what a restatement counted when it was merged."""
        sql = f"SELECT weight FROM edges WHERE source = ? AND relation = '{MERGED_INTO}' AND target = ?"
        return next((float(weight) for (weight,) in self._database.query(sql, (text, record))), 0.0)

    def is_full(self, record: int) -> bool:
        """True if a record has as many restatements as one may have."""
        sql = f"SELECT count(*) FROM (SELECT 1 FROM edges WHERE target = ? AND relation = '{MERGED_INTO}' LIMIT {MOST_TEXTS})"
        return bool(self._database.query(sql, (record,))[0][0] == MOST_TEXTS)

    def take_out(self, execute: Execute, record: int, at: float, agent: str) -> float:
        """Removes the evidence of one restatement; returns what it counted."""
        where = "record = ? AND at = ? AND agent = ? AND kind = 'restated'"
        rows = execute(
            f"SELECT id, weight FROM record_evidence WHERE {where}", (record, at, agent)
        ).fetchall()
        for number, weight in rows[:1]:
            execute("DELETE FROM record_evidence WHERE id = ?", (number,))
            return float(weight)
        return 0.0

    def outcomes(self) -> list[tuple[str, float, bool]]:
        """Lists the outcomes of facts: category, the confidence before, and whether it was confirmed."""
        rows = self._database.query(
            "SELECT r.category, e.confidence, e.kind = 'confirmed' FROM record_evidence AS e"
            " JOIN records AS r ON r.id = e.record"
            " WHERE e.kind <> 'restated' AND r.kind = 'fact' AND e.confidence IS NOT NULL ORDER BY e.id"
        )
        return [(category, confidence, bool(good)) for category, confidence, good in rows]

    def outcomes_of_facts(self) -> list[tuple[str, str, float, str, str, int, bool]]:
        """Lists the outcomes of facts that no user wrote, oldest first.

        Returns:
            id, category, the confidence before, source type, agent and place of each, and whether it was confirmed.
        """
        rows = self._database.query(
            "SELECT r.uid, r.category, e.confidence, r.source_type, r.agent, r.place, e.kind = 'confirmed'"
            " FROM record_evidence AS e JOIN records AS r ON r.id = e.record WHERE e.kind <> 'restated' AND r.kind = 'fact'"
            " AND r.category IS NOT NULL AND r.source_type <> 'user-written' AND e.confidence IS NOT NULL ORDER BY e.id"
        )
        return [(*row[:6], bool(row[6])) for row in rows]


def _listed(numbers: Sequence[int]) -> str:
    return orjson.dumps(list(numbers)).decode()
