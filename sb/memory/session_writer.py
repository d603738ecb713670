"""Write the records of an agent's session, indexed in the same transaction."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sb.base.text import checked_name
from sb.memory.access import READ, WRITE
from sb.memory.masking import Labels, masked_text, refuse_secret
from sb.memory.quarantine.refusals import attacks_on_record, checked_relation
from sb.memory.record_writer import RecordWriter
from sb.memory.space import Space
from sb.memory.views import Memory, estimated_tokens
from sb.memory.writer import Writer
from sb.store.records.columns import Row
from sb.store.records.edges import MERGED_INTO, Edge
from sb.store.records.places import GLOBAL, Execute, Place, check_not_reserved, checked_scope
from sb.store.records.sessions import Session

if TYPE_CHECKING:
    from sb.memory.beliefs.revision import Revision
    from sb.memory.gate.incoming import Gate
    from sb.memory.gate.worth import GateVerdict


class SessionWriter:
    """One agent's session, and what it writes in it.

    Args:
        scope: where it begins; None for where the session of that name is, or `global`.
        session: its name; one is made up where it is None.
    """

    def __init__(
        self, space: Space, agent: str, stack: str, *, scope: str | None, session: str | None
    ) -> None:
        self.space = space
        check_not_reserved(agent)
        self.agent = refuse_secret("agent_id", agent)
        self.record_writer = RecordWriter(space, agent)
        self.writer = Writer(self.record_writer)
        self.stack = refuse_secret("stack", stack)
        self.name = _checked("session", session) if session else self._new_name()
        self.verdict: GateVerdict | None = None  # of the gate, on the last record that went through it
        self.session: Session | None = None  # once something was written in it by this process
        known = self.begun() if session else None
        self.scope = self._allowed_scope(scope or (known.scope if known else GLOBAL))

    @property
    def masked(self) -> Labels:
        """The labels of what the last write or query masked."""
        return self.record_writer.masked

    def _new_name(self) -> str:
        return "ses_" + self.space.ids.token(8)

    def begin(self, scope: str, name: str | None = None) -> None:
        """Start another session, or go on in the one of that name; nothing is written before it has something to write.

        Raises:
            ValueError: a session of that name is another agent's, or it can be no name; this one goes on.
        """
        if name:
            _checked("session", name)
            self.space.sessions.find(name, agent=self.agent, stack=self.stack)
        self.scope = self._allowed_scope(scope)
        self.name = name or self._new_name()
        self.session = None

    def begun(self) -> Session | None:
        """The session in the database, if anything was done in it yet.

        Raises:
            ValueError: a session of that name is another agent's.
        """
        return self.session or self.space.sessions.find(self.name, agent=self.agent, stack=self.stack)

    def chosen(self, project: str | None, scope: str | None) -> str:
        """The scope that a call names, by default the session's; raises as `named` does."""
        return self.named(project, scope) or self.scope

    def named(self, project: str | None, scope: str | None) -> str | None:
        """The scope that a call names, or None.

        Raises:
            ValueError: it names both a project and a scope, or something that is no scope.
        """
        if project is not None and scope is not None:
            raise ValueError("give project or scope, not both")
        scope = f"project:{project}" if project is not None else scope
        return None if scope is None else self._allowed_scope(scope)

    def places(self, scope: str | None = None) -> tuple[int, ...]:
        """The places that this agent sees from a scope, by default the session's."""
        scopes = self.space.reader.scopes(self.space.chain(scope or self.scope))
        return self.space.places.visible(self.stack, scopes, self.agent)

    def check_right(self, right: str, scope: str | None = None) -> None:
        """Refuse what this agent has no right to in a scope, by default the session's.

        Raises:
            DeniedError: it has none.
        """
        if self.record_writer.is_operator:
            return
        if right == READ and not self.space.reader.scopes((scope or self.scope,)):
            self.space.reader.note_unread()
            self.space.reader.note_denied()
        self.space.rights.check(self.agent, right, scope or self.scope)

    def _allowed_scope(self, scope: str) -> str:
        """The scope as given; raises ValueError if it is none, DeniedError if this agent may not use it."""
        self.space.rights.check_charter(self.agent, _checked_scope(scope))
        return scope

    def keep(self, record: Any, place: Place, *, gate: Gate | None = None) -> str:
        """Writes a record, or updates the one of its key; returns its id.

        Args:
            gate: may merge it into another record, whose id is returned then.
        """
        self.masked.clear()
        return self.keep_all([record], place, gate=gate)[0]

    def keep_all(
        self,
        records: Sequence[Any],
        place: Place,
        *,
        also: Callable[[Execute, Session], object] | None = None,
        gate: Gate | None = None,
        revision: Revision | None = None,
    ) -> list[str]:
        """Write records of any kind in one transaction; returns their ids.

        Args:
            also: does what has to be committed with them. gate: of the first record; see `keep`.
            revision: in which the first record takes another one's place.

        Raises:
            ValueError: a field has a value that it cannot have. MaintenanceModeError: the stack is being maintained.
                DeniedError: this agent may not write there.
                Nothing was written then.
        """
        self.check_right(WRITE, place.scope)
        batch = self.writer.prepare(records, place.scope, gate=gate, place=place)
        with attacks_on_record(self.space), self.space.database.write() as execute:
            self.space.check_open(execute, self.stack)
            number = self.space.places.make(execute, place)
            session = self._opened(execute)
            for row in batch.rows:
                row["place"], row["session"] = number, session.number
            self.writer.hold(batch)
            if revision is None:
                self.writer.keep(execute, batch)
            else:
                self.writer.revise(execute, batch, revision, session.number)
            if also is not None:
                also(execute, session)
        self.session = session
        if batch.incoming is not None:
            self.verdict = batch.incoming.verdict
        return [row["uid"] for row in batch.rows]

    def _opened(self, execute: Execute) -> Session:
        """The session in the database, begun with the first thing that is written in it.

        A later write finds it by its name, so that nothing is remembered of a transaction that is rolled back.
        """
        if self.session is not None:
            return self.session
        return self.space.sessions.open(
            execute,
            self.name,
            agent=self.agent,
            stack=self.stack,
            scope=self.scope,
            at=self.space.clock.now(),
        )

    def relate(self, source: Row, relation: str, target: Row, weight: float) -> None:
        """Relate two records; where either is private the relation is as well.

        Raises:
            ValueError: the relation or its weight cannot be used. MaintenanceModeError: as `keep_all` says.
        """
        self.masked.clear()
        with attacks_on_record(self.space):
            relation = masked_text(checked_relation(self.space, relation, self.agent), self.masked)
        if not math.isfinite(weight) or weight <= 0:
            raise ValueError("a relation needs a weight above 0")
        if relation == MERGED_INTO:
            raise ValueError(f"{MERGED_INTO} is made by remember alone")
        if source["id"] == target["id"]:
            raise ValueError("a record cannot be related to itself")
        for end in (source, target):
            self.record_writer.check_right(end["place"])
        private = self.space.places.numbered(target["place"]).owner
        place = target["place"] if private else source["place"]
        edge = Edge(source["id"], relation, target["id"], weight)
        with self.space.database.write() as execute:
            self.space.check_open(execute, self.stack)
            self.space.edges.add(execute, edge, place=place, agent=self.agent, at=self.space.clock.now())

    def change(
        self,
        row: Row,
        changes: Mapping[str, Any],
        operation: str,
        reason: str,
        *,
        also: Callable[[Execute], object] | None = None,
    ) -> None:
        """Change something of a record that is not its content, and say why in its history.

        Args:
            also: does what has to be committed with it.
        """
        self.record_writer.check_right(row["place"])
        self.masked.clear()
        reason = self.space.screening.text(reason, self.space.places.numbered(row["place"]).scope)
        with self.space.database.write() as execute:
            self.record_writer.change(execute, row, changes, operation, reason)
            if also is not None:
                also(execute)

    def note_read(self, operation: str, shown: Iterable[Memory]) -> None:
        """Logs that memories reached the agent's context without a query."""
        memories = {memory.id: memory for memory in shown}
        rows = self.space.records.known(list(memories))
        hits = [(row["id"], 1.0) for row in rows.values()]
        self.broadcast(operation, "", hits, list(memories.values()))

    def broadcast(
        self,
        operation: str,
        query: str,
        hits: Sequence[tuple[int, float]],
        memories: Sequence[Memory],
        *,
        scope: str | None = None,
    ) -> None:
        """Logs what reached the agent's context; the records do not change.

        Args:
            scope: that was read, by default the session's.
        """
        scope = scope or self.scope
        if query:
            self.masked.clear()
            query = self.space.screening.text(masked_text(query, self.masked), scope)
        tokens = sum(estimated_tokens(memory.content) for memory in memories)
        with self.space.database.write() as execute:
            session = self._opened(execute)
            self.space.reads.append(
                execute, operation, query, hits, at=self.space.clock.now(), agent=self.agent,
                session=session.number, tokens=tokens, purpose=self.space.reader.purpose(scope),
            )  # fmt: skip
        self.session = session


def _checked(what: str, name: str) -> str:
    return refuse_secret(what, checked_name(what, name))


def _checked_scope(scope: str) -> str:
    return refuse_secret("scope", checked_scope(scope))
