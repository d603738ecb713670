"""A plain model of who may do what with memories, to compare with the real thing on random homes.

It knows the rules of docs/reference/memory-access.md, reading-policy.md, personal-data.md and memory-trust.md, and nothing
of how they are built: no SQL, no caches, one question at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

DAY_S = 86_400
BASE_TRUST = {"agent-written": 0.7, "derived": 0.6, "ingested-document": 0.5, "tool-output": 0.4}


def means(pattern: str, name: str) -> bool:
    """A pattern is a name, or its beginning and `*`."""
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern


def rule(rules: Mapping[str, Any], scope: str) -> Any:
    """The rule of a scope: that of its own name, else of the longest pattern; None without one."""
    fitting = [pattern for pattern in rules if means(pattern, scope)]
    return rules[scope] if scope in rules else rules[max(fitting, key=len)] if fitting else None


@dataclass(frozen=True)
class ModelRow:
    """One memory as the database has it; `word` stands in its text and in no other."""

    number: int
    uid: str
    word: str
    kind: str
    state: str
    scope: str
    owner: str
    agent: str
    source_type: str
    updated_at: float
    fields: Mapping[str, Any]
    sources: frozenset[int]  # all that it was derived from, in any number of steps


@dataclass
class Model:
    """The rules of one home.

    Args:
        access, reading, personal_data, includes: as the settings of memory have them.
        readers: of personal data. refused: pairs of agent and scope that charters refuse. standings: trust in agents.
    """

    access: Mapping[str, Mapping[str, Sequence[str]]]
    reading: Mapping[str, Mapping[str, Any]]
    personal_data: Mapping[str, str]
    includes: Mapping[str, Sequence[str]]
    readers: Sequence[str]
    sync_scopes: Sequence[str]
    trust_floor: float
    refused: frozenset[tuple[str, str]]
    standings: Mapping[str, float]
    now: float = 0.0
    rows: dict[int, ModelRow] = field(default_factory=dict)

    def may(self, agent: str, right: str, scope: str) -> bool:
        if (agent, scope) in self.refused:
            return False
        found = rule(self.access, scope)
        return found is None or any(means(pattern, agent) for pattern in found.get(right, ()))

    def chain(self, scope: str) -> list[str]:
        """The scopes read from a scope."""
        found = [scope]
        for each in found:
            for pattern, included in self.includes.items():
                if means(pattern, each):
                    found += [one for one in included if one not in found]
        return [*found, *(() if "global" in found else ("global",))]

    def in_view(self, row: ModelRow, agent: str, scopes: Sequence[str]) -> bool:
        """The place of a row is seen by an agent that reads these scopes."""
        return row.owner in ("", agent) and row.scope in scopes and self.may(agent, "read", row.scope)

    def granted(self, row: ModelRow, agent: str) -> bool:
        grants, agreed = row.fields.get("access_grants"), row.fields.get("consent_grants")
        if grants is not None and agent not in (row.agent, *grants):
            return False
        return agreed is None or not self.lacks_consent(row)

    def lacks_consent(self, row: ModelRow) -> bool:
        about, agreed = row.fields.get("subject_ids") or (), row.fields.get("consent_grants") or ()
        return not set(about) <= set(agreed)

    def policy_allows(self, row: ModelRow, agent: str) -> bool:
        found = rule(self.reading, row.scope)
        if found is None:
            return True
        if not any(means(pattern, agent) for pattern in found.get("readers", ("*",))):
            return False
        if found.get("consent") and self.lacks_consent(row):
            return False
        age = found.get("max_age_s")
        return not age or self.now - row.updated_at <= age

    def between_others(self, row: ModelRow, agent: str) -> bool:
        recipient = row.fields.get("recipient") or ""
        return row.kind == "handoff" and recipient not in ("", agent) and row.agent != agent

    def trust(self, row: ModelRow) -> float:
        base = BASE_TRUST.get(row.source_type, 0.4)
        standing = self.standings.get(row.agent)
        return base if standing is None else base * standing / 0.5  # homes give none above 0.5

    def below_floor(self, row: ModelRow) -> bool:
        chain = [row, *(self.rows[number] for number in row.sources)]
        return bool(self.trust_floor) and min(map(self.trust, chain)) < self.trust_floor

    def reads(self, row: ModelRow, agent: str, states: Sequence[str] = ()) -> bool:
        """An agent that has a row in view may read what it says; `states` do not matter."""
        return (
            row.state in (*states, "active", "forgotten", "superseded")
            and self.granted(row, agent)
            and self.policy_allows(row, agent)
            and not self.between_others(row, agent)
        )

    def changes(self, row: ModelRow, agent: str) -> bool:
        """An agent that has an active row in view may change how it stands."""
        least = self.standings.get(agent, 0.5) < self.standings.get(row.agent, 0.5)
        return self.may(agent, "write", row.scope) and not (least and agent != row.agent)

    def written(self, agent: str, scope: str) -> str:
        """What becomes of a text with personal data that an agent writes in a scope."""
        return str(rule(self.personal_data, scope) or "keep") if self.may(agent, "write", scope) else "denied"

    def masks(self, agent: str) -> bool:
        """Personal data is masked for an agent."""
        return not any(means(pattern, agent) for pattern in self.readers)
