"""Settle what new memories claim: an update supersedes, what competes is marked and waits for a decision.

Nothing is superseded without a key and an update cue, or a key that somebody gave. Everything happens within the transaction
that writes the memory, so that two processes cannot both find nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import orjson

from sb.kernel.contradiction_ledger import Weight, contradiction_id, supersedes
from sb.memory.beliefs.claims import ANY, BETWEEN, Claim, claims_of, given_claim
from sb.memory.beliefs.revision import Revision
from sb.memory.gate.worth import Other
from sb.memory.record_writer import RecordWriter
from sb.store.records.claims import MARKED, OPEN, SUPERSEDED_BY, ClaimStore, StoredClaim
from sb.store.records.columns import ACTIVE, Row
from sb.store.records.places import Execute

CLAIMING = ("fact", "belief")
MOST_OPEN = 20  # conflicts that one agent may have open; what else it contradicts is marked
_ALIKE = 0.7  # likeness of texts that deny each other: fitted on captions, see docs/reference/memory-corrections.md
AUTOMATIC = "claim: "  # a collapse's reason begins with it


def settle_claims(keeper: RecordWriter, execute: Execute, rows: Sequence[Row], *, collapse: bool) -> None:
    """Save the claims of new records, and settle them against those that stand.

    Args:
        collapse: false for what comes from elsewhere, which opens conflicts and supersedes nothing.
    """
    for row in rows:
        if row["kind"] in CLAIMING and row.get("state", ACTIVE) == ACTIVE:
            _Incoming(keeper, execute, row).settle(collapse)


def mark_contradicted(keeper: RecordWriter, execute: Execute, row: Row, others: Sequence[Other]) -> None:
    """Mark a new record that denies in much the same words what others say; nothing waits for a decision.

    Args:
        others: what the gate found alike, of the same place and readable to whoever writes.
    """
    denied = [other.id for other in others if other.changed == "negation" and other.likeness >= _ALIKE]
    known = keeper.space.records.known(denied)
    for other in denied:
        if known[other]["state"] == ACTIVE and not keeper.space.claims.contested(row["id"]):
            relate_contradiction(keeper, execute, known[other], row, MARKED)


def relate_contradiction(
    keeper: RecordWriter, execute: Execute, earlier: Row, later: Row, status: str
) -> str:
    """Let two records contradict each other without a key that both have; returns the id of the conflict."""
    incoming = _Incoming(keeper, execute, later)
    return incoming.pair(earlier["id"], f"{earlier['uid']} {later['uid']}", status)


def read_claims(row: Row) -> list[Claim]:
    """The claims of a row: the one that was given alone, or those of its text."""
    if '"claim"' in row["fields"] and (given := orjson.loads(row["fields"]).get("claim")):
        with suppress(ValueError):  # a bundle may say anything
            return [given_claim(str(given), row["text"])]
    return claims_of(row["text"], row["speaker"] or "")


class _Incoming:
    """One new record, and what it claims."""

    def __init__(self, keeper: RecordWriter, execute: Execute, row: Row) -> None:
        self._keeper, self._space, self._execute, self._row = keeper, keeper.space, execute, row
        self._store: ClaimStore = keeper.space.claims

    def settle(self, collapse: bool) -> None:
        row, store = self._row, self._store
        store.drop(self._execute, row["id"])
        claims = read_claims(row)
        rivals = [self._rivals(claim) for claim in claims]
        guessed = any(found for claim, found in zip(claims, rivals, strict=True) if claim.guess)
        for claim, found in zip(claims, rivals, strict=True):
            if claim.guess and guessed and not found:
                continue  # it was about another attribute
            if claim.attribute == ANY:
                for rival in found:
                    self._against(claim, self._saved(claim, rival.key), [rival], collapse)
                continue
            number = self._saved(claim, claim.key)
            if found:
                self._against(claim, number, found, collapse)
            guessed = guessed or claim.guess  # the first guess is kept if none is known

    def _saved(self, claim: Claim, key: str) -> int:
        document = {"holds": claim.holds, "denied": claim.denied}
        return self._store.add(self._execute, self._row["id"], self._row["place"], key, claim.value, document)

    def pair(self, earlier: int, key: str, status: str) -> str:
        """Let an earlier record and this one contradict each other; returns the id of the conflict."""
        sides = [
            self._store.add(self._execute, record, self._row["place"], key, "", {})
            for record in (earlier, self._row["id"])
        ]
        return self._note(status, key, *sides)

    def _rivals(self, claim: Claim) -> list[StoredClaim]:
        key, place, agent = claim.key, self._row["place"], self._row["agent"]
        if claim.attribute != ANY:
            found = self._store.of_key(key, place, agent)
        else:
            entity = key.removesuffix(ANY)
            found = self._store.of_keys(entity, entity + "\U0010ffff", place, agent)
            found = [item for item in found if claim.replaces(restored(item))]
        return [item for item in found if item.record != self._row["id"]]

    def _against(self, claim: Claim, number: int, rivals: Sequence[StoredClaim], collapse: bool) -> None:
        """Supersede what this claim replaces, and open a conflict with what it competes with."""
        competing: list[StoredClaim] = []
        records = {row["id"]: row for row in self._space.records.rows([item.record or 0 for item in rivals])}
        trust = self._space.trust.in_rows([*records.values(), self._row])
        for rival in rivals:
            other, row = restored(rival), records[rival.record or 0]
            if row["state"] != ACTIVE or not claim.excludes(other):
                continue
            replaces = claim.replaces(other)
            weights = _weights((self._row, row), trust)
            if replaces and collapse and supersedes(*weights) and (uid := self._superseded(row, claim)):
                self._note(SUPERSEDED_BY, rival.key, rival.id, number, winner=number, collapses=f'["{uid}"]')
            elif replaces or claim.competes(other):
                competing.append(rival)
        if competing:
            self._note(OPEN, competing[0].key, competing[0].id, number)

    def _superseded(self, loser: Row, claim: Claim) -> str:
        """Let the new record take the place of one; returns the id of the event.

        Returns:
            "" where a person has to decide: what other memories rest on alone falls by nobody's update.
        """
        reason = AUTOMATIC + claim.key
        revision = Revision(self._keeper, loser, reason, brought=False)
        plan = revision.look(self._row)
        if plan.held or plan.derived:
            return ""
        revision.apply(self._execute, self._row, self._row["session"])
        return revision.uid

    def _note(self, status: str, key: str, earlier: int, later: int, **more: Any) -> str:
        now = self._space.clock.now()
        if status == OPEN and self._store.opened_by(self._row["agent"]) >= MOST_OPEN:
            status = MARKED
        settled = {"settled_at": now, "settled_by": self._row["agent"]} if status == SUPERSEDED_BY else {}
        uid = contradiction_id(self._space.clock, self._space.ids)
        self._store.open(
            self._execute,
            {
                "uid": uid, "at": now, "key": key, "place": self._row["place"], "earlier": earlier, "later": later,
                "status": status, "opened_by": self._row["agent"], **settled, **more,
            },
        )  # fmt: skip
        return uid


def restored(stored: StoredClaim) -> Claim:
    """The claim as it was saved."""
    entity, _, attribute = stored.key.partition(BETWEEN)
    return Claim(entity, attribute, "", stored.value, **orjson.loads(stored.document))


def _weights(rows: Sequence[Row], trust: dict[int, float]) -> Iterator[Weight]:
    """The weights of rows; without a date that somebody gave they count in the order in which they were written."""
    dated = any(row["happened_at"] != row["created_at"] for row in rows)
    for row in rows:
        yield Weight(row["agent"], trust[row["id"]], row["happened_at"] if dated else 0.0, row["id"])
