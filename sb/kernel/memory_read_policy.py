"""The reading policy: purpose, consent and freshness of what an agent reads, and the record of what it was denied.

Source: the survival layer, "memory-read policy". The rules are the operator's, `memory.scopes`; an agent cannot name a
purpose for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from sb.base.duration import human_age
from sb.base.values.frozen import frozen
from sb.config.scopes import READ, Scopes
from sb.store.database import Database
from sb.store.records.columns import Row
from sb.store.records.consent import LACKS_CONSENT, NOT_AGREED, row_lacks_consent
from sb.store.records.places import Execute, Places

_MOST_DENIALS = 1_000  # of one operation, that are named one by one
Condition = tuple[str, tuple[Any, ...]]
# Every new record and every change of one makes one of these another number.
_STAMP = (
    "SELECT (SELECT max(id) FROM records), (SELECT max(id) FROM record_history),"
    " (SELECT value FROM index_state WHERE name = 'changes')"
)


@frozen
class DeniedRead:
    """Memories that a read did not give.

    Args:
        purpose: of the scope's rule. reason: why. record: the id of the memory, or "" for what a search left out.
        memories: how many. at: seconds since the epoch.
    """

    at: float
    agent: str
    scope: str
    purpose: str
    reason: str
    record: str
    memories: int

    def as_json(self) -> dict[str, Any]:
        """Its fields as plain JSON."""
        return asdict(self)


class ReadPolicy:
    """The reading rules of one database, for agents that read together.

    Args:
        agents: who reads, the last of whom is on record; none for an operator, who reads everything.
        now: seconds since the epoch.
    """

    def __init__(
        self,
        database: Database,
        scopes: Scopes,
        places: Places,
        agents: Callable[[], Sequence[str]],
        now: Callable[[], float],
    ) -> None:
        self._database, self._scopes, self._places = database, scopes, places
        self._agents, self._now = agents, now
        self._denied: dict[tuple[str, str, str], int] = {}  # scope, reason and record to how many memories
        self._counts: dict[Any, dict[tuple[str, str, str], int]] = {}
        self._stamp: Any = None  # of the database that they are of

    def purpose(self, scope: str) -> str:
        """For what this agent reads a scope; "" where no rule says."""
        return str(self._scopes.answer("purpose", scope)) if self._agents() and self._reads(scope) else ""

    def refusal(self, row: Row) -> str:
        """The reason why this agent may not read a record, which is remembered until `flush`; "" if it may."""
        reason = self.reason(row)
        if reason and len(self._denied) < _MOST_DENIALS:
            self._denied[self._places.numbered(row["place"]).scope, reason, row["uid"]] = 1
        return reason

    def reason(self, row: Row) -> str:
        """`refusal` of a record that nobody asked for: it is not put on record."""
        if not self._agents():
            return ""
        scope = self._places.numbered(row["place"]).scope
        if not self._reads(scope):
            return self._other_readers(scope)
        if self._scopes.answer("consent", scope) and row_lacks_consent(row):
            return NOT_AGREED
        age = self._scopes.answer("max_age", scope)
        return _too_old(age) if age and self._now() - row["updated_at"] > age else ""

    def condition(self, numbers: Sequence[int]) -> Condition:
        """The records in these places that this agent may not read, as SQL over `r`; "" for none.

        How many of them are active, and so could have been found, is remembered by reason.
        """
        if not self._agents():
            return "", ()
        parts = [part for number in numbers for part in self._parts(number)]
        self._remember(parts)
        return " OR ".join(f"({part.sql})" for part in parts), tuple(
            value for part in parts for value in part.parameters
        )

    def _parts(self, number: int) -> list[_Part]:
        """The parts that a place's rule withholds, by reason; as `reason` judges one record."""
        scope = self._places.numbered(number).scope
        if not self._reads(scope):
            return [_Part(scope, self._other_readers(scope), "r.place = ?", (number,))]
        consent, age, found = self._scopes.answer("consent", scope), self._scopes.answer("max_age", scope), []
        if consent:
            found.append(_Part(scope, NOT_AGREED, f"r.place = ? AND {LACKS_CONSENT}", (number,)))
        if age:
            agreed = f"NOT ({LACKS_CONSENT})" if consent else "1"
            stale = f"r.place = ? AND r.updated_at < ? AND {agreed}"
            found.append(_Part(scope, _too_old(age), stale, (number, self._now() - age)))
        return found

    def _remember(self, parts: Sequence[_Part]) -> None:
        """Remember the active records that parts withhold; they are counted after a write, or after a minute."""
        if not parts:
            return
        stamp = tuple(self._database.query(_STAMP)[0]), int(self._now() // 60)
        if stamp != self._stamp:
            self._stamp, self._counts = stamp, {}
        key = tuple((part.reason, part.parameters[0]) for part in parts)
        if key not in self._counts:
            counts: dict[tuple[str, str, str], int] = {}
            for part in parts:
                sql = f"SELECT count(*) FROM records AS r WHERE r.state = 'active' AND {part.sql}"
                if memories := self._database.query(sql, part.parameters)[0][0]:
                    name = part.scope, part.reason, ""
                    counts[name] = counts.get(name, 0) + memories
            self._counts[key] = counts
        self._denied |= self._counts[key]

    def flush(self, execute: Execute) -> None:
        """Put on record what was denied since the last time, within a transaction."""
        for (scope, reason, record), memories in self._denied.items():
            execute(
                "INSERT INTO denied_reads (at, agent, scope, purpose, reason, record, memories)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    self._now(),
                    (*self._agents(),)[-1] if self._agents() else "",
                    scope,
                    self._scopes.answer("purpose", scope),
                    reason,
                    record,
                    memories,
                ),
            )
        self._denied.clear()

    @property
    def has_denied(self) -> bool:
        """True if something waits for `flush`."""
        return bool(self._denied)

    def _reads(self, scope: str) -> bool:
        return all(self._scopes.allows(READ, scope, agent) for agent in self._agents())

    def _other_readers(self, scope: str) -> str:
        purpose = self._scopes.answer("purpose", scope)
        return f"its scope is read for {purpose} only" if purpose else "its scope has other readers"


class _Part(NamedTuple):
    """The records of a place that one reason withholds, as SQL over `r`; the place is the first parameter."""

    scope: str
    reason: str
    sql: str
    parameters: tuple[Any, ...]


def _too_old(age: int) -> str:
    return f"it is older than {human_age(age)}"


def denied_reads(database: Database, *, agent: str = "", limit: int = 0) -> list[DeniedRead]:
    """Denied reads, the latest first.

    Args:
        agent: only of this one. limit: the most that are listed, 0 for all.
    """
    rows = database.query(
        "SELECT at, agent, scope, purpose, reason, record, memories FROM denied_reads"
        " WHERE (? = '' OR agent = ?) ORDER BY id DESC LIMIT ?",
        (agent, agent, limit or -1),
    )
    return [DeniedRead(*row) for row in rows]
