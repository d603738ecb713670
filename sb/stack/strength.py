"""Strength of memories, from 1 to 0 in four tiers: access, forget, recover, protect, verify.

Source: the stack protocol, "Strength-tier filtering"; its reference implementation for the amounts. Strength decides the
state of a record, so that no search has to look at it: what is below `WEAK` is found by none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from sb.memory.decay import state_of
from sb.memory.record_writer import RecordWriter
from sb.protocols.types.blocks import Meta
from sb.protocols.types.vocabulary import WEAK
from sb.stack.checks import checked_number
from sb.stack.container import Container
from sb.stack.views import kinds_viewed_as
from sb.store.records.columns import Row
from sb.store.records.places import Execute
from sb.store.records.rows import to_moment, to_row

Changes = Mapping[str, Any]
ACCESSED = "access"  # the operation in the log of reads
_GAIN, _GAIN_HALVES = 0.02, 10  # of a first access, and after how many it has halved
_VERIFIED, _VERIFIED_SOURCE = 0.1, 0.02  # what verifying adds to a memory, and to what it was made from


class Strengths:
    """Changes how present the memories of a stack are."""

    def __init__(self, container: Container) -> None:
        self._container = container
        self._space = container.space

    def access(self, memory_type: str, memory_id: str) -> bool:
        """Record an access, which strengthens a memory a little; False if there is none."""
        with self._space.database.write() as execute:
            row = self._row(memory_type, memory_id)
            if row is None:
                return False
            times, _ = self._space.reads.stats([row["id"]]).get(row["id"], (0, 0.0))
            self._container.log_reads_in(execute, ACCESSED, "", [(row["id"], 1.0)], 0)
            more = min(1.0, row["strength"] + _GAIN / (1 + times / _GAIN_HALVES))
            if row["strength"] > 0:  # what was forgotten is recovered, not strengthened
                self.set(execute, row, more)
        return True

    def forget(self, memory_type: str, memory_id: str, reason: str) -> bool:
        """Take a memory out of every search; False if there is none, it is protected, or forgotten already."""

        def forgotten(row: Row) -> Changes | None:
            return None if row["protected"] or row["strength"] == 0 else _as_strong_as(row, 0.0)

        return self._change(memory_type, memory_id, forgotten, "forget", reason)

    def recover(self, memory_type: str, memory_id: str) -> bool:
        """Bring a forgotten memory back, weak as it is; False if there is none, or it is not forgotten."""

        def recovered(row: Row) -> Changes | None:
            return None if row["strength"] > 0 else _as_strong_as(row, WEAK)

        return self._change(memory_type, memory_id, recovered, "recover")

    def protect(self, memory_type: str, memory_id: str, protected: bool = True) -> bool:
        """Protect a memory from decay and forgetting, or no longer; False if there is none."""
        return self._change(memory_type, memory_id, lambda _: {"protected": int(protected)}, "protect")

    def weaken(self, memory_type: str, memory_id: str, amount: float, *, reason: str = "") -> bool:
        """Take some of its strength from a memory; False if there is none, or it is protected.

        Raises:
            ValueError: the amount is no number.
        """
        checked_number("amount", amount)

        def weakened(row: Row) -> Changes | None:
            less = max(0.0, row["strength"] - abs(amount))
            return None if row["protected"] else _as_strong_as(row, less)

        return self._change(memory_type, memory_id, weakened, "weaken", reason)

    def verify(self, memory_type: str, memory_id: str, *, evidence: str = "") -> bool:
        """Mark a memory as verified, which strengthens it and its sources; False if there is none."""
        with self._space.database.write() as execute:
            row = self._row(memory_type, memory_id)
            if row is None:
                return False
            more = min(1.0, row["strength"] + _VERIFIED) if row["strength"] > 0 else 0.0
            changes = {**_as_strong_as(row, more), **self._verified(row)}
            keeper = self._keeper()
            keeper.check_right(row["place"])
            keeper.change(execute, row, changes, "verify", evidence)
            places = self._container.places()
            for edge in self._space.edges.lineage(row["id"]):
                source = self._space.records.row(edge.target) if edge.source == row["id"] else None
                if source is not None and source["strength"] > 0 and source["place"] in places:
                    self.set(execute, source, min(1.0, source["strength"] + _VERIFIED_SOURCE))
        return True

    def set(self, execute: Execute, row: Row, strength: float) -> None:
        """Sets the strength of a record, without an entry in its history."""
        state = state_of(strength, row["state"])
        self._space.records.strengthen(execute, row["id"], strength, state)
        if state != row["state"]:
            self._keeper().reindex(execute, row["id"])

    def _verified(self, row: Row) -> Changes:
        """Returns the columns of a verified record; a Brain's own records have none for it."""
        record = self._space.record(row)
        if not isinstance(record, Meta):
            return {}
        now = to_moment(self._space.clock.now())
        record = replace(record, verification_count=record.verification_count + 1, last_verified=now)
        return {"fields": to_row(record, row)["fields"]}

    def _keeper(self) -> RecordWriter:
        keeper = RecordWriter(self._space, self._container.reader)
        keeper.is_operator = self._container.is_operators
        return keeper

    def _row(self, kind: str, uid: str) -> Row | None:
        return self._container.find(uid, kinds_viewed_as(kind))

    def _change(
        self,
        kind: str,
        uid: str,
        changes: Callable[[Row], Changes | None],
        operation: str,
        reason: str = "",
    ) -> bool:
        """Change a memory as it is by then, whoever else changes it; False if there is none, or it is to stay."""
        with self._space.database.write() as execute:
            row = self._row(kind, uid)
            wanted = None if row is None else changes(row)
            if row is not None and wanted is not None:
                keeper = self._keeper()
                keeper.check_right(row["place"])
                keeper.check_trusted(row)
                keeper.change(execute, row, wanted, operation, reason)
        if row is None:
            self._container.note_denied()
        return wanted is not None


def _as_strong_as(row: Row, strength: float) -> Changes:
    """Returns the columns of a memory of that strength; a superseded one stays superseded."""
    return {"strength": strength, "state": state_of(strength, row["state"])}
