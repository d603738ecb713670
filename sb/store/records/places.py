"""Places: a stack, a scope and perhaps an owner; they decide who may see a record.

A place is one integer, so that visibility is a predicate of every query: `place IN (…)` in SQL, a token in the
full-text index, a column of the vector table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sb.base.text import LONGEST_NAME
from sb.base.values.frozen import frozen
from sb.config.kinds import SCOPE
from sb.store.database import Database

GLOBAL = "global"
RESERVED = "sb:"  # before the names under which SecondBrain itself writes
Execute = Callable[..., Any]


@frozen
class Place:
    """A place: stack, scope and owner.

    Args:
        stack: the memory container it belongs to.
        scope: `global`, or a type and a name such as `project:api-v2`.
        owner: the only agent that may read it, or "" for all.
    """

    stack: str
    scope: str = GLOBAL
    owner: str = ""


def narrowest(places: Iterable[Place]) -> Place | None:
    """Returns the place for what is derived from these places: whoever sees it sees them all. None if no one would.

    Args:
        places: of one stack, at least one.
    """
    known = list(places)
    scopes = {place.scope for place in known} - {GLOBAL}
    owners = {place.owner for place in known} - {""}
    if len(scopes) > 1 or len(owners) > 1:
        return None
    return Place(known[0].stack, *(scopes or {GLOBAL}), *(owners or {""}))


def checked_scope(scope: str) -> str:
    """The scope as given.

    Raises:
        ValueError: it is neither `global` nor TYPE:NAME.
    """
    if not SCOPE.fullmatch(scope) or len(scope) > LONGEST_NAME:
        raise ValueError(f"{scope!r} is not a scope: use global, or TYPE:NAME such as project:api-v2")
    return scope


def check_not_reserved(agent: str) -> None:
    """Refuse a name that no agent can have.

    Raises:
        ValueError: it begins as those do that SecondBrain itself writes under.
    """
    if agent.startswith(RESERVED):
        raise ValueError(f"{agent!r} is a reserved name: choose one that does not begin with {RESERVED}")


class Places:
    """The places of one database, remembered by this process once they were read: they never change."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._ids: dict[Place, int] = {}
        self._known: dict[int, Place] = {}
        self._stacks: dict[
            str, tuple[dict[int, Place], dict[int, Place]]
        ] = {}  # of which known ones, and those

    def make(self, execute: Execute, place: Place, *, reserved: bool = False) -> int:
        """The number of a place, which is made if there is none; within a write transaction.

        Args:
            reserved: for the part of SecondBrain that the name of its owner is reserved for.

        Raises:
            ValueError: the name of its owner is reserved, or its scope is none.
        """
        if not reserved:
            check_not_reserved(place.owner)
        found = self.find(place)
        if found is None:
            checked_scope(place.scope)
            key = (place.stack, place.scope, place.owner)
            execute("INSERT INTO places (stack, scope, owner) VALUES (?, ?, ?)", key)
            found = self.find(place, keep=False)  # the transaction may yet be rolled back
            assert found is not None
        return found

    def find(self, place: Place, *, keep: bool = True) -> int | None:
        """The number of a place, or None if nothing was ever kept there."""
        known = self._ids.get(place)
        if known is None:
            key = (place.stack, place.scope, place.owner)
            rows = self._database.query("SELECT id FROM places WHERE (stack, scope, owner) = (?, ?, ?)", key)
            if not rows:
                return None
            known = int(rows[0][0])
            if keep and self._database.writer == 0:
                self._ids[place] = known
        return known

    def visible(self, stack: str, scopes: Iterable[str], agent: str) -> tuple[int, ...]:
        """The places that an agent sees in these scopes, in their order: in each its own, then what is everybody's."""
        return self.numbers(
            [Place(stack, scope, owner) for scope in scopes for owner in dict.fromkeys((agent, ""))]
        )

    def numbers(self, wanted: Iterable[Place]) -> tuple[int, ...]:
        """The numbers of those of these places where something was kept, in their order."""
        if self._database.writer:
            found: Iterable[int | None] = map(self.find, wanted)
        else:
            self.all()  # one query, whether or not there are places that are not remembered
            found = map(self._ids.get, wanted)
        return tuple(number for number in found if number is not None)

    def numbered(self, number: int) -> Place:
        """The place of that number."""
        return self._known.get(number) or self.all()[number]

    def speakers(self, places: Sequence[int]) -> dict[str, str]:
        """Everybody who is known to speak in these places, with the role that is known of them, or ""."""
        marks = ", ".join("?" * len(places)) or "NULL"
        sql = f"SELECT name, max(role) FROM speakers WHERE place IN ({marks}) GROUP BY name ORDER BY name"
        return dict(self._database.query(sql, tuple(places)))

    def keep_roles(self, execute: Execute, roles: Mapping[tuple[int, str], str]) -> None:
        """Stores the roles of speakers, by place and name, without touching those that have them already."""
        for (place, name), role in roles.items():
            execute(
                "UPDATE speakers SET role = ? WHERE (place, name) = (?, ?) AND role <> ?",
                (role, place, name, role),
            )

    def of_stack(self, stack: str) -> Mapping[int, Place]:
        """Every place of one stack, by number."""
        known = self.all()
        base, found = self._stacks.get(stack, (None, {}))
        if base is not known:
            found = {number: place for number, place in known.items() if place.stack == stack}
            if known is self._known:
                self._stacks[stack] = known, found
        return found

    def all(self) -> dict[int, Place]:
        """Every place there is, by number, for those who look after the whole database."""
        places = self._known
        keep = (
            self._database.writer == 0
        )  # what a transaction has made may yet be rolled back, and its number be another's
        sql = "SELECT id, stack, scope, owner FROM places WHERE id > ? ORDER BY id"
        rows = self._database.query(sql, (next(reversed(places), 0),))
        if not rows:
            return places
        found = places | {number: Place(*place) for number, *place in rows}
        if keep:
            self._known = found
            self._ids |= ((place, number) for number, place in found.items() if number not in places)
        return found
