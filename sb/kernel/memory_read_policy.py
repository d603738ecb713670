"""The reading policy: purpose, consent and freshness of what an agent reads, and the record of what it was denied.

Source: the survival layer, "memory-read policy". The rules are the operator's, `memory.reading`; an agent cannot name a
purpose for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from sb.base.duration import human_age
from sb.base.values.frozen import frozen
from sb.config.access import ReadRule, ReadRules
from sb.config.scope_patterns import rule_of
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
        rules: ReadRules,
        places: Places,
        agents: Callable[[], Sequence[str]],
        now: Callable[[], float],
    ) -> None:
        self._database, self._rules, self._places = database, rules, places
        self._agents, self._now = agents, now
        self._denied: dict[tuple[str, str, str], int] = {}  # scope, reason and record to how many memories
        self._counts: tuple[Any, Any, dict[tuple[str, str, str], int]] | None = None

    def purpose(self, scope: str) -> str:
        """For what this agent reads a scope; "" where no rule says."""
        rule = rule_of(self._rules, scope)
        return rule.purpose if rule is not None and self._agents() and self._reads(rule) else ""

    def refusal(self, row: Row) -> str:
        """The reason why this agent may not read a record, which is remembered until `flush`; "" if it may."""
        reason = self.reason(row)
        if reason and len(self._denied) < _MOST_DENIALS:
            self._denied[self._places.numbered(row["place"]).scope, reason, row["uid"]] = 1
        return reason

    def reason(self, row: Row) -> str:
        """`refusal` of a record that nobody asked for: it is not put on record."""
        rule = rule_of(self._rules, self._places.numbered(row["place"]).scope)
        return self._reason(rule, row) if rule is not None and self._agents() else ""

    def condition(self, numbers: Sequence[int]) -> Condition:
        """The records in these places that this agent may not read, as SQL over `r`; "" for none.

        How many of them are active, and so could have been found, is remembered by reason.
        """
        if not self._agents():
            return "", ()
        parts = [part for number in numbers for part in self._parts(number)]
        if not parts:
            return "", ()
        for (scope, reason, _), memories in self._counted(parts).items():
            self._denied[scope, reason, ""] = memories
        return " OR ".join(f"({part.sql})" for part in parts), tuple(
            value for part in parts for value in part.parameters
        )

    def _parts(self, number: int) -> list[_Part]:
        """The parts that a place's rule withholds, by reason; as `_reason` judges one record."""
        scope = self._places.numbered(number).scope
        rule = rule_of(self._rules, scope)
        if rule is None:
            return []
        if not self._reads(rule):
            return [_Part(scope, _other_readers(rule), "r.place = ?", (number,))]
        found = []
        if rule.consent:
            found.append(_Part(scope, NOT_AGREED, f"r.place = ? AND {LACKS_CONSENT}", (number,)))
        if rule.max_age_s:
            agreed = f"NOT ({LACKS_CONSENT})" if rule.consent else "1"
            stale = f"r.place = ? AND r.updated_at < ? AND {agreed}"
            found.append(_Part(scope, _too_old(rule), stale, (number, self._now() - rule.max_age_s)))
        return found

    def _counted(self, parts: Sequence[_Part]) -> dict[tuple[str, str, str], int]:
        """Counts of active records that each part withholds; refreshed after a write, or after a minute."""
        stamp = tuple(self._database.query(_STAMP)[0]), int(self._now() // 60)
        key = tuple((part.reason, part.parameters[0]) for part in parts)
        if self._counts is None or self._counts[:2] != (stamp, key):
            counts: dict[tuple[str, str, str], int] = {}
            for part in parts:
                sql = f"SELECT count(*) FROM records AS r WHERE r.state = 'active' AND {part.sql}"
                if memories := self._database.query(sql, part.parameters)[0][0]:
                    name = part.scope, part.reason, ""
                    counts[name] = counts.get(name, 0) + memories
            self._counts = stamp, key, counts
        return self._counts[2]

    def flush(self, execute: Execute) -> None:
        """Put on record what was denied since the last time, within a transaction."""
        for (scope, reason, record), memories in self._denied.items():
            rule = rule_of(self._rules, scope)
            execute(
                "INSERT INTO denied_reads (at, agent, scope, purpose, reason, record, memories)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    self._now(),
                    (*self._agents(),)[-1] if self._agents() else "",
                    scope,
                    rule.purpose if rule else "",
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

    def _reads(self, rule: ReadRule) -> bool:
        return all(any(fnmatchcase(agent, one) for one in rule.readers) for agent in self._agents())

    def _reason(self, rule: ReadRule, row: Row) -> str:
        if not self._reads(rule):
            return _other_readers(rule)
        if rule.consent and row_lacks_consent(row):
            return NOT_AGREED
        if rule.max_age_s and self._now() - row["updated_at"] > rule.max_age_s:
            return _too_old(rule)
        return ""


class _Part(NamedTuple):
    """The records of a place that one reason withholds, as SQL over `r`; the place is the first parameter."""

    scope: str
    reason: str
    sql: str
    parameters: tuple[Any, ...]


def _other_readers(rule: ReadRule) -> str:
    return f"its scope is read for {rule.purpose} only" if rule.purpose else "its scope has other readers"


def _too_old(rule: ReadRule) -> str:
    return f"it is older than {human_age(rule.max_age_s)}"


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
