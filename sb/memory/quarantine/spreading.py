"""Quarantine records that exist, with all that was derived from them."""

from __future__ import annotations

from collections.abc import Sequence

from sb.memory.quarantine.holding import HOLD, reached
from sb.memory.record_writer import RecordWriter
from sb.store.records.columns import QUARANTINED, Row
from sb.store.records.places import Execute


def quarantine(writer: RecordWriter, execute: Execute, rows: Sequence[Row], reason: str) -> list[str]:
    """Quarantine these records and what was derived from them, within a transaction; returns the ids of all.

    Args:
        reason: of the first ones; the others are `derived from` theirs.
    """
    reasons = [(row, reason) for row in rows if row["state"] != QUARANTINED]
    evidence, records = writer.space.evidence, writer.space.records
    texts = records.rows(evidence.texts([row["id"] for row in rows]))
    named = {row["id"] for row in rows}
    reasons += [(row, "restates what is quarantined") for row in texts if row["id"] not in named]
    known = {row["id"] for row, _ in reasons}
    made = reached(writer.space, rows)
    reasons += [(row, f"derived from {uid}") for row, uid in made if row["id"] not in known]
    for row, why in reasons:
        writer.change(execute, row, {"state": QUARANTINED, "key": None}, HOLD, why)
    return [row["uid"] for row, _ in reasons]
