"""Who may do what with the memories of a scope: the setting `memory.access`, and how a project file narrows it.

Source: the memory whitepaper, "rbac". A scope follows one rule, see `sb.config.scope_patterns`; it says
for each right which agents have it, and nobody has a right that it leaves out. A scope without a rule is open to all.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sb.config.document import Entry
from sb.config.kinds import SCOPE, Kind, Reading, listing, mapping, matching
from sb.config.narrowing import Narrow
from sb.config.scope_patterns import ANY, rule_of
from sb.text import nearest

READ, WRITE, PROMOTE, SHARE = RIGHTS = ("read", "write", "promote", "share")
_AGENT = r"[^*\x00-\x1f\x7f]+\*?|\*"  # only at the end: what two patterns have in common is one of them then
Rule = Mapping[str, tuple[str, ...]]
Access = Mapping[str, Rule]


def allows(access: Access, right: str, scope: str, agent: str) -> bool:
    """Whether an agent has a right in a scope.

    Args:
        right: one of RIGHTS. agent: "" for somebody who is not named, whom `*` alone means.
    """
    rule = rule_of(access, scope)
    return rule is None or any(covers(pattern, agent) for pattern in rule.get(right, ()))


def covers(pattern: str, agent: str) -> bool:
    """Whether a pattern of agents means an agent, or all that another pattern means."""
    if pattern == ANY:
        return True
    return agent.startswith(pattern[:-1]) if pattern.endswith(ANY) else agent == pattern


def access_kind() -> Kind[Access]:
    """Scopes, each with rights, each with agents."""
    agents = listing(matching("an agent's name, or the beginning of names and *", _AGENT))

    def parse_right(entry: Entry, key: str, reading: Reading) -> tuple[str, ...] | None:
        if entry.key not in RIGHTS:
            reading.wrong(entry, key, "is no right" + nearest(entry.key, RIGHTS))
            return None
        return agents.parse(entry.value, key, reading)

    rights = mapping("a mapping of rights", parse_right)

    def parse_scope(entry: Entry, key: str, reading: Reading) -> Rule | None:
        if entry.key != ANY and not SCOPE.fullmatch(entry.key):
            reading.wrong(entry, key, "is no scope, no pattern such as project:*, and not *")
            return None
        if (
            ANY in entry.key[:-1]
        ):  # of two patterns that fit a scope one means the other's then: it can be narrowed
            reading.wrong(entry, key, "has a * that is not at its end")
            return None
        return rights.parse(entry.value, key, reading)

    return mapping(
        "a mapping of scopes or patterns such as project:* to rights to lists of agents", parse_scope
    )


def fewer_agents() -> Narrow[Access]:
    """Rules for scopes that had none, and in each other one the agents that both name."""

    def apply(ours: Access, theirs: Access) -> tuple[Access, tuple[str, ...]]:
        found, refused = dict(ours), []
        for name, asked in theirs.items():
            former = rule_of(ours, name)
            if former is None:
                found[name] = asked
                continue
            met: dict[str, tuple[str, ...]] = {}
            for right, agents in asked.items():
                known = former.get(right, ())
                met[right] = tuple(dict.fromkeys(one for agent in agents for one in _both(known, agent)))
                refused += [f"{name} {right} {agent}" for agent in agents if agent not in met[right]]
            found[name] = MappingProxyType(met)
        return MappingProxyType(found), tuple(refused)

    return Narrow("fewer agents for each right", apply)


def _both(known: tuple[str, ...], agent: str) -> list[str]:
    """The agents that one of these patterns means, and another pattern too."""
    if any(covers(pattern, agent) for pattern in known):
        return [agent]
    return [pattern for pattern in known if covers(agent, pattern)]
