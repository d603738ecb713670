"""Writer: the steps by which memories come in, in one order for Brains, stacks, bundles and syncs.

What came from elsewhere was screened and masked as it was read, and begins with the second list. Which rows a batch updates
and which it adds is the keeper's to say; see `RecordWriter.keep`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sb.memory.beliefs.echoes import settle_echoes
from sb.memory.beliefs.settling import mark_contradicted, settle_claims
from sb.memory.personal_data import Screened, hold_back, note, redacted
from sb.memory.quarantine.holding import note_held
from sb.memory.record_writer import Pair, RecordWriter
from sb.store.records.columns import QUARANTINED, Row
from sb.store.records.places import Execute, Place

if TYPE_CHECKING:
    from sb.memory.beliefs.revision import Revision
    from sb.memory.gate.incoming import Gate, IncomingRecord


@dataclass
class Batch:
    """Records on their way in, written together or not at all.

    Args:
        scope: by whose rule they are screened. gate, place: of the first one, which it may merge into another record.
        pairs: rows, and the records that they are made of. screened: what each holds of personal data.
        by_source: false where an operator vouches for what they say of their source.
        held: why some are quarantined, by public id. merged: true where the first is no memory of its own.
        restatement: the row that then keeps its text, if it adds one.
        revises: true where the first takes another one's place, so that it may say what was corrected before.
    """

    records: Sequence[Any] = ()
    scope: str = ""
    gate: Gate | None = None
    place: Place | None = None
    pairs: list[Pair] = field(default_factory=list)
    screened: list[Screened] = field(default_factory=list)
    by_source: bool = True
    incoming: IncomingRecord | None = None
    held: dict[str, str] = field(default_factory=dict)
    merged: bool = False
    restatement: Row | None = None
    revises: bool = False

    @property
    def rows(self) -> list[Row]:
        return [row for row, _ in self.pairs]


def _believe(keeper: RecordWriter, batch: Batch) -> None:
    for record in batch.records:
        keeper.believe(record)


def _screen(keeper: RecordWriter, batch: Batch) -> None:
    batch.screened = keeper.space.screening.screen(batch.records, batch.scope, keeper.agent)


def _mask(keeper: RecordWriter, batch: Batch) -> None:
    batch.pairs = keeper.pairs(batch.records)


def _compare(keeper: RecordWriter, batch: Batch) -> None:
    if batch.gate is not None and batch.place is not None:
        batch.incoming = batch.gate.look(*batch.pairs[0], batch.place)


def _hold_back(keeper: RecordWriter, batch: Batch) -> None:
    batch.held = hold_back(batch.rows, batch.screened)
    keeper.masked |= redacted(batch.screened)


def _quarantine(keeper: RecordWriter, batch: Batch) -> None:
    batch.held = keeper.holding.hold(batch.rows, by_source=batch.by_source) | batch.held


def _merge(keeper: RecordWriter, execute: Execute, batch: Batch) -> None:
    if batch.incoming is None or batch.rows[0].get("state") == QUARANTINED:
        return  # such a one says nothing about others
    batch.merged = batch.incoming.merges()
    if batch.merged:
        batch.restatement = batch.incoming.merge(execute, batch.rows[0]["session"])


def _keep(keeper: RecordWriter, execute: Execute, batch: Batch) -> None:
    keeper.held = {} if batch.merged and len(batch.pairs) == 1 else batch.held
    keeper.keep(execute, batch.pairs[batch.merged :])
    note_held(keeper.space, execute, batch.rows[batch.merged :], batch.held, keeper.agent)


def _know_echoes(keeper: RecordWriter, execute: Execute, batch: Batch) -> None:
    settle_echoes(keeper, execute, batch.rows[batch.merged or batch.revises :])


def _settle_claims(keeper: RecordWriter, execute: Execute, batch: Batch) -> None:
    if not batch.revises:  # else once the other one has fallen
        settle_claims(keeper, execute, batch.rows[batch.merged :], collapse=bool(batch.records))
        if batch.incoming is not None and not batch.merged:
            mark_contradicted(keeper, execute, batch.rows[0], batch.incoming.verdict.others)


def _settle(keeper: RecordWriter, execute: Execute, batch: Batch) -> None:
    space = keeper.space
    rows: list[Row | None] = [*batch.rows]
    if batch.merged:
        rows[0] = batch.restatement
    for row, screened in zip(rows, batch.screened, strict=True):
        if row is not None and screened.labels:
            scope = space.places.numbered(row["place"]).scope
            agent = keeper.agent if batch.records else row["agent"]
            note(execute, row["id"], screened, agent, scope, space.clock.now())


PREPARING = (_believe, _screen, _mask, _compare)  # before a transaction
HOLDING = (_hold_back, _quarantine)  # within it, once rows have their place and session
KEEPING = (_merge, _keep, _know_echoes, _settle_claims, _settle)


class Writer:
    """The way in for one keeper of records."""

    def __init__(self, keeper: RecordWriter) -> None:
        self._keeper = keeper

    def prepare(
        self, records: Sequence[Any], scope: str, *, gate: Gate | None = None, place: Place | None = None
    ) -> Batch:
        """Records as they may be written: believed, screened, masked and compared; nothing is written.

        Raises:
            PersonalDataRefused: the scope keeps none. ValueError: a field has a value that it cannot have.
        """
        batch = Batch(records, scope, gate, place)
        for step in PREPARING:
            step(self._keeper, batch)
        return batch

    def hold(self, batch: Batch) -> None:
        """Quarantine what is to wait, within a transaction.

        Raises:
            AttackRefused: one reads like an attack, which is refused.
        """
        for step in HOLDING:
            step(self._keeper, batch)

    def keep(self, execute: Execute, batch: Batch) -> None:
        """Write a batch that `hold` has seen; rows get their `id`."""
        for step in KEEPING:
            step(self._keeper, execute, batch)

    def revise(self, execute: Execute, batch: Batch, revision: Revision, session: int | None = None) -> None:
        """Write a batch that `hold` has seen, the first of which takes another record's place.

        Raises:
            NotFoundError: that is not active any more. ValueError: the new one cannot take its place.
        """
        row, batch.revises = batch.rows[0], True
        if waits_for := revision.admit(row):
            batch.held = {**batch.held, row["uid"]: waits_for}
        self.keep(execute, batch)
        revision.apply(execute, row, session, batch.held.get(row["uid"], ""))
        settle_claims(self._keeper, execute, batch.rows, collapse=True)


class Inserter(RecordWriter):
    """Inserts rows of another database as they are; none of them is here."""

    def keep(self, execute: Execute, pairs: Sequence[Pair]) -> None:
        rows = [row for row, _ in pairs]
        for row, number in zip(rows, self.space.records.insert(execute, rows), strict=True):
            row["id"] = number
