"""Splitting: make a restatement a memory of its own again, and merge it back."""

from __future__ import annotations

from sb.memory.gate.confidence import Beta
from sb.memory.session_writer import SessionWriter
from sb.store.records.columns import ACTIVE, SUPERSEDED, Row
from sb.store.records.evidence import RESTATED, Evidence

SPLIT, MERGE = "split", "merge"


def split(writer: SessionWriter, row: Row, into: Row, reason: str, *, revert: bool) -> None:
    """Split a restatement from its memory, or merge it again; what it counted goes with it.

    Args:
        row: of the restatement. into: of its memory. revert: merge it again.
    """
    space, keeper = writer.space, writer.record_writer
    keeper.check_right(row["place"])
    writer.masked.clear()
    reason = space.screening.text(reason, space.places.numbered(row["place"]).scope)
    before, after = (ACTIVE, SUPERSEDED) if revert else (SUPERSEDED, ACTIVE)
    with space.database.write() as execute:
        space.check_open(execute, writer.stack)
        memory, text = space.records.row(into["id"]), space.records.row(row["id"])
        if memory is None or text is None or text["state"] != before:
            return  # another process was first
        if revert:
            weight = space.evidence.weight_of_text(text["id"], memory["id"])
            given = Evidence(
                text["created_at"], text["agent"], text["source_type"], text["session"], RESTATED, weight,
                None, memory["confidence"],
            )  # fmt: skip
            space.evidence.add(execute, memory["id"], given)
        else:
            weight = -space.evidence.take_out(execute, memory["id"], text["created_at"], text["agent"])
        if weight and memory["confidence"] is not None:
            belief = Beta.of(memory)
            columns = belief._replace(alpha=max(0.0, belief.alpha + weight)).columns()
            keeper.change(execute, memory, columns, MERGE if revert else SPLIT, f"{text['uid']}: {reason}")
        keeper.change(execute, text, {"state": after}, MERGE if revert else SPLIT, reason)
