"""Contradiction ledger: claims by key, recency supersession, and records of conflicts.

Source: survival layer, "Source map": conflict records and recency supersession. The newer claim of one source takes the older
one's place; so does one that is trusted more. Sources trusted alike, or one moment, are an open conflict, and a source that is
trusted less never displaces. Memory settles what agents remember by the same rule, in the same list.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import orjson

from sb.base.sources import SYSTEM_CLOCK, SYSTEM_IDS, Clock, Ids
from sb.base.values.frozen import frozen
from sb.errors import CheckFailed, NotFoundError
from sb.store.database import Database
from sb.store.records.claims import (
    CONTRADICTION_PREFIX,
    OPEN,
    RESOLVED,
    REVERTED,
    SUPERSEDED_BY,
    ClaimStore,
    Contradiction,
    StoredClaim,
)
from sb.store.records.places import GLOBAL, Execute

NEUTRAL_TRUST = 0.7  # of a source of which nothing is known


class Weight(NamedTuple):
    """The standing of a claim: who said it, how far that is trusted, when, and in which order of arrival."""

    source: str
    trust: float
    at: float
    order: int = 0


def supersedes(new: Weight, old: Weight) -> bool:
    """Recency supersession: true if a claim may take another one's place without anybody's decision."""
    if new.trust < old.trust or (new.at, new.order) <= (old.at, old.order):
        return False
    return new.source == old.source or new.trust > old.trust


@frozen
class LedgerClaim:
    """A claim: a value of an attribute of something.

    Args:
        source: who or what says so. trust: in it, from 0 to 1. at: seconds since the epoch, 0 for now.
        evidence: references to what it rests on.
    """

    subject: str
    attribute: str
    value: str
    source: str
    trust: float = NEUTRAL_TRUST
    at: float = 0.0
    scope: str = GLOBAL
    evidence: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The key: claims with equal ones exclude each other."""
        return f"{self.scope}: {self.subject.strip().casefold()} · {self.attribute.strip().casefold()}"

    @property
    def weight(self) -> Weight:
        return Weight(self.source, self.trust, self.at)


@frozen
class ConflictRecord:
    """A contradiction on record: both claims, and how it was settled.

    Args:
        status: open, superseded, resolved or reverted. winner: "earlier", "later" or "".
    """

    id: str
    key: str
    status: str
    earlier: LedgerClaim
    later: LedgerClaim
    winner: str
    reason: str
    at: float
    settled_by: str | None


def contradiction_id(clock: Clock, ids: Ids) -> str:
    """A public id that sorts by time."""
    return f"{CONTRADICTION_PREFIX}{int(clock.now() * 1000):012x}{ids.token(4)}"


class ContradictionLedger:
    """The claims of one database that are nobody's memory, and their conflicts."""

    def __init__(self, database: Database, *, clock: Clock = SYSTEM_CLOCK, ids: Ids = SYSTEM_IDS) -> None:
        self._database, self._clock, self._ids = database, clock, ids
        self._claims = ClaimStore(database)

    def record(self, claim: LedgerClaim) -> ConflictRecord | None:
        """Add a claim; returns the conflict with one that stands, if there is one.

        Raises:
            ValueError: subject, attribute, value or source says nothing, or trust is not from 0 to 1.
        """
        if not all(each.strip() for each in (claim.subject, claim.attribute, claim.value, claim.source)):
            raise ValueError("a claim needs a subject, an attribute, a value and a source")
        if not 0.0 <= claim.trust <= 1.0:
            raise ValueError(f"trust is {claim.trust}, must be from 0 to 1")
        now = self._clock.now()
        claim = dataclasses.replace(claim, at=claim.at or now)
        with self._database.write() as execute:
            standing = self._claims.of_key(claim.key, None)
            number = self._claims.add(execute, None, None, claim.key, claim.value, dataclasses.asdict(claim))
            rivals = [
                item for item in standing if item.value.strip().casefold() != claim.value.strip().casefold()
            ]
            uids = [self._weigh(execute, rival, number, claim, now) for rival in rivals]
        found = [item for item in self.conflicts() if item.id in uids or (rivals and item.key == claim.key)]
        return found[0] if found else None

    def _weigh(
        self, execute: Execute, rival: StoredClaim, number: int, claim: LedgerClaim, now: float
    ) -> str:
        older, uid = _claim(rival).weight, contradiction_id(self._clock, self._ids)
        winner = (
            number
            if supersedes(claim.weight, older)
            else rival.id
            if supersedes(older, claim.weight)
            else None
        )
        values: dict[str, object] = {
            "uid": uid, "at": now, "key": claim.key, "earlier": rival.id, "later": number, "opened_by": claim.source,
            "status": OPEN,
        }  # fmt: skip
        if winner is not None:
            self._claims.set_standing(execute, rival.id + number - winner, False)
            values |= {
                "status": SUPERSEDED_BY,
                "winner": winner,
                "reason": "the newer claim",
                "settled_at": now,
            }
            values |= {"settled_by": claim.source}
        return uid if self._claims.open(execute, values) else ""

    def current(self, subject: str, attribute: str, scope: str = GLOBAL) -> list[LedgerClaim]:
        """The claims that stand, the newest first; several while a conflict is open."""
        key = LedgerClaim(subject, attribute, "", "", scope=scope).key
        return [_claim(item) for item in self._claims.of_key(key, None)]

    def conflicts(self, *statuses: str) -> list[ConflictRecord]:
        """The conflicts of these statuses, by default all, the newest first."""
        found = [item for item in self._claims.listed(statuses) if item.place is None]
        return [self._record(item) for item in found]

    def get(self, conflict: str) -> ConflictRecord:
        """The conflict of an id; raises NotFoundError if there is none."""
        return self._record(self._found(conflict))

    def resolve(self, conflict: str, winner: str, reason: str, by: str) -> ConflictRecord:
        """Let the `earlier` or the `later` claim stand alone, or keep `both`.

        Raises:
            NotFoundError: there is no such conflict. CheckFailed: it is not open. ValueError: no such side, or no reason.
        """
        found = self._found(conflict)
        if winner not in ("earlier", "later", "both"):
            raise ValueError(f"winner is {winner!r}, must be earlier, later or both")
        if not reason.strip():
            raise ValueError("a resolution needs a reason")
        if found.status != OPEN:
            raise CheckFailed(f"{found.uid} is {found.status} already")
        chosen = {"earlier": found.earlier, "later": found.later}.get(winner)
        with self._database.write() as execute:
            standing = self._claims.of_key(found.key, None)
            value = next((item.value for item in standing if item.id == chosen), None)
            for item in standing if value is not None else ():
                if item.value != value:
                    self._claims.set_standing(execute, item.id, False)
            self._claims.settle(
                execute, found.id, RESOLVED, self._clock.now(), by, winner=chosen, reason=reason.strip()
            )
        return self.get(conflict)

    def revert(self, conflict: str, reason: str, by: str) -> ConflictRecord:
        """Let both claims of a settled conflict stand again; it is open then, unless another one of its key is.

        Raises:
            NotFoundError: there is no such conflict. CheckFailed: it is not settled.
        """
        found = self._found(conflict)
        if found.status not in (RESOLVED, SUPERSEDED_BY):
            raise CheckFailed(f"{found.uid} is {found.status}, so that there is nothing to revert")
        with self._database.write() as execute:
            for number in (found.earlier, found.later):
                self._claims.set_standing(execute, number, True)
            self._claims.settle(
                execute, found.id, REVERTED, self._clock.now(), by, winner=None, reason=reason
            )
            self._claims.settle(execute, found.id, OPEN, None, None)
        return self.get(conflict)

    def _found(self, conflict: str) -> Contradiction:
        found = self._claims.find(conflict)
        if found is None or found.place is not None:
            raise NotFoundError(f"no conflict {conflict!r}", "sb memory conflicts list")
        return found

    def _record(self, item: Contradiction) -> ConflictRecord:
        both = self._claims.claims([item.earlier, item.later])
        winner = {item.earlier: "earlier", item.later: "later"}.get(item.winner or 0, "")
        return ConflictRecord(
            item.uid, item.key, item.status, _claim(both[item.earlier]), _claim(both[item.later]), winner, item.reason,
            item.at, item.settled_by,
        )  # fmt: skip


def _claim(stored: StoredClaim) -> LedgerClaim:
    document = orjson.loads(stored.document)
    evidence: Sequence[str] = document.pop("evidence")
    return LedgerClaim(**document, evidence=tuple(evidence))
