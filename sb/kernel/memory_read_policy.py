"""The reading policy: purpose, consent and freshness of what an agent reads, and the record of what it was denied.

Source: the survival layer, "memory-read policy". The rules are the operator's, `memory.reading`; an agent cannot name a
purpose for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Any

import orjson

from sb.config.reading import ReadRule, ReadRules
from sb.duration import human_age
from sb.store.database import Database
from sb.store.records.columns import ACTIVE, Row
from sb.store.records.places import Execute, Places

_MOST_DENIALS = 1_000  # of one operation, that are named one by one


@dataclass(frozen=True)
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


def rule_for(rules: ReadRules, scope: str) -> ReadRule | None:
    """The rule of a scope: by its own name, else by the longest pattern; None where there is none."""
    names = [scope, *sorted(rules, key=len, reverse=True)]
    return next((rules[one] for one in names if one in rules and fnmatchcase(scope, one)), None)


class ReadPolicy:
    """What one agent may read of one database.

    Args:
        agent: who reads; None for an operator, who reads everything. now: seconds since the epoch.
    """

    def __init__(
        self,
        database: Database,
        rules: ReadRules,
        places: Places,
        agent: Callable[[], str | None],
        now: Callable[[], float],
    ) -> None:
        self._database, self._rules, self._places = database, rules, places
        self._agent, self._now = agent, now
        self._denied: dict[tuple[str, str, str], int] = {}  # scope, reason and record to how many memories

    def purpose(self, scope: str) -> str:
        """For what this agent reads a scope; "" where no rule says."""
        rule = rule_for(self._rules, scope)
        return rule.purpose if rule is not None and self._reads(rule) else ""

    def refusal(self, row: Row) -> str:
        """Why this agent may not read a record, which is remembered until `flush`; "" if it may."""
        reason = self.reason(row)
        if reason and len(self._denied) < _MOST_DENIALS:
            self._denied[self._places.numbered(row["place"]).scope, reason, row["uid"]] = 1
        return reason

    def reason(self, row: Row) -> str:
        """`refusal` of a record that nobody asked for: it is not put on record."""
        rule = rule_for(self._rules, self._places.numbered(row["place"]).scope)
        return "" if rule is None or self._agent() is None else self._reason(rule, row)

    def hidden(self, numbers: Sequence[int]) -> list[int]:
        """The numbers of the records in these places that this agent may not read.

        How many of them are active, and so could have been found, is remembered by reason.
        """
        if self._agent() is None:
            return []
        ruled = [
            one for one in numbers if rule_for(self._rules, self._places.numbered(one).scope) is not None
        ]
        if not ruled:
            return []
        columns = ("id", "place", "state", "fields", "updated_at")
        marks = ", ".join("?" * len(ruled))
        rows = self._database.query(
            f"SELECT {', '.join(columns)} FROM records WHERE place IN ({marks}) AND state <> 'erased'",
            tuple(ruled),
        )
        found, counts = [], dict[tuple[str, str, str], int]()
        for values in rows:
            row = dict(zip(columns, values, strict=True))
            scope = self._places.numbered(row["place"]).scope
            rule = rule_for(self._rules, scope)
            if rule is not None and (reason := self._reason(rule, row)):
                found.append(row["id"])
                if row["state"] == ACTIVE:
                    counts[scope, reason, ""] = counts.get((scope, reason, ""), 0) + 1
        self._denied |= counts
        return found

    def flush(self, execute: Execute) -> None:
        """Put on record what was denied since the last time, within a transaction."""
        for (scope, reason, record), memories in self._denied.items():
            rule = rule_for(self._rules, scope)
            execute(
                "INSERT INTO denied_reads (at, agent, scope, purpose, reason, record, memories)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    self._now(),
                    self._agent() or "",
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
        """Whether something waits for `flush`."""
        return bool(self._denied)

    def _reads(self, rule: ReadRule) -> bool:
        agent = self._agent() or ""
        return any(fnmatchcase(agent, pattern) for pattern in rule.readers)

    def _reason(self, rule: ReadRule, row: Row) -> str:
        if not self._reads(rule):
            return (
                f"its scope is read for {rule.purpose} only"
                if rule.purpose
                else "its scope has other readers"
            )
        if rule.consent and '"subject_ids"' in row["fields"]:
            fields = orjson.loads(row["fields"])
            if set(fields.get("subject_ids") or ()) - set(fields.get("consent_grants") or ()):
                return "somebody whom it is about has not agreed"
        if rule.max_age_s and self._now() - row["updated_at"] > rule.max_age_s:
            return f"it is older than {human_age(rule.max_age_s)}"
        return ""


def denied_reads(database: Database, *, agent: str = "", limit: int = 0) -> list[DeniedRead]:
    """What reads did not give, the latest first.

    Args:
        agent: only of this one. limit: the most that are listed, 0 for all.
    """
    rows = database.query(
        "SELECT at, agent, scope, purpose, reason, record, memories FROM denied_reads"
        " WHERE (? = '' OR agent = ?) ORDER BY id DESC LIMIT ?",
        (agent, agent, limit or -1),
    )
    return [DeniedRead(*row) for row in rows]
