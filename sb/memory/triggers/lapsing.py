"""Retire triggers whose time is over; housekeeping does."""

from __future__ import annotations

from sb.base.sources import iso
from sb.memory.space import Space

_LAPSED = "SELECT record, expires FROM triggers WHERE expires <= ?"


def retire_lapsed(space: Space) -> int:
    """Retire the triggers that expired before they fired; returns how many. Costs one look-up where there are none."""
    now = space.clock.now()
    if not space.database.query(f"{_LAPSED} LIMIT 1", (now,)):
        return 0
    with space.database.write() as execute:
        lapsed = execute(_LAPSED, (now,)).fetchall()
        for record, at in lapsed:
            space.records.update(
                execute, record, {"category": "retired"}, actor="housekeeping", operation="expire",
                reason=f"it expired on {iso(at)[:16].replace('T', ' ')} and had not fired",
            )  # fmt: skip
    return len(lapsed)
