"""Revision of a belief: a winner takes a loser's place, and what rested on the loser alone falls with it.

Source: the memory whitepaper, "belief revision (AGM)". Everything is one transaction. What an agent may not decide by itself
waits: its new memory is quarantined, and the revision happens when a person releases it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sb.base.values.frozen import frozen
from sb.errors import DeniedError, NotFoundError
from sb.memory.access import WRITE
from sb.memory.beliefs.closure import Lineage, sources_of
from sb.memory.beliefs.echoes import ECHOING, SUPERSEDE, digest_of, echoes, sees
from sb.memory.beliefs.interference import Interference, displaced, interference
from sb.memory.masking import masked_text
from sb.memory.record_writer import RecordWriter
from sb.memory.space import Space
from sb.store.records.collapses import (
    DERIVED,
    DISMISSED,
    ECHO,
    LOSER,
    MENTION,
    PENDING,
    STANDING,
    CollapseEvent,
    CollapseItem,
)
from sb.store.records.columns import ACTIVE, QUARANTINED, SUPERSEDED, Row
from sb.store.records.edges import SUPERSEDES, Edge
from sb.store.records.places import Execute

COLLAPSE_PREFIX = "col_"
MOST_FALLING = 100  # records that an agent lets fall without a person
_MOST_SOURCES = 200  # of a provenance chain


@frozen
class Plan:
    """The consequences of a revision, before it happens.

    Args:
        loser: the record that is replaced. echoes: what says the same in the same words. derived: what rests on these alone.
        resting: numbers of what else rests on one that falls, or says the same where the winner is not read.
        held: why a person has to decide, or "". interference: what the interference gate found.
    """

    loser: Row
    echoes: Sequence[Row] = ()
    derived: Sequence[Row] = ()
    resting: Sequence[int] = ()
    held: str = ""
    interference: Sequence[Interference] = ()

    @property
    def falling(self) -> list[tuple[Row, str]]:
        """The records that fall, each with its role."""
        echoes, derived = ((row, ECHO) for row in self.echoes), ((row, DERIVED) for row in self.derived)
        return [(self.loser, LOSER), *echoes, *derived]


class Revision:
    """Replaces one record, for one writer.

    Args:
        loser: as it was read; it is read again within the transaction.
        brought: true if the winner becomes active by this, so that a revert takes it out again.
        decided: true where a person has decided: nothing holds it back.
        reverts: the number of the event that this one takes back.
    """

    def __init__(
        self,
        keeper: RecordWriter,
        loser: Row,
        reason: str,
        *,
        brought: bool = True,
        decided: bool = False,
        reverts: int | None = None,
    ) -> None:
        self._keeper, self._space = keeper, keeper.space
        self._lineage = Lineage(keeper.space)
        self._loser, self._brought, self._decided, self._reverts = loser, brought, decided, reverts
        self._reason = masked_text(reason, keeper.masked)
        self._plan: Plan | None = None
        self.uid = ""  # of the event, once there is one

    def look(self, winner: Row) -> Plan:
        """The consequences, by what is there now.

        Args:
            winner: its row, which may be yet to be written.

        Raises:
            NotFoundError: the loser is not active any more. ValueError: not everybody who sees it sees the winner.
        """
        loser = self._space.records.row(self._loser["id"])
        if loser is None or loser["state"] != ACTIVE:
            raise not_active(self._space, loser or self._loser)
        if self._reverts is None:
            check_place(self._space, loser, winner)
        number = winner.get("id", 0)
        again = [row for row in echoes(self._space, loser) if row["id"] != number]
        fallen = [row for row in again if sees(self._space, row["place"], winner["place"])]
        losers = [loser, *fallen]
        derived, resting = self._lineage.falling([row["id"] for row in losers], (number,))
        resting += [row["id"] for row in again if row not in fallen]
        waits_for, found = "", list[Interference]()
        if not self._decided:
            waits_for = self._held([*losers, *derived])
            if not waits_for and not self._keeper.is_operator:
                waits_for = displaced(self._space, losers, winner)
                found = interference(self._space, self._lineage, losers, [row["id"] for row in derived])
                waits_for = waits_for or (str(found[0]) if found else "")
        self._plan = Plan(loser, fallen, derived, resting, waits_for, found)
        return self._plan

    def _held(self, rows: Sequence[Row]) -> str:
        """The reason for which a person has to decide that these fall, or ""."""
        keeper, space = self._keeper, self._space
        for row in rows:
            what = row["uid"] if row is rows[0] else "a memory that would fall with it"
            if row["protected"]:
                return f"{what} is protected"
            place = space.places.numbered(row["place"])
            judged = keeper.agent and not keeper.is_operator
            if judged and space.rights and not space.rights.may(keeper.agent, WRITE, place.scope):
                return f"{keeper.agent} may not write where {what} stands"
            if judged and space.trust.is_lower(place.stack, keeper.agent, row["agent"]):
                return f"{keeper.agent} is trusted less than who wrote {what}"
        if not keeper.is_operator and len(rows) > MOST_FALLING:
            return f"more than {MOST_FALLING} memories would fall with {rows[0]['uid']}"
        return ""

    def admit(self, row: Row) -> str:
        """Quarantine a new record if its revision has to wait; returns why, or "".

        Args:
            row: the winner, with its place, before it is written.

        Raises:
            NotFoundError: as `look` does. ValueError: so, too, or an operator would replace what is protected.
        """
        plan = self.look(row)
        if row.get("state") == QUARANTINED or not plan.held:
            return ""
        if self._keeper.is_operator:
            raise ValueError(f"{plan.held}: lift that first, with sb memory protect ID --lift --reason WHY")
        row.update(state=QUARANTINED, key=None)
        return f"it would replace {plan.loser['uid']}: {plan.held}"

    def apply(self, execute: Execute, winner: Row, session: int | None = None, held: str = "") -> None:
        """Let the winner take the loser's place, or wait for it if it is quarantined."""
        plan = self._plan or self.look(winner)
        waits = winner.get("state") == QUARANTINED
        number = self._record(execute, plan, winner, session, PENDING if waits else STANDING, held)
        if not waits:
            self._collapse(execute, number, plan, winner)

    def _record(
        self, execute: Execute, plan: Plan, winner: Row, session: int | None, status: str, held: str
    ) -> int:
        space, now = self._space, self._space.clock.now()
        self.uid = f"{COLLAPSE_PREFIX}{int(now * 1000):012x}{space.ids.token(4)}"
        sides = {"winner": space.records.row(winner["id"]) or winner, "loser": plan.loser}
        number = space.collapses.add(
            execute,
            {
                "uid": self.uid,
                "at": now,
                "agent": self._keeper.agent,
                "session": session,
                "status": status,
                "loser": plan.loser["id"],
                "winner": winner["id"],
                "brought": int(self._brought),
                "reason": self._reason,
                "held": held if status == PENDING else "",
                "ranking": ranking(space, sides),
                "provenance": {name: _chain(space, row["id"]) for name, row in sides.items()},
                "reverts": self._reverts,
            },
        )
        for item in plan.interference if status == PENDING else ():
            scores = (item.record, item.former, item.remaining, item.threshold)
            execute("INSERT INTO pii_audit VALUES (?, ?, ?, ?, ?)", (number, *scores))
        return number

    def settle(self, execute: Execute, event: CollapseEvent, winner: Row) -> None:
        """Do what waited, now that a person has released the winner."""
        plan = self.look(winner)
        self.uid = event.uid
        self._collapse(execute, event.id, plan, winner)
        now = self._space.clock.now()
        self._space.collapses.settle(execute, event.id, STANDING, now, self._keeper.agent)

    def _collapse(self, execute: Execute, number: int, plan: Plan, winner: Row) -> None:
        space, keeper = self._space, self._keeper
        reason = f"by {winner['uid']}" + (f": {self._reason}" if self._reason else "")
        items = []
        for row, role in plan.falling:
            keeper.change(execute, row, {"state": SUPERSEDED}, SUPERSEDE, reason)
            digest = digest_of(row) if role == LOSER else None
            items.append(CollapseItem(row["id"], role, row["state"], digest))
        fallen = {item.record for item in items}
        sources = sources_of(space, list(fallen))
        close = {*plan.resting, *(row["id"] for row in sources)} - fallen - {winner["id"]}
        items += [CollapseItem(record, MENTION, ACTIVE) for record in sorted(close)]
        space.collapses.add_items(execute, number, items)
        edge = Edge(winner["id"], SUPERSEDES, plan.loser["id"])
        place = plan.loser["place"] if space.places.numbered(plan.loser["place"]).owner else winner["place"]
        space.edges.add(execute, edge, place=place, agent=keeper.agent, at=space.clock.now())


def replace(keeper: RecordWriter, loser: Row, winner: Row, reason: str) -> str:
    """Let a record that is there take another one's place; returns the id of the event.

    Raises:
        DeniedError: a person has to decide. NotFoundError: one of them is not active. ValueError: not everybody who sees
            the loser sees the winner.
    """
    space = keeper.space
    revision = Revision(keeper, loser, reason, brought=False)
    with space.database.write() as execute:
        now = space.records.row(winner["id"])
        if now is None or now["state"] != ACTIVE:
            raise not_active(space, now or winner)
        plan = revision.look(now)
        if plan.held:
            raise DeniedError(
                f"{loser['uid']} is not replaced: {plan.held}", "give the new text instead, which waits for review"
            )  # fmt: skip
        revision.apply(execute, now)
    return revision.uid


def released(keeper: RecordWriter, execute: Execute, winner: Row) -> None:
    """Do what waited for a record that a person has released; what it was to replace may be gone by now."""
    for event in keeper.space.collapses.of_winner(winner["id"]):
        loser = keeper.space.records.row(event.loser)
        if loser is None or loser["state"] != ACTIVE:
            keeper.space.collapses.settle(
                execute, event.id, DISMISSED, keeper.space.clock.now(), keeper.agent
            )
            continue
        Revision(keeper, loser, event.reason, decided=True).settle(execute, event, winner)


def check_correctable(row: Row) -> None:
    """Refuse to correct a record of a kind that is neither a claim nor an experience, such as an entity.

    Raises:
        ValueError: its kind has no correction.
    """
    if row["kind"] not in ECHOING:
        what = "save it again with what is true" if row["key"] else "forget it instead"
        raise ValueError(f"{row['uid']} is of kind {row['kind']}, which is not corrected: {what}")


def check_place(space: Space, loser: Row, winner: Row) -> None:
    """Refuse a winner that not everybody sees who sees the loser.

    Raises:
        ValueError: it stands in another scope, or is private.
    """
    if loser["id"] == winner.get("id"):
        raise ValueError(f"{loser['uid']} cannot replace itself")
    if not sees(space, loser["place"], winner["place"]):
        raise ValueError(
            f"what replaces {loser['uid']} has to stand where that does, so that all who saw it see this"
        )


def not_active(space: Space, row: Row) -> NotFoundError:
    """The error for a record that can be in no revision as it is now."""
    winner = space.superseded_by(row)
    if not winner:
        return NotFoundError(f"memory {row['uid']} is {row['state']}")
    known = space.collapses.in_force(row["id"])
    back = f"; sb memory revert {known[2]} takes that back" if known else ""
    return NotFoundError(f"memory {row['uid']} is superseded by {winner}", f"correct {winner}{back}")


def ranking(space: Space, sides: dict[str, Row]) -> list[dict[str, Any]]:
    """The sides of a revision, the more credible first: by trust, confidence, evidence and time."""
    trust = space.trust.in_rows(sides.values())
    found = [
        {
            "side": side,
            "id": row["uid"],
            "trust": round(trust[row["id"]], 4),
            "confidence": row["confidence"],
            "evidence": row["evidence_n"],
            "at": row["happened_at"],
            "agent": row["agent"],
            "source_type": row["source_type"],
        }
        for side, row in sides.items()
    ]
    names = ("trust", "confidence", "evidence", "at")
    return sorted(found, key=lambda side: tuple(side[name] or 0.0 for name in names), reverse=True)


def _chain(space: Space, record: int) -> list[str]:
    """The ids of what a record was made from, in any number of steps, the nearest first."""
    found: dict[int, str] = {}
    frontier = [record]
    while frontier and len(found) < _MOST_SOURCES:
        rows = [row for row in sources_of(space, frontier) if row["id"] not in found and row["id"] != record]
        found |= {row["id"]: row["uid"] for row in rows}
        frontier = [row["id"] for row in rows]
    return list(found.values())[:_MOST_SOURCES]
