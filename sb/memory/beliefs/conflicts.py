"""Conflicts as people and agents see them: memories that exclude each other, and the kernel ledger's claims.

Source: the memory whitepaper, "trust model between cooperating agents": an operator or an arbiter who is trusted more ranks
the competing claims, and the loser falls by a revision that can be reverted.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import orjson

from sb.base.values.frozen import frozen
from sb.errors import CheckFailed, DeniedError, NotFoundError
from sb.kernel.contradiction_ledger import ContradictionLedger
from sb.memory.beliefs.collapses import revert
from sb.memory.beliefs.revision import Revision
from sb.memory.beliefs.settling import restored
from sb.memory.masking import masked_text
from sb.memory.record_writer import RecordWriter
from sb.memory.space import Space
from sb.memory.views import Hit, View
from sb.store.records.claims import (
    DISMISSED,
    MARKED,
    OPEN,
    RESOLVED,
    REVERTED,
    SUPERSEDED_BY,
    Contradiction,
    StoredClaim,
)
from sb.store.records.collapses import STANDING
from sb.store.records.columns import ACTIVE, ERASED, Row

BELIEF, CLAIM, SYNC = "belief", "claim", "sync"
BOTH = "both"


@frozen
class Side(View):
    """One side of a conflict.

    Args:
        id: of the memory; of the ledger "earlier" or "later", of a sync "local" or "remote". state: of the memory.
        source: the source type, or the other database. evidence: observations. sources: what it was made from.
    """

    id: str
    content: str
    agent: str
    source: str
    at: float
    trust: float | None = None
    confidence: float | None = None
    evidence: float | None = None
    sources: tuple[str, ...] = ()
    state: str = ACTIVE


@frozen
class Conflict(View):
    """A conflict, and how it was settled.

    Args:
        kind: belief, claim (of the kernel's ledger) or sync. about: the key, or what differs.
        status: open, marked, superseded, resolved, reverted or dismissed. sides: the more credible first.
        winner: the id of a side, or "".
    """

    id: str
    kind: str
    status: str
    about: str
    at: float
    sides: tuple[Side, ...]
    opened_by: str
    winner: str = ""
    reason: str = ""
    settled_by: str | None = None


def conflicts(
    space: Space, places: Sequence[int], statuses: Sequence[str], *, ledger: bool
) -> list[Conflict]:
    """The conflicts in view, the newest first.

    Args:
        ledger: also those of the kernel's ledger.
    """
    found = [item for item in space.claims.listed(statuses, places) if ledger or item.place is not None]
    return [_view(space, item) for item in found]


def find_conflict(space: Space, uid: str, places: Collection[int], *, ledger: bool) -> Conflict:
    """The conflict of an id, or of how it begins; raises NotFoundError if none is in view."""
    return _view(space, _found(space, uid, places, ledger=ledger))


def _found(space: Space, uid: str, places: Collection[int], *, ledger: bool) -> Contradiction:
    found = space.claims.find(uid)
    if found is None or not (ledger if found.place is None else found.place in places):
        raise NotFoundError(f"no conflict {uid!r}, or not visible to you", "sb memory conflicts list")
    return found


def _claims(space: Space, item: Contradiction) -> list[StoredClaim]:
    """The claims of all sides: while it is open those that stand, each memory once."""
    claims = [*space.claims.claims([item.earlier, item.later]).values()]
    if item.status == OPEN and item.place is not None:
        claims += space.claims.of_key(item.key, item.place)
    return [*{claim.record: claim for claim in claims}.values()] if item.place is not None else claims


def _view(space: Space, item: Contradiction) -> Conflict:
    if item.place is None:
        record = ContradictionLedger(space.database).get(item.uid)
        sides = [
            Side(name, claim.value, claim.source, "", claim.at, claim.trust, sources=claim.evidence)
            for name, claim in (("earlier", record.earlier), ("later", record.later))
        ]
        winner = record.winner
    else:
        rows = {
            row["id"]: row
            for row in space.records.rows([claim.record or 0 for claim in _claims(space, item)])
        }
        trust = space.trust.in_rows(list(rows.values()))
        sides = [_side(space, row, trust[row["id"]]) for row in rows.values()]
        won = space.claims.claims([item.winner]).get(item.winner) if item.winner else None
        winner = rows[won.record]["uid"] if won and won.record in rows else ""
    sides.sort(
        key=lambda side: (side.trust or 0.0, side.confidence or 0.0, side.evidence or 0.0, side.at),
        reverse=True,
    )
    return Conflict(
        item.uid, CLAIM if item.place is None else BELIEF, item.status, item.key.strip(" ·"), item.at, tuple(sides),
        item.opened_by, winner, space.reader.mask(item.reason), item.settled_by,
    )  # fmt: skip


def _side(space: Space, row: Row, trust: float) -> Side:
    sources = (edge.target for edge in space.edges.lineage(row["id"]) if edge.source == row["id"])
    made_from = tuple(source["uid"] for source in space.records.rows(list(sources), ("uid",)))
    content = "erased" if row["state"] == ERASED else space.memory(row).content
    return Side(
        row["uid"], content, row["agent"], row["source_type"], row["happened_at"], round(trust, 4), row["confidence"],
        row["evidence_n"], made_from, row["state"],
    )  # fmt: skip


def newer_first(hits: Sequence[Hit]) -> list[Hit]:
    """The hits of a search, those that contradict each other in the order of their age, the newest first."""
    ordered = list(hits)
    for conflict in {hit.conflict for hit in hits if hit.conflict}:
        at = [number for number, hit in enumerate(hits) if hit.conflict == conflict]
        newest = sorted((hits[number] for number in at), key=lambda hit: (-hit.happened_at, -hit.created_at))
        for number, hit in zip(at, newest, strict=True):
            ordered[number] = replace(hit, score=hits[number].score)
    return ordered


def resolve(
    keeper: RecordWriter, uid: str, winner: str, reason: str, places: Collection[int]
) -> Contradiction:
    """Let one side of a conflict take the place of the others, or keep `both`.

    Raises:
        NotFoundError: no such conflict is in view. CheckFailed: it is settled. DeniedError: by one who is not trusted more
            than who wrote what would fall. ValueError: no such side, or no reason.
    """
    space = keeper.space
    if not reason.strip():
        raise ValueError("a resolution needs a reason")
    item = _found(space, uid, places, ledger=keeper.is_operator)
    if item.place is None:
        ContradictionLedger(space.database, clock=space.clock, ids=space.ids).resolve(
            item.uid, winner, reason, keeper.agent
        )
        return item
    why = space.screening.text(masked_text(reason, keeper.masked), space.places.numbered(item.place).scope)
    with space.database.write() as execute:
        item = _found(space, uid, places, ledger=False)
        if item.status not in (OPEN, MARKED):
            raise CheckFailed(f"{item.uid} is {item.status} already")
        claims = _claims(space, item)
        rows = {row["id"]: row for row in space.records.rows([claim.record or 0 for claim in claims])}
        chosen = [claim for claim in claims if rows[claim.record or 0]["uid"] == winner]
        if not chosen and winner != BOTH:
            sides = ", ".join(row["uid"] for row in rows.values())
            raise ValueError(f"winner is {winner!r}, must be one of {sides} or {BOTH}")
        losing = [claim for claim in claims if not chosen or _loses(item, claim, chosen[0])]
        for claim in losing:
            _check_arbiter(keeper, rows[claim.record or 0])
        collapses = []
        for claim in losing if chosen else ():
            revision = Revision(keeper, rows[claim.record or 0], why, brought=False)
            if refusal := revision.look(rows[chosen[0].record or 0]).held:
                raise DeniedError(
                    f"{item.uid} is not resolved: {refusal}", "ask an operator, or lift its protection"
                )
            revision.apply(execute, rows[chosen[0].record or 0])
            collapses.append(revision.uid)
        space.claims.settle(
            execute, item.id, RESOLVED if chosen else DISMISSED, space.clock.now(), keeper.agent, reason=why,
            winner=chosen[0].id if chosen else None, collapses=orjson.dumps(collapses).decode(),
        )  # fmt: skip
    return item


def _loses(item: Contradiction, claim: StoredClaim, chosen: StoredClaim) -> bool:
    if claim.record == chosen.record:
        return False
    return {claim.id, chosen.id} == {item.earlier, item.later} or restored(chosen).excludes(restored(claim))


def _check_arbiter(keeper: RecordWriter, row: Row) -> None:
    """Refuse who neither wrote a memory nor is trusted more than who did."""
    keeper.check_right(row["place"])
    if keeper.is_operator or not keeper.agent or row["agent"] == keeper.agent:
        return
    stack = keeper.space.places.numbered(row["place"]).stack
    if not keeper.space.trust.is_lower(stack, row["agent"], keeper.agent):
        raise DeniedError(
            f"{keeper.agent} is not trusted more than {row['agent']}, who wrote {row['uid']}",
            "ask an operator to resolve it: sb memory conflicts",
        )


def take_back(keeper: RecordWriter, uid: str, reason: str, places: Collection[int]) -> Contradiction:
    """Revert the settlement of a conflict: what fell is found again, and the conflict is open.

    Raises:
        NotFoundError: no such conflict is in view. CheckFailed: it is not settled. DeniedError: as `collapses.revert` says.
    """
    space = keeper.space
    item = _found(space, uid, places, ledger=keeper.is_operator)
    if item.place is None:
        ContradictionLedger(space.database, clock=space.clock, ids=space.ids).revert(
            item.uid, reason, keeper.agent
        )
        return item
    if item.status not in (RESOLVED, SUPERSEDED_BY) and not (item.status == DISMISSED and item.settled_by):
        raise CheckFailed(f"{item.uid} is {item.status}, so that there is nothing to revert")
    for collapse in orjson.loads(item.collapses):
        event = space.collapses.find(collapse)
        if event is not None and event.status == STANDING:  # else it was taken back by itself
            revert(keeper, collapse, places, reason)
    with space.database.write() as execute:
        changes: dict[str, Any] = {"winner": None, "collapses": "[]"}
        space.claims.settle(execute, item.id, REVERTED, space.clock.now(), keeper.agent, **changes)
        space.claims.settle(execute, item.id, OPEN, None, None)
    return item
