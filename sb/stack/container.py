"""Shared state of one stack's parts: database, place, state, and attached cores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import orjson

from sb.memory.masking import masked_text
from sb.memory.reader import Reader
from sb.memory.space import Space
from sb.protocols.types import StackState
from sb.stack.masks import Masks
from sb.stack.views import to_view
from sb.store.records.columns import ERASED, QUARANTINED, Row
from sb.store.records.places import Execute, Place, narrowest

SYSTEM = "sb:"  # before what SecondBrain itself writes
SYSTEMS = (SYSTEM, "kernle:")  # what is read as such


class Container:
    """One stack in one database.

    Args:
        read_only: nothing is written, not even what was read.
    """

    def __init__(self, space: Space, stack_id: str, *, read_only: bool) -> None:
        self.space = space
        self.stack_id = stack_id
        self.read_only = read_only
        self.for_operators = False  # who are no core
        self.read_only_view = False  # by who is to leave its state as it is
        self.cores: dict[
            str, str | None
        ] = {}  # attached, in order: from which scope each reads, None for all
        space.reader = Reader(space, self.cores, stack=stack_id, is_operator=lambda: self.is_operators)
        self.masks = Masks(space.reader)
        self.plugins: Counter[str] = Counter()  # how many attached cores have loaded each
        self.state, self.settings = self._stored()

    def _stored(self) -> tuple[StackState, dict[str, Any]]:
        rows = self.space.database.query(
            "SELECT state, settings FROM stacks WHERE name = ?", (self.stack_id,)
        )
        if not rows:
            return StackState.INITIALIZING, {}
        return StackState(rows[0][0]), orjson.loads(rows[0][1])

    @property
    def _keeps_state(self) -> bool:
        """True if its state is that of the file, and not its own."""
        return not self.read_only and not self.read_only_view

    def look_again(self) -> None:
        """Be in the state that another process may have put the stack into."""
        if self._keeps_state:
            rows = self.space.database.query("SELECT state FROM stacks WHERE name = ?", (self.stack_id,))
            self.state = StackState(rows[0][0]) if rows else self.state

    def enter(self, state: StackState) -> None:
        """Be in another state, now and when the stack is opened again, as for whoever has it open."""
        self.look_again()
        if state is self.state:
            return
        self.state = state
        if self._keeps_state:
            with self.space.database.write() as execute:
                execute(
                    "INSERT INTO stacks (name, state) VALUES (?, ?)"
                    " ON CONFLICT (name) DO UPDATE SET state = excluded.state",
                    (self.stack_id, state.value),
                )

    def set(self, name: str, value: Any) -> None:
        """Stores a setting of this stack."""
        if self.settings.get(name) == value:
            return
        if self.read_only:
            self.settings[name] = value
            return
        with self.space.database.write() as execute:
            self.set_in(execute, name, value)

    def set_in(self, execute: Execute, name: str, value: Any) -> None:
        """Stores a setting within a transaction; other processes' settings stay as they are."""
        self.settings[name] = value
        document = orjson.dumps(value).decode()
        execute(
            "INSERT INTO stacks (name, state, settings) VALUES (?1, ?2, json_object(?3, json(?4)))"
            " ON CONFLICT (name) DO UPDATE SET settings = json_set(settings, ?5, json(?4))",
            (self.stack_id, self.state.value, name, document, f'$."{name}"'),
        )

    def fresh(self, execute: Execute, name: str) -> Any:
        """A setting as another process may have left it, within a transaction; None if there is none."""
        found = execute("SELECT settings FROM stacks WHERE name = ?", (self.stack_id,)).fetchone()
        self.settings = orjson.loads(found[0]) if found else {}
        return self.settings.get(name)

    @cached_property
    def place(self) -> Place:
        """The place of new records."""
        return Place(self.stack_id)

    def by_place(self, uids: Iterable[str]) -> dict[Place, list[str]]:
        """Groups those of these ids that are in this stack by their place."""
        known = self.space.records.known(uids := list(uids))
        found: dict[Place, list[str]] = {}
        for uid in (item for item in uids if item in known):
            place = self.space.places.numbered(known[uid]["place"])
            if place.stack == self.stack_id:
                found.setdefault(place, []).append(uid)
        return found

    def place_of(self, sources: Iterable[str]) -> Place | None:
        """Returns the place for a record derived from these memories; None where no one may see them all."""
        return narrowest((self.place, *self.by_place(sources)))

    def places(self) -> tuple[int, ...]:
        """The places in view: without a core, what is everybody's in every scope; with some, what those cores may read."""
        owners, scopes = {"", *self.cores}, self.scopes
        known = {
            number: place
            for number, place in self.space.places.of_stack(self.stack_id).items()
            if place.owner in owners and (scopes is None or place.scope in scopes)
        }
        readable = self.space.reader.scopes({place.scope for place in known.values()})
        return tuple(number for number, place in known.items() if place.scope in readable)

    @property
    def scopes(self) -> frozenset[str] | None:
        """The scopes in view; None for all."""
        chains = [None if scope is None else self.space.chain(scope) for scope in self.cores.values()]
        known = [chain for chain in chains if chain is not None]
        return None if len(known) < len(chains) or not chains else frozenset().union(*known)

    def find(self, uid: str, kinds: Iterable[str]) -> Row | None:
        """The record of an id, if it is in view and of one of these kinds; erased and quarantined ones are not."""
        return self.find_all([uid], kinds).get(uid)

    def find_all(self, uids: Sequence[str], kinds: Iterable[str]) -> dict[str, Row]:
        """Returns those of these ids that are in view, by id; see `find`."""
        places, kinds, known = frozenset(self.places()), frozenset(kinds), self.space.records.known(uids)
        for row in (row for row in known.values() if row["place"] not in places):
            self.space.reader.note_closed(row)
        return {
            uid: row
            for uid, row in known.items()
            if row["place"] in places
            and row["kind"] in kinds
            and row["state"] not in (ERASED, QUARANTINED)
            and not self.space.reader.refusal(row)
        }

    def records(self, rows: Sequence[Row]) -> Iterator[Any]:
        """Rows as the records that a stack shows."""
        self.note_denied()
        records = map(to_view, self.space.all_records(rows))
        return (self.masks.copy(self._marked(row, record)) for row, record in zip(rows, records, strict=True))

    def _marked(self, row: Row, record: Any) -> Any:
        """A record as it is shown: not held to be true if it fell in a correction."""
        if not hasattr(record, "is_active") or not (winner := self.space.superseded_by(row)):
            return record
        more = {"superseded_by": winner} if hasattr(record, "superseded_by") else {}
        return replace(record, is_active=False, **more)

    def note_denied(self) -> None:
        """Put on record what the reading policy withheld since the last time."""
        if not self.read_only:
            self.space.reader.note_denied()

    def log_reads(self, operation: str, query: str, hits: Sequence[tuple[int, float]], tokens: int) -> None:
        """Logs reads; the records do not change."""
        if self.read_only:
            return
        with self.space.database.write() as execute:
            self.log_reads_in(execute, operation, query, hits, tokens)

    def log_reads_in(
        self, execute: Execute, operation: str, query: str, hits: Sequence[tuple[int, float]], tokens: int
    ) -> None:
        """Logs reads within a transaction."""
        query = self.space.screening.text(masked_text(query, {}), self.place.scope)
        read_from = self.cores.get(self.reader) or self.place.scope
        self.space.reads.append(
            execute, operation, query, hits, at=self.space.clock.now(), agent=self.reader, session=None,
            tokens=tokens, purpose=self.space.reader.purpose(read_from),
        )  # fmt: skip

    @property
    def is_operators(self) -> bool:
        """True if operators have it open, who read every scope."""
        return self.for_operators or None in self.cores.values()

    def check_right(self, right: str, scope: str) -> None:
        """Refuse what the core attached last has no right to in a scope.

        Raises:
            DeniedError: it has none.
        """
        if not self.is_operators:
            self.space.rights.check(self.reader, right, scope)

    @property
    def reader(self) -> str:
        """On whose behalf things are read: the core attached last, if any."""
        return next(reversed(self.cores), "")
