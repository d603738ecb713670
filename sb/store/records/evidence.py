"""The evidence of records: restatements that were merged into them, and outcomes that confirm or refute them."""

from __future__ import annotations

from typing import NamedTuple

from sb.store.database import Database
from sb.store.records.places import Execute

RESTATED, CONFIRMED, REFUTED = "restated", "confirmed", "refuted"
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
