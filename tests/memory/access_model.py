"""A plain model of who may do what with memories, to compare with the real thing on random homes.

It knows the rules of docs/reference/memory-access.md, reading-policy.md, personal-data.md and memory-trust.md, and nothing
of how they are built: no SQL, no caches, no layers, one question at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

DAY_S = 86_400
BASE_TRUST = {"agent-written": 0.7, "derived": 0.6, "ingested-document": 0.5, "tool-output": 0.4}


RIGHTS = ("read", "write", "promote", "share")
STRICTER = ("keep", "escalate", "redact", "drop")


def means(pattern: str, name: str) -> bool:
    """A pattern is a name, in which `*` stands for any characters."""
    before, star, after = pattern.partition("*")
    if not star:
        return name == pattern
    rests = (name[end:] for end in range(len(before), len(name) + 1))
    return name.startswith(before) and any(means(after, rest) for rest in rests)


def rules(layer: Mapping[str, Mapping[str, Any]], scope: str, key: str) -> list[Any]:
    """The answers of a layer for a scope that count alike: its own name's, else those of the longest patterns."""
    fitting = [pattern for pattern in layer if means(pattern, scope)]
    saying = [pattern for pattern in fitting if key in layer[pattern]]
    if scope in saying:
        return [layer[scope][key]]
    if saying:
        most = max(map(len, saying))
        return [layer[pattern][key] for pattern in saying if len(pattern) == most]
    closed = key in RIGHTS and any(right in layer[pattern] for pattern in fitting for right in RIGHTS)
    return [()] if closed else []


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
        layers: of the setting `memory.scopes`, each of which only narrows. readers: of personal data. refused: pairs of agent and scope that charters refuse. standings: trust in agents.
    """

    layers: Sequence[Mapping[str, Mapping[str, Any]]]
    readers: Sequence[str]
    sync_scopes: Sequence[str]
    refused: frozenset[tuple[str, str]]
    standings: Mapping[str, float]
    now: float = 0.0
    rows: dict[int, ModelRow] = field(default_factory=dict)

    def answers(self, key: str, scope: str) -> list[Any]:
        return [answer for layer in self.layers for answer in rules(layer, scope, key)]

    def may(self, agent: str, right: str, scope: str) -> bool:
        if (agent, scope) in self.refused:
            return False
        return all(any(means(pattern, agent) for pattern in agents) for agents in self.answers(right, scope))

    def chain(self, scope: str) -> list[str]:
        """The scopes read from a scope."""
        found = [scope]
        for each in found:
            first, *others = self.answers("includes", each) or [()]
            found += [item for item in first if item not in found and all(item in other for other in others)]
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
        if any(self.answers("consent", row.scope)) and self.lacks_consent(row):
            return False
        ages = filter(None, self.answers("max_age", row.scope))
        return all(self.now - row.updated_at <= age for age in ages)

    def between_others(self, row: ModelRow, agent: str) -> bool:
        recipient = row.fields.get("recipient") or ""
        return row.kind == "handoff" and recipient not in ("", agent) and row.agent != agent

    def trust(self, row: ModelRow) -> float:
        base = BASE_TRUST.get(row.source_type, 0.4)
        standing = self.standings.get(row.agent)
        return base if standing is None else base * standing / 0.5  # homes give none above 0.5

    def below_floor(self, row: ModelRow) -> bool:
        chain = [row, *(self.rows[number] for number in row.sources)]
        return min(map(self.trust, chain)) < max(self.answers("trust_floor", row.scope), default=0.0)

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
        return (
            self.reads(row, agent)
            and self.may(agent, "write", row.scope)
            and not (least and agent != row.agent)
        )

    def written(self, agent: str, scope: str) -> str:
        """Outcome for a text with personal data that an agent writes in a scope."""
        if not self.may(agent, "write", scope):
            return "denied"
        return max(self.answers("personal_data", scope), key=STRICTER.index, default="keep")

    def masks(self, agent: str) -> bool:
        """Personal data is masked for an agent."""
        return not any(means(pattern, agent) for pattern in self.readers)
