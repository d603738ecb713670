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
    reasons += [(row, f"derived from {uid}") for row, uid in reached(writer.space, rows)]
    for row, why in reasons:
        writer.change(execute, row, {"state": QUARANTINED, "key": None}, HOLD, why)
    return [row["uid"] for row, _ in reasons]
