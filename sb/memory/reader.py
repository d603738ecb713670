"""Reader: which memories somebody may read, as SQL over many rows and as the reason for one.

Everything that shows memories asks it: Brain, stacks, exports, syncs and screens.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import orjson

from sb.base.sources import Clock
from sb.config.memory import Memory as Settings
from sb.config.scope_patterns import any_matches
from sb.config.scopes import READING
from sb.memory.access import READ, Rights
from sb.memory.conditions import NEVER, Condition, any_of
from sb.memory.consent import refusal, ungranted
from sb.memory.lazy import lazy
from sb.memory.personal_values import masked
from sb.memory.trust.floor import below
from sb.memory.trust.store import TrustStore
from sb.store.database import Database
from sb.store.records.columns import QUARANTINED, Row
from sb.store.records.places import Places
from sb.store.records.reads import ReadLog

if TYPE_CHECKING:  # most homes have no rules of reading
    from sb.kernel.memory_read_policy import ReadPolicy

# Packets that an agent, named twice as a parameter, neither sent nor is to have; nobody is to have what cannot be read.
BETWEEN_OTHERS = (
    "r.kind = 'handoff' AND CASE WHEN json_valid(r.fields) THEN coalesce(json_extract(r.fields, '$.recipient'), '')"
    " ELSE '?' END NOT IN ('', ?) AND r.agent <> ?"
)
_LISTED = "r.id IN (SELECT value FROM json_each(?))"


class Ground(Protocol):
    """The parts of a `Space` that a reader asks."""

    database: Database
    settings: Settings
    places: Places
    rights: Rights
    trust: TrustStore
    reads: ReadLog
    clock: Clock


class Reader:
    """The reader of a space; of several agents, what all of them may read.

    Args:
        names: on whose behalf it is read, as they are when it is asked; without any, somebody who gives no name.
        stack: whose standings of agents count for the trust floor.
        is_operator: true for operators, who read every scope. handoffs: why one is not to be read, such as that it was
            altered, or "".
    """

    def __init__(
        self,
        space: Ground,
        names: Collection[str] = (),
        *,
        stack: str = "",
        is_operator: Callable[[], bool] = lambda: False,
        handoffs: Callable[[Row], str] | None = None,
    ) -> None:
        self._space, self._names, self._stack = space, names, stack
        self._is_operator, self._handoffs = is_operator, handoffs
        self._unread: set[str] = set()  # scopes that were left out at last
        self._between: dict[tuple[str, tuple[int, ...]], tuple[int, bool]] = {}  # up to which packet, and any
        if self.policy is not None:
            space.reads.denied = self.policy.flush

    @lazy
    def policy(self) -> ReadPolicy | None:
        """The reading policy; None where no scope has a rule about reading."""
        space, scopes = self._space, self._space.settings.scopes
        if not scopes.values(*READING):
            return None
        from sb.kernel.memory_read_policy import ReadPolicy

        return ReadPolicy(space.database, scopes, space.places, self._agents, space.clock.now)

    def _agents(self) -> tuple[str, ...]:
        """The agents that rules are asked of; none for an operator."""
        return () if self._is_operator() else tuple(self._names) or ("",)

    # Which rows

    def scopes(self, scopes: Iterable[str]) -> tuple[str, ...]:
        """Those of these scopes that may be read, in their order."""
        rights, agents, asked = self._space.rights, self._agents(), tuple(scopes)
        if not rights:
            return asked
        found = tuple(scope for scope in asked if all(rights.may(agent, READ, scope) for agent in agents))
        self._unread = {scope for scope in asked if scope not in found and not self._chartered(scope)}
        return found

    def note_unread(self) -> None:
        """Remember as denied the scopes that `scopes` left out at last, as rules close them."""
        if self.policy is not None and self._unread:
            owners, places = ("", *self._names), self._space.places.of_stack(self._stack).items()
            self.policy.condition(
                [at for at, of in places if of.scope in self._unread and of.owner in owners]
            )

    def withheld(self, places: Sequence[int]) -> Condition:
        """The records in these places that may not be read, in any state."""
        self.note_unread()
        parts = [self._between_others(agent, places) for agent in self._agents()]
        if self._names and (hidden := ungranted(self._space.database, places, self._names)):
            parts.append((_LISTED, (orjson.dumps(hidden).decode(),)))
        if closed := self._closed(places):
            parts.append((f"r.place IN ({', '.join('?' * len(closed))})", closed))
        if self.policy is not None:
            parts.append(self.policy.condition(places))
        return any_of(*parts)

    def left_out(self, places: Sequence[int]) -> Condition:
        """The records in these places that no search and no list has: those withheld, and those below the trust floor."""
        withheld = self.withheld(places)
        if not self._agents() or not self._space.settings.scopes.values("trust_floor"):
            return withheld
        parts, known = [], self._space.places.numbered
        floors = {
            number: self._space.settings.scopes.answer("trust_floor", known(number).scope)
            for number in places
        }
        for floor in set(floors.values()):
            numbers = [number for number in places if floors[number] == floor]
            condition, values = below(self._space.trust, self._stack, floor)
            if condition:
                parts.append(
                    (f"r.place IN ({', '.join('?' * len(numbers))}) AND {condition}", (*numbers, *values))
                )
        return any_of(withheld, *parts)

    def withheld_ids(self, places: Sequence[int]) -> frozenset[str]:
        """The public ids of the records that `withheld` means; those erased are gone anyway."""
        condition, parameters = self.withheld(places)
        if not condition:
            return frozenset()
        marks = ", ".join("?" * len(places))
        sql = f"SELECT r.uid FROM records AS r WHERE r.place IN ({marks}) AND r.state <> 'erased' AND ({condition})"
        return frozenset(uid for (uid,) in self._space.database.query(sql, (*places, *parameters)))

    def _closed(self, places: Sequence[int]) -> tuple[int, ...]:
        """Those of these places that charters close."""
        return tuple(at for at in places if self._chartered(self._space.places.numbered(at).scope))

    def _chartered(self, scope: str) -> bool:
        return any(self._space.rights.chartered(agent, scope) for agent in self._agents())

    def _between_others(self, agent: str, places: Sequence[int]) -> Condition:
        """The handoffs neither for nor from an agent, if there are any.

        A hit, even one without its words, would say that those that were asked for are in it.
        """
        database, key = self._space.database, (agent, tuple(places))
        last, there = self._between.get(key, (0, False))
        if not there:  # whom a packet is for never changes: only those that are new are looked at
            marks = ", ".join("?" * len(places)) or "NULL"
            sql = (
                f"SELECT coalesce(max(r.id), ?), coalesce(max({BETWEEN_OTHERS}), 0) FROM records AS r"
                f" WHERE r.place IN ({marks}) AND r.kind = 'handoff' AND r.id > ?"
            )
            last, there = database.query(sql, (last, agent, agent, *places, last))[0]
            if database.writer == 0:  # what a transaction has made may yet be rolled back
                self._between[key] = last, bool(there)
        return (BETWEEN_OTHERS, (agent, agent)) if there else NEVER

    # This row

    def refusal(self, row: Row) -> str:
        """The reason to withhold a record's text on every face, or "". Denials of the policy are recorded."""
        found = self._refusal(row)
        return found or ("" if self.policy is None else self.policy.refusal(row))

    def allows(self, row: Row) -> bool:
        """True if a record may be read, for what only compares with it: nothing is put on record."""
        return not self._refusal(row) and not (self.policy and self.policy.reason(row))

    def note_closed(self, row: Row) -> None:
        """Remember that a record was asked for, if its scope has a rule by which it may not be read."""
        if self.policy is not None and not self.scopes((self._space.places.numbered(row["place"]).scope,)):
            self.policy.refusal(row)

    def allows_packet(self, row: Row) -> bool:
        """True if a handoff may be read by all rules but those of handoffs, whose signature is verified by itself."""
        return not self._refused(row) and not (self.policy and self.policy.refusal(row))

    def _refusal(self, row: Row) -> str:
        if row["state"] == QUARANTINED:
            return "it is quarantined"
        if row["kind"] == "handoff" and self._handoffs is not None and (why := self._handoffs(row)):
            return why
        return self._refused(row)

    def _refused(self, row: Row) -> str:
        if self._closed((row["place"],)):
            return "you may not read its scope"
        return next(filter(None, (refusal(row, name) for name in self._names)), "")

    # What is shown of it

    @property
    def masks(self) -> bool:
        """True if personal data is masked, for one agent at least."""
        readers = self._space.settings.personal_data_readers
        return not all(any_matches(readers, name) for name in self._names)

    def mask(self, value: Any) -> Any:
        """A value as it is read: without personal data where that is masked."""
        return masked(value) if self.masks else value

    def purpose(self, scope: str) -> str:
        """For what a scope is read; "" where no rule says."""
        return "" if self.policy is None else self.policy.purpose(scope)

    def note_denied(self) -> None:
        """Put on record what the policy denied since the last time."""
        if self.policy is not None and self.policy.has_denied:
            with self._space.database.write() as execute:
                self.policy.flush(execute)


def operator(space: Ground) -> Reader:
    """The reader of operators, who read everything but what is quarantined, which its review shows."""
    return Reader(space, is_operator=lambda: True)
