"""Handoffs from one session to the next, signed so that altered ones are noticed.

Source: the memory whitepaper, "handoff packets" and "theory of mind". A packet is a record of kind `handoff`, signed by
HMAC-SHA256 over the RFC 8785 form of all that it says, with a key that this home's secret gives its sender. That proves
that it is unaltered and was made in this home. It does not prove who made it: whoever can read the secret can sign.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, NamedTuple

import orjson

from sb.base.text import checked_name
from sb.base.values.canonical import canonical_bytes
from sb.base.values.frozen import frozen
from sb.config import Home
from sb.errors import ConfigError
from sb.memory.knowledge import NAMED, UNKNOWN, New, Outdated, latest_outdated, new_to, standings
from sb.memory.masking import mask, refuse_secret
from sb.memory.session_writer import SessionWriter
from sb.memory.views import Memory, View
from sb.protocols.types import Handoff
from sb.store.records.columns import ACTIVE, Row
from sb.store.records.places import Execute, Place
from sb.store.records.reads import Known
from sb.store.records.rows import to_moment, to_row, to_seconds
from sb.store.secret import derived_key, home_secret

PENDING, CONSUMED = "pending", "consumed"
MOST_KNOWN = 200  # records that a packet names as what its sender built on: the latest ones
_MOST_COMPARED = 2_000  # records, the latest ones, of which those are named that a recipient lacks
_MOST_NEW, _MOST_OUTDATED = 10, 5
_LOOKED_AT = 50  # packets of a scope, the latest ones, among which one for this agent is looked for
_ALTERED = "its signature does not match: it was altered, or made in another home"


@frozen
class Stale(View):
    """Something that the sender took for true, and that has changed.

    Args:
        version: the one that the sender knew. now: "changed", or the state that it is in.
        title: what it is called now.
    """

    id: str
    title: str
    version: int
    now: str


@frozen
class HandoffPacket(View):
    """A handoff, verified when it was read.

    Args:
        sender, recipient: agents; recipient is "" for whoever comes next.
        session: the sender's. created_at: seconds since the epoch.
        knows: ids of the records that the sender built on, with their versions, without those that the recipient has.
        status: pending, or consumed by the session that took it over.
        verified: whether it is unaltered and from this home; if not, `problem` says why, and it holds nothing else.
        stale: what the sender built on that has changed since, as far as the receiver may see it.
        new: what the sender built on that the receiver does not know, the most important first.
        outdated: what the receiver knows as it no longer is; it is told once.
    """

    id: str
    goal: str
    current_state: str
    open_loops: tuple[str, ...]
    next_step: str
    sender: str
    recipient: str
    scope: str
    session: str | None
    created_at: float
    status: str = PENDING
    verified: bool = True
    problem: str = ""
    knows: Mapping[str, int] = field(default_factory=dict)
    stale: tuple[Stale, ...] = ()
    new: tuple[New, ...] = ()
    outdated: tuple[Outdated, ...] = ()

    @property
    def lines(self) -> list[str]:
        """The texts that tell the receiver what is outdated and what is new."""
        return [*(item.line for item in self.outdated), *(item.line for item in self.new)]


class Newest(NamedTuple):
    """The newest packet for an agent, if there is one; `others` are the agents that newer ones are for."""

    row: Row | None
    packet: HandoffPacket | None
    others: tuple[str, ...]


class Handoffs:
    """The packets that one agent sends and receives.

    Args:
        home: the folder that holds the secret.
    """

    def __init__(self, writer: SessionWriter, home: Home) -> None:
        self._writer = writer
        self._space = writer.space
        self._home = home

    def known(self) -> list[Known]:
        """Lists what the writer's session wrote or was shown, the latest first."""
        session = self._writer.begun()
        return [] if session is None else self._space.reads.known(session.number, self._writer.agent)

    def signed(self, handoff: Handoff, scope: str, known: Sequence[Known]) -> Handoff:
        """A packet of the writer's session with all that it says of itself, and a signature over that.

        Args:
            known: what the session built on; what is private of it is not named.

        Raises:
            ValueError: it holds what has no JSON form, or its recipient can be no name. ConfigError: the home's secret cannot be read or made.
        """
        if handoff.recipient:
            refuse_secret("recipient", checked_name("recipient", handoff.recipient))
        mask(handoff, self._writer.masked)  # before it is signed
        self._space.screening.screen([handoff], scope, self._writer.agent)
        now = self._space.clock.now()
        named = [
            item for item in known if item.active and item.kind != "handoff" and not self._private(item.place)
        ]
        if handoff.recipient:
            rows = list(self._space.records.rows([item.record for item in named[:_MOST_COMPARED]]))
            has = standings(self._space, handoff.recipient, rows)
            lacks = {
                number for number, standing in has.items() if standing.knows == UNKNOWN or standing.since
            }
            named = [item for item in named if item.record in lacks]
        made = replace(
            handoff,
            id=self._space.new_id(now),
            stack_id=self._writer.stack,
            scope=scope,
            agent_id=self._writer.agent,
            session=self._writer.name,
            knows={item.uid: item.version for item in named[:MOST_KNOWN]},
            created_at=to_moment(now),
        )
        return replace(made, signature=self._signature(made, self._secret(make=True)))

    def _private(self, place: int) -> bool:
        return bool(self._space.places.numbered(place).owner)

    def send(self, handoff: Handoff, scope: str) -> HandoffPacket:
        """Stores a signed handoff for its recipient, in a scope that everyone can read."""
        self._writer.masked.clear()
        made = self.signed(handoff, scope, self.known())
        self._writer.keep_all([made], Place(self._writer.stack, scope))
        return packet(made)

    def stand_for(self, execute: Execute, known: Sequence[Known]) -> None:
        """Mark the packets that a session was shown or made as consumed: a new one stands for them from now on."""
        former = [item.record for item in known if item.kind == "handoff"]
        for row in self._space.records.rows(former) if former else ():
            self._consume(execute, row)

    def resume(self, scope: str) -> HandoffPacket | None:
        """The newest pending packet of a scope that is for this agent, or for anyone; it is pending no longer.

        One that cannot be verified is returned without its content, and stays pending for an operator to look at.
        """
        with self._space.database.write() as execute:
            self._space.check_open(execute, self._writer.stack)
            row, given, _ = self.newest(scope, PENDING)
            if row is not None and given is not None and given.verified:
                self._consume(execute, row)
        if row is None or given is None or not given.verified:
            return given
        given = self.for_reader(given)
        rows = [row, *self.rows_of(given.outdated)]
        self._writer.broadcast(
            "resume", "", [(item["id"], 1.0) for item in rows], [*map(self._space.memory, rows)]
        )
        return replace(given, status=CONSUMED)

    def for_reader(self, given: HandoffPacket) -> HandoffPacket:
        """A verified packet with what changed since it was sent, what is new to this agent, and what it knows that is outdated."""
        space, places, agent = self._space, self._writer.places(given.scope), self._writer.agent
        where = f"r.uid IN ({_marks(given.knows)}) AND +r.place IN ({_marks(places)})"
        named = list(space.records.select(where, (*given.knows, *places), columns=NAMED))
        knows = {row["id"]: given.knows[row["uid"]] for row in named}
        changed = [row["id"] for row in named if row["state"] != ACTIVE or row["version"] > knows[row["id"]]]
        rows = space.records.rows(changed) if changed else ()
        stale = [_changed(space.memory(row), row, knows[row["id"]]) for row in rows]
        new = new_to(space, agent, named, places, _MOST_NEW)
        outdated = latest_outdated(space, agent, places, _MOST_OUTDATED)
        return replace(given, stale=tuple(stale), new=tuple(new), outdated=tuple(outdated))

    def rows_of(self, outdated: Sequence[Outdated]) -> list[Row]:
        """The records that count as told once it is told what of them is outdated, and what holds now."""
        ids = [uid for item in outdated for uid in (item.id, item.now) if uid]
        return list(self._space.records.known(ids).values()) if ids else []

    def newest(self, scope: str, status: str | None = None) -> Newest:
        """The newest packet of a scope that is for this agent, or for anyone.

        One that cannot be verified ends the search: whom it was for is not known, and an older one may be out of date.

        Args:
            status: PENDING for those that nobody took over; None for any.
        """
        others: dict[str, None] = {}
        for row in self._rows(scope, status):
            if not self._space.reader.allows_packet(row):
                continue
            handoff, problem = self._read(row)
            if handoff is None or problem:
                return Newest(row, _withheld(row, scope, problem), tuple(others))
            if handoff.recipient in ("", self._writer.agent):
                return Newest(row, self._shown(packet(handoff)), tuple(others))
            others[handoff.recipient] = None
        return Newest(None, None, tuple(others))

    def _shown(self, given: HandoffPacket) -> HandoffPacket:
        names = ("goal", "current_state", "open_loops", "next_step")
        values = self._space.reader.mask([getattr(given, name) for name in names])
        return replace(given, **dict(zip(names, values, strict=True)))

    def _rows(self, scope: str, status: str | None) -> Iterator[Row]:
        """The latest packets of a scope, newest first."""
        place = self._space.places.find(Place(self._writer.stack, scope))
        wanted = " AND r.category = ?" if status else ""
        where = f"r.place = ? AND r.kind = 'handoff' AND r.state = 'active'{wanted}"
        values = (place, *((status,) if status else ()))
        return self._space.records.select(where, values, order="r.id DESC", limit=_LOOKED_AT)

    def refusal(self, row: Row) -> str:
        """Returns why this agent may not read a handoff: altered, or for another agent; "" if it may."""
        handoff, problem = self._read(row)
        if handoff is None or problem:
            return problem
        between = ("", self._writer.agent)
        if handoff.recipient in between or handoff.agent_id in between:
            return ""
        return f"it is for {handoff.recipient}"

    def _read(self, row: Row) -> tuple[Handoff | None, str]:
        """The packet in a row, None if it cannot be read; and what is wrong with it."""
        try:
            if not isinstance(orjson.loads(row["fields"]), dict):
                return None, "it cannot be read"
            handoff = self._space.record(row)
            text = to_row(handoff)["text"].replace("\0", " ")
            signature = self._signature(handoff, self._secret())
        except ConfigError as error:
            return None, error.message
        except (ValueError, TypeError) as error:
            return None, f"it cannot be read: {error}"
        good = hmac.compare_digest(signature, str(handoff.signature)) and row["text"] == text
        return handoff, "" if good else _ALTERED

    def _secret(self, *, make: bool = False) -> bytes:
        """The home's secret; only who signs makes one, since with a new one nothing can be verified."""
        path = self._home.digest_key
        if make:
            self._home.create()
        elif not path.exists():
            raise ConfigError(f"no {path} to verify it with")
        return home_secret(path)

    def _signature(self, handoff: Handoff, secret: bytes) -> str:
        payload = {
            "id": handoff.id,
            "stack": handoff.stack_id,
            "scope": handoff.scope,
            "sender": handoff.agent_id,
            "recipient": handoff.recipient,
            "session": handoff.session,
            "microseconds": round(_created(handoff) * 1_000_000),
            "goal": handoff.goal,
            "current_state": handoff.current_state,
            "open_loops": handoff.open_loops,
            "next_step": handoff.next_step,
            "knows": handoff.knows,
        }
        key = derived_key(secret, f"handoff:{handoff.agent_id}")
        return hmac.digest(key, canonical_bytes(payload), "sha256").hex()

    def _consume(self, execute: Execute, row: Row) -> None:
        if row["category"] == PENDING:
            self._space.records.update(
                execute, row["id"], {"category": CONSUMED}, actor=self._writer.agent, operation="consume",
                reason=self._writer.name,
            )  # fmt: skip


def packet(handoff: Handoff) -> HandoffPacket:
    """A packet as it was sent."""
    return HandoffPacket(
        id=handoff.id,
        goal=handoff.goal,
        current_state=handoff.current_state,
        open_loops=tuple(handoff.open_loops),
        next_step=handoff.next_step,
        sender=handoff.agent_id,
        recipient=handoff.recipient,
        scope=handoff.scope,
        session=handoff.session,
        created_at=_created(handoff),
        status=handoff.status,
        knows=dict(handoff.knows),
    )


def _withheld(row: Row, scope: str, problem: str) -> HandoffPacket:
    """A packet that cannot be relied on: that there is one, and nothing that it says."""
    return HandoffPacket(
        row["uid"], "", "", (), "", row["agent"], "", scope, None, row["created_at"], row["category"] or "",
        verified=False, problem=problem,
    )  # fmt: skip


def _changed(memory: Memory, row: Row, version: int) -> Stale:
    return Stale(memory.id, memory.title, version, "changed" if row["state"] == ACTIVE else row["state"])


def _marks(values: Any) -> str:
    return ", ".join("?" * len(values)) or "NULL"


def loops(given: str | Sequence[str]) -> list[str]:
    """Open loops as a list, however they were given."""
    return [given] if isinstance(given, str) else list(given)


def _created(handoff: Handoff) -> float:
    return 0.0 if handoff.created_at is None else to_seconds(handoff.created_at)
