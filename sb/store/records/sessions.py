"""Sessions: one row each, created by the first write or read of an agent in it."""

from __future__ import annotations

from collections.abc import Sequence

from sb.base.values.frozen import frozen
from sb.store.database import Database
from sb.store.records.places import Execute


@frozen
class Session:
    """A session of one agent.

    Args:
        number: what records refer to. name: what people and hosts call it.
        started_at, ended_at: seconds since the epoch; None while it goes on.
    """

    number: int
    name: str
    agent: str
    stack: str
    scope: str
    started_at: float
    ended_at: float | None = None


_COLUMNS = "id, name, agent, stack, scope, started_at, ended_at"


class Sessions:
    """The sessions of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def open(self, execute: Execute, name: str, *, agent: str, stack: str, scope: str, at: float) -> Session:
        """The session of that name, begun now unless there is one; one that had ended goes on. Within a write transaction.

        Raises:
            ValueError: it is another agent's.
        """
        execute(
            "INSERT INTO memory_sessions (name, agent, stack, scope, started_at) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (name) DO UPDATE SET ended_at = NULL",
            (name, agent, stack, scope, at),
        )
        session = self.find(name, agent=agent, stack=stack)
        assert session is not None
        return session

    def find(self, name: str, *, agent: str, stack: str) -> Session | None:
        """An agent's session, if it has begun.

        Raises:
            ValueError: it is another agent's.
        """
        session = self.named(name)
        if session is not None and (session.agent, session.stack) != (agent, stack):
            raise ValueError(f"session {name!r} is {session.agent}'s, in stack {session.stack!r}")
        return session

    def bring(self, execute: Execute, session: Session) -> Session:
        """The session of that name, as another database has it unless there is one already; its number is given here.

        Raises:
            ValueError: the one that is here is another agent's.
        """
        execute(
            "INSERT INTO memory_sessions (name, agent, stack, scope, started_at, ended_at) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (name) DO NOTHING",
            (session.name, session.agent, session.stack, session.scope, session.started_at, session.ended_at),
        )
        found = self.find(session.name, agent=session.agent, stack=session.stack)
        assert found is not None
        return found

    def past(self, execute: Execute, session: Session, first: float, last: float) -> None:
        """Say of a session that is over from when to when it went on, in seconds since the epoch; what is known counts."""
        execute(
            "UPDATE memory_sessions SET started_at = min(started_at, ?1), ended_at = max(coalesce(ended_at, ?2), ?2)"
            " WHERE id = ?3",
            (first, last, session.number),
        )

    def of_places(self, places: Sequence[int], last: int) -> list[Session]:
        """The sessions in which any record up to the number `last` in these places was written."""
        marks = ", ".join("?" * len(places)) or "NULL"
        rows = self._database.query(
            f"SELECT {_COLUMNS} FROM memory_sessions WHERE id IN"
            f" (SELECT session FROM records WHERE place IN ({marks}) AND id <= ?) ORDER BY id",
            (*places, last),
        )
        return [Session(*row) for row in rows]

    def end(self, execute: Execute, session: Session, at: float) -> None:
        execute("UPDATE memory_sessions SET ended_at = ? WHERE id = ?", (at, session.number))

    def named(self, name: str) -> Session | None:
        rows = self._database.query(f"SELECT {_COLUMNS} FROM memory_sessions WHERE name = ?", (name,))
        return Session(*rows[0]) if rows else None

    def numbered(self, number: int) -> Session | None:
        rows = self._database.query(f"SELECT {_COLUMNS} FROM memory_sessions WHERE id = ?", (number,))
        return Session(*rows[0]) if rows else None

    def count(self) -> int:
        return int(self._database.query("SELECT count(*) FROM memory_sessions")[0][0])
