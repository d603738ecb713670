"""Admit a new fact, or merge it into the memory that says the same.

The text is embedded and compared before the write transaction; inside it, only what was written since is compared. So two
processes that save the same at once never both admit it, and nobody waits for a scan.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from sb.config.memory_gate import GateSettings
from sb.config.scopes import gate_settings
from sb.memory.gate.confidence import Beta
from sb.memory.gate.likeness import Comparer
from sb.memory.gate.worth import AGAIN, Candidate, GateVerdict, decide, shares, terms_of
from sb.memory.record_writer import RecordWriter
from sb.memory.space import Space
from sb.memory.trust.scores import Standing, trust_in_memory
from sb.store.embedding.static import StaticEmbedder
from sb.store.records.columns import ACTIVE, COMPARED, SUPERSEDED, Row
from sb.store.records.edges import MERGED_INTO, Edge
from sb.store.records.evidence import RESTATED, Evidence
from sb.store.records.history import RESTATE
from sb.store.records.places import Execute, Place

KNOWLEDGE = ("fact", "belief")  # the kinds that a fact may restate; what a stack saves counts too
_PROPOSED = 6  # nearest records whose words are counted
_COMPARED = 4  # of them that are compared word by word, beside those with the same text
_FIRST, _SHARE, _COUNTED = (
    0.5,
    0.5,
    10,
)  # a restatement adds half, each further one half as much; later ones nothing
NO_VECTORS = "no vectors to compare with: "


class Gate:
    """The gate of one agent.

    Args:
        writer: changes the records that something is merged into.
    """

    def __init__(self, space: Space, writer: RecordWriter) -> None:
        self.space = space
        self.writer = writer
        self._comparer: Comparer | None = None
        self._known: dict[tuple[str, str], GateSettings] = {}

    @property
    def comparer(self) -> Comparer:
        if self._comparer is None:
            embedder = self.space.usable_embedder
            self._comparer = Comparer(embedder.embed_words if isinstance(embedder, StaticEmbedder) else None)
        return self._comparer

    def settings(self, place: Place, category: str | None) -> GateSettings:
        key = (place.scope, category or "")
        if key not in self._known:
            self._known[key] = gate_settings(self.space.settings.scopes, *key)
        return self._known[key]

    def look(self, row: Row, record: Any, place: Place) -> IncomingRecord:
        """Compare a new record with what there is, before anything is written."""
        incoming = IncomingRecord(self, row, record, place)
        incoming.look()
        return incoming

    def nearest(self, text: str, terms: frozenset[int], place: Place) -> tuple[list[Row], int]:
        """The records of a place that may say the same, and the number up to which all with a vector were looked at."""
        number, last = self.space.places.find(place), self.space.vectors.last()
        embedder, vector = self.space.usable_embedder, self.space.own_vector(text)
        if number is None or embedder is None or vector is None:
            return [], self.space.records.last()  # there is nothing to compare, nor will there be
        close = self.space.vectors.close_by(embedder.model, vector, number, _PROPOSED)
        proposed, equal = self.space.records.proposed(close, number, text)
        sharing = (item for item in close if item not in equal and shares(terms, proposed[item]))
        again = self.space.evidence.saying(number, text)
        alike = dict.fromkeys([*again, *equal, *islice(sharing, _COMPARED)])
        rows = self.rows(list(alike), text, again) if alike else ()
        return self.comparable(row for row in rows if row["place"] == number), last

    def rows(self, numbers: Sequence[int], text: str, again: Sequence[int]) -> Iterator[Row]:
        """The columns of records that are compared; `again` marks those that have a text as a restatement."""
        for row in self.space.records.rows(numbers, COMPARED):
            yield row | {AGAIN: row["id"] in again} if again else row

    @property
    def cannot_compare(self) -> str:
        """The reason why the records that may say the same cannot be found, or ""."""
        embedder = self.space.usable_embedder
        if embedder is None or not embedder.in_process:
            return NO_VECTORS + str(self.space.embedder if embedder is None else embedder.model)
        return ""

    def written_since(self, last: int, terms: frozenset[int], place: Place) -> list[Row]:
        """The records of a place that are newer than a number, and may say the same."""
        number = self.space.places.find(place)
        if number is None:
            return []
        marks = ", ".join("?" * len(KNOWLEDGE))
        where = f"r.place = ? AND r.kind IN ({marks}) AND r.id > ?"
        rows = self.space.records.select(where, (number, *KNOWLEDGE, last), columns=COMPARED)
        return self.comparable(row for row in rows if shares(terms, row["terms"]))

    def comparable(self, rows: Any) -> list[Row]:
        """Those of these rows that a new record may restate: what its writer may not read it neither changes nor sees."""
        found = [row for row in rows if row["kind"] in KNOWLEDGE and row["state"] == ACTIVE]
        return [row for row in found if self.space.reader.allows(row)]


class IncomingRecord:
    """One new record on its way through the gate."""

    def __init__(self, gate: Gate, row: Row, record: Any, place: Place) -> None:
        self._gate, self._row, self._record, self._place = gate, row, record, place
        self._settings = gate.settings(place, row["category"])
        self._candidate = Candidate(
            row["text"].replace("\0", " "),  # as it will stand in the store
            terms_of(row),
            row["category"],
            row["speaker"],
            row["happened_at"],
            getattr(record, "happened_at", None) is not None,
            trust_in_memory(row["source_type"]),
            row["fields"],
        )
        self._mark = (0, 0)  # of the database before it was looked at
        self._last = 0  # record that was looked at
        self._rows: list[Row] = []
        self._into: Row | None = None
        self.verdict: GateVerdict

    def look(self) -> None:
        """Compare it with what there is."""
        if not self._settings.threshold:
            self.verdict = GateVerdict(True, "the gate is off", trust=self._candidate.trust)
            return
        self._mark = self._gate.space.database.mark()
        if missing := self._gate.cannot_compare:
            self._last = self._gate.space.records.last()
            self.verdict = GateVerdict(True, missing, trust=self._candidate.trust)
            return
        self._rows, self._last = self._gate.nearest(self._candidate.text, self._candidate.terms, self._place)
        self._decide(self._rows)

    def _decide(self, rows: Sequence[Row]) -> None:
        gate = self._gate
        now = gate.space.clock.now()
        known: Mapping[str, Standing] = {}
        if rows:  # who writes is looked up only where it matters
            known = gate.space.trust.standings(self._place.stack)
            trust = _trust(self._row, known)
            if trust != self._candidate.trust:
                self._candidate = replace(self._candidate, trust=trust)
        important = gate.space.reads.importance([row["id"] for row in rows])
        self.verdict, self._into = decide(
            self._candidate, rows, self._settings, gate.comparer, now, important
        )
        # What is trusted less than a record says nothing about it.
        if self._into is not None and self._candidate.trust < _trust(self._into, known):
            self.verdict = self._downgraded()

    def _downgraded(self) -> GateVerdict:
        found = self.verdict.as_json() | {"downgraded": True, "others": self.verdict.others}
        return GateVerdict(**found | {"reason": f"{self.verdict.reason}; trusted less, so without effect"})

    def merges(self) -> bool:
        """True if a record says the same; writes of an open transaction count, too."""
        if not self._settings.threshold:
            return False
        gate = self._gate
        if gate.space.database.changed_since(self._mark):
            known = {row["id"] for row in self._rows}
            since = gate.written_since(self._last, self._candidate.terms, self._place)
            new = [row for row in since if row["id"] not in known]
            if new or self._into is not None:
                number = self._row.get("place") or gate.space.places.find(self._place)
                again = gate.space.evidence.saying(number, self._candidate.text) if number else []
                before = gate.comparable(gate.rows(list(known | {*again}), self._candidate.text, again))
                if new or before != self._rows:
                    self._rows = [*before, *new]
                    self._decide(self._rows)
        while self._into is not None and self._adds_text(self._into):
            full = self._into["id"]
            if not gate.space.evidence.is_full(full):
                break
            self._rows = [row for row in self._rows if row["id"] != full]
            self._decide(self._rows)
        return self._into is not None

    def _adds_text(self, into: Row) -> bool:
        """True if neither a record nor a restatement of it is this text."""
        return not into.get(AGAIN) and self._candidate.text != into["text"]

    def merge(self, execute: Execute, session: int | None) -> Row | None:
        """Merge it within a write transaction, as `merges` said; its row then has that record's id and number.

        Returns:
            The row of the restatement that holds its text; None if the record or a restatement of it is this text.
        """
        into, gate = self._into, self._gate
        assert into is not None  # merges() said so
        weight = self._merge(execute, into, session)
        restatement: Row | None = None
        if self._adds_text(into):
            restatement = {
                **self._row,
                "place": into["place"],
                "session": session,
                "state": SUPERSEDED,
                "key": None,
            }
            gate.writer.keep(execute, [(restatement, self._record)])
            edge = Edge(restatement["id"], MERGED_INTO, into["id"], weight)
            gate.space.edges.add(
                execute, edge, place=into["place"], agent=restatement["agent"], at=restatement["created_at"]
            )
            self.verdict = replace(self.verdict, restatement=restatement["uid"])
        self._row.update(uid=into["uid"], id=into["id"])
        return restatement

    def _merge(self, execute: Execute, into: Row, session: int | None) -> float:
        """Counts it as evidence of a record; returns how much."""
        space, row = self._gate.space, self._row
        weight = 0.0
        if not self.verdict.downgraded:
            former = space.evidence.restatements(into["id"], _COUNTED)
            weight = self._candidate.trust * _FIRST * _SHARE**former if former < _COUNTED else 0.0
            space.reads.count(execute, into["id"], into["place"], space.clock.now())
        space.evidence.add(
            execute,
            into["id"],
            Evidence(
                row["created_at"], row["agent"], row["source_type"], session, RESTATED, weight,
                self.verdict.likeness, into["confidence"],
            ),
        )  # fmt: skip
        if weight and into["confidence"] is not None:
            changes = Beta.of(into).supported(weight).columns()
            reason = f"restated, {self.verdict.likeness:.2f} alike"
            space.records.update(
                execute,
                into["id"],
                changes,
                actor=row["agent"],
                operation=RESTATE,
                reason=reason,
                former=into,
            )  # which is as `merges` has seen it in this transaction
        return weight


def _trust(row: Row, known: Mapping[str, Standing]) -> float:
    """The trust in what a row says, by its source and who wrote it."""
    standing = known.get(row["agent"])
    return trust_in_memory(row["source_type"], standing and standing.score)
