"""Collapse events as people and agents see them: list, and revert one by one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import orjson

from sb.base.sources import iso
from sb.base.values.frozen import frozen
from sb.errors import CheckFailed, DeniedError, NotFoundError
from sb.memory.beliefs.closure import Lineage
from sb.memory.beliefs.interference import refused
from sb.memory.beliefs.revision import Revision
from sb.memory.masking import masked_text
from sb.memory.record_writer import RecordWriter
from sb.memory.space import Space
from sb.memory.views import Memory, View
from sb.store.records.collapses import (
    DERIVED,
    MENTION,
    REVERTED,
    STANDING,
    CollapseEvent,
    CollapseItem,
)
from sb.store.records.columns import ACTIVE, ERASED, SUPERSEDED, Row
from sb.store.records.edges import SUPERSEDES, Edge
from sb.store.records.places import Execute

REVERT = "revert"  # the operation in a record's history
ERASED_SINCE, CHANGED_SINCE = "erased since", "changed since"


@frozen
class Fallen(View):
    """A record in a collapse.

    Args:
        role: loser; derived, if it rested on what fell alone; echo, if it says the same; mention, if it stands.
        restored: true if it was brought back since.
    """

    id: str
    role: str
    content: str
    restored: bool


@frozen
class Collapse(View):
    """A revision: which memory replaced which, and what fell with it.

    Args:
        status: pending until a person releases the winner, standing, reverted, or dismissed. held: why it waits.
        winner, loser: as they are now. records: those that fell or stand close, as far as they are in view.
        hidden: how many more there are, which are not.
        citation: who said the winner, from which source, and when.
        ranking: both sides as they were then, the more credible first: trust, confidence, evidence, time.
        provenance: the ids of what each side was made from. interference: the memories in use that would lose their support,
            each with its dependency score before and after, and the least that holds nothing back. reverts: the id of the event that this one takes back.
    """

    id: str
    at: float
    agent: str
    status: str
    reason: str
    held: str
    winner: str
    loser: str
    winner_content: str
    loser_content: str
    citation: str
    records: tuple[Fallen, ...]
    hidden: int
    ranking: tuple[dict[str, Any], ...]
    provenance: dict[str, list[str]]
    reverts: str
    settled_at: float | None
    settled_by: str | None
    interference: tuple[dict[str, Any], ...]


@frozen
class Reverted(View):
    """The result of a revert.

    Args:
        restored: ids of what is found again, as far as it is in view. left: of what is not, each with the reason.
        removed: the id of the winner if that is superseded now. collapse: of the event that did it, or "".
    """

    id: str
    restored: tuple[str, ...]
    left: tuple[tuple[str, str], ...]
    removed: str
    collapse: str


def collapses(space: Space, places: Sequence[int], limit: int = -1, status: str = "") -> list[Collapse]:
    """The collapses in view, the newest first."""
    events = space.collapses.listed(places, limit, status)
    return [collapse_view(space, event, places) for event in events]


def find_collapse(space: Space, uid: str, places: Collection[int]) -> CollapseEvent:
    """The event of an id, or of how it begins.

    Raises:
        NotFoundError: there is none in view.
    """
    event = space.collapses.find(uid)
    ends = list(space.records.rows([event.loser, event.winner])) if event else []
    if event is None or any(row["place"] not in places for row in ends):
        raise NotFoundError(f"no collapse {uid!r}, or not visible to you", "sb memory collapses")
    return event


def collapse_view(space: Space, event: CollapseEvent, places: Collection[int]) -> Collapse:
    """An event for who reads these places."""
    items = space.collapses.items(event.id)
    numbers = [item.record for item in items] + [event.loser, event.winner]
    rows = {row["id"]: row for row in space.records.rows(numbers)}
    seen = [item for item in items if rows[item.record]["place"] in places]
    winner, loser = _shown(space, rows[event.winner]), _shown(space, rows[event.loser])
    return Collapse(
        id=event.uid,
        at=event.at,
        agent=event.agent,
        status=event.status,
        reason=space.reader.mask(event.reason),
        held=event.held,
        winner=rows[event.winner]["uid"],
        loser=rows[event.loser]["uid"],
        winner_content=winner.content if winner else "",
        loser_content=loser.content if loser else "",
        citation=_cited(winner) if winner else "erased",
        records=tuple(_fallen(space, item, rows[item.record]) for item in seen),
        hidden=len(items) - len(seen),
        ranking=tuple(orjson.loads(event.ranking)),
        provenance={
            side: [uid for uid, row in space.records.known(uids).items() if row["place"] in places]
            for side, uids in orjson.loads(event.provenance).items()
        },
        reverts=space.collapses.uid(event.reverts),
        settled_at=event.settled_at,
        settled_by=event.settled_by,
        interference=tuple(refused(space, event.id, places)),
    )


def _cited(memory: Memory) -> str:
    return f"{memory.agent_id or 'nobody named'}, {memory.source_type}, {iso(memory.created_at)[:19]}Z"


def _shown(space: Space, row: Row) -> Memory | None:
    return None if row["state"] == ERASED else space.memory(row)


def _fallen(space: Space, item: CollapseItem, row: Row) -> Fallen:
    memory = _shown(space, row)
    return Fallen(row["uid"], item.role, memory.content if memory else "", bool(item.restored))


def revert(keeper: RecordWriter, uid: str, places: Collection[int], reason: str) -> Reverted:
    """Take a collapse back: what fell is found again, and a winner that it brought is superseded in turn.

    Raises:
        NotFoundError: there is no such collapse, or what it replaced was erased. CheckFailed: it does not stand, or what it
            replaced rests on something that is superseded. DeniedError: by one who is trusted less. ValueError: the winner
            is protected.
    """
    space = keeper.space
    with space.database.write() as execute:
        event = find_collapse(space, uid, places)
        if event.status != STANDING:
            raise CheckFailed(f"{event.uid} is {event.status} already")
        items = [item for item in space.collapses.items(event.id) if item.role != MENTION]
        rows = {
            row["id"]: row for row in space.records.rows([*(item.record for item in items), event.winner])
        }
        loser, winner = rows[event.loser], rows[event.winner]
        _check(keeper, event, loser, winner)
        scope = space.places.numbered(loser["place"]).scope
        why = space.screening.text(masked_text(reason, keeper.masked), scope)
        reason = f"{event.uid} was reverted" + (f": {why}" if why else "")
        restored, left = _restore(keeper, execute, items, rows, reason)
        if missing := Lineage(space).missing(loser):
            raise CheckFailed(f"{loser['uid']} rests on {missing}, which is superseded", "revert that first")
        space.collapses.settle(execute, event.id, REVERTED, space.clock.now(), keeper.agent)
        space.claims.reopen(execute, event.uid)
        space.edges.remove(execute, Edge(winner["id"], SUPERSEDES, loser["id"]))
        back, removed = space.records.row(loser["id"]), ""
        counter = Revision(keeper, winner, reason, reverts=event.id)
        if event.brought and winner["state"] == ACTIVE and back is not None and back["state"] == ACTIVE:
            plan = counter.look(back)
            if plan.held:
                raise DeniedError(
                    f"{event.uid} is not reverted: {plan.held}", "ask an operator, or lift its protection"
                )
            counter.apply(execute, back)
            removed = winner["uid"]
        restored += _supported_again(keeper, execute, [item.record for item in items], reason)
        seen = {
            uid
            for uid, row in space.records.known([*restored, *dict(left)]).items()
            if row["place"] in places
        }
    came, stayed = (uid for uid in restored if uid in seen), (pair for pair in left if pair[0] in seen)
    return Reverted(event.uid, tuple(came), tuple(stayed), removed, counter.uid)


def _check(keeper: RecordWriter, event: CollapseEvent, loser: Row, winner: Row) -> None:
    space = keeper.space
    keeper.check_right(loser["place"])
    if loser["state"] == ERASED:
        raise NotFoundError(
            f"{event.uid} cannot be reverted: {loser['uid']} was erased, and would leave nothing in place of {winner['uid']}"
        )
    stack = space.places.numbered(loser["place"]).stack
    judged = keeper.agent and not keeper.is_operator
    by = event.settled_by or event.agent
    if judged and space.trust.is_lower(stack, keeper.agent, by):
        raise DeniedError(f"{keeper.agent} is trusted less than {by}, who decided that {loser['uid']} falls")
    if winner["state"] == SUPERSEDED and (since := space.collapses.in_force(winner["id"])):
        raise CheckFailed(f"{winner['uid']} is superseded by {since[1]} itself", f"revert {since[2]} first")


def _restore(
    keeper: RecordWriter, execute: Execute, items: Sequence[CollapseItem], rows: dict[int, Row], reason: str
) -> tuple[list[str], list[tuple[str, str]]]:
    """Give what fell the state that it had; returns the ids of what came back, and of what did not."""
    restored: list[str] = []
    left: list[tuple[str, str]] = []
    for item in (item for item in items if not item.restored):
        row = rows[item.record]
        if row["state"] != SUPERSEDED:
            left.append((row["uid"], ERASED_SINCE if row["state"] == ERASED else CHANGED_SINCE))
            continue
        state = keeper.space.collapses.restore(execute, item.record)
        keeper.change(execute, row, {"state": state}, REVERT, reason)
        restored.append(row["uid"])
    return restored, left


def _supported_again(
    keeper: RecordWriter, execute: Execute, restored: Sequence[int], reason: str
) -> list[str]:
    """Bring back what fell in other collapses for want of support that it has again."""
    lineage, space = Lineage(keeper.space), keeper.space
    active = [
        row["id"] for row in space.records.rows(restored, ("id", "state")) if row["state"] != SUPERSEDED
    ]
    back = list[str]()
    rows = {
        row["id"]: row
        for row in space.records.rows(lineage.below(active, (ACTIVE, SUPERSEDED)))
        if row["state"] == SUPERSEDED
        and (space.collapses.in_force(row["id"]) or ("",))[0] == DERIVED
    }  # fmt: skip
    while rows:
        grounded = lineage.supports(list(rows.values()))[1]
        if not grounded:
            break
        for number in sorted(grounded):
            row = rows.pop(number)
            state = space.collapses.restore(execute, number)
            keeper.change(execute, row, {"state": state}, REVERT, reason)
            back.append(row["uid"])
    return back
