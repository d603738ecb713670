"""Rights in scopes of memory: the settings `memory.access`, which project files narrow, and `memory.reading`.

Source: the memory whitepaper, "rbac". A scope follows one rule, see `sb.config.scope_patterns`; it says
for each right which agents have it, and nobody has a right that it leaves out. A scope without a rule is open to all.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sb.base.reading import Field, Kind, duration, flag, listing, mapping, matching, record, text
from sb.base.values.frozen import frozen
from sb.config.kinds import no_scope
from sb.config.narrowing import Narrow
from sb.config.scope_patterns import ANY, rule_of

READ, WRITE, PROMOTE, SHARE = RIGHTS = ("read", "write", "promote", "share")
_AGENT = r"[^*\x00-\x1f\x7f]+\*?|\*"  # only at the end: what two patterns have in common is one of them then
Rule = Mapping[str, tuple[str, ...]]
Access = Mapping[str, Rule]


def allows(access: Access, right: str, scope: str, agent: str) -> bool:
    """True if an agent has a right in a scope.

    Args:
        right: one of RIGHTS. agent: "" for somebody who is not named, whom `*` alone means.
    """
    rule = rule_of(access, scope)
    return rule is None or any(covers(pattern, agent) for pattern in rule.get(right, ()))


def covers(pattern: str, agent: str) -> bool:
    """True if a pattern of agents means an agent, or all that another pattern means."""
    if pattern == ANY:
        return True
    return agent.startswith(pattern[:-1]) if pattern.endswith(ANY) else agent == pattern


def access_kind() -> Kind[Access]:
    """Scopes, each with rights, each with agents."""
    agents = listing(matching("an agent's name, or the beginning of names and *", _AGENT))
    rights: Kind[Rule] = record(
        [Field(right, agents) for right in RIGHTS], lambda values, place: values, "a mapping of rights"
    )
    label = "a mapping of scopes or patterns such as project:* to rights to lists of agents"
    return mapping(rights, label, _no_pattern)


def _no_pattern(name: str) -> str:
    # Of two patterns that fit a scope one means the other's then: it can be narrowed.
    return no_scope(name) or ("has a * that is not at its end" if ANY in name[:-1] else "")


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


@frozen
class ReadRule:
    """Readers of a scope's memories.

    Args:
        purpose: for what; it is in the log of each read. readers: patterns of the agents that read for it.
        consent: whether everybody whom a memory is about has to have agreed. max_age_s: seconds after which a memory that
            was neither written nor changed is stale; 0 for never.
    """

    purpose: str = ""
    readers: tuple[str, ...] = ("*",)
    consent: bool = False
    max_age_s: int = 0


ReadRules = Mapping[str, ReadRule]
_READ_FIELDS = (
    Field("purpose", text("what the memories are read for, such as support")),
    Field("readers", listing(text("a pattern of agents' names, such as support-*"))),
    Field("consent", flag()),
    Field("max_age", duration()),
)


def read_rules_kind() -> Kind[ReadRules]:
    """Scopes or patterns of scopes, each with a rule."""
    return mapping(
        record(_READ_FIELDS, lambda values, place: ReadRule(max_age_s=values.pop("max_age", 0), **values)),
        "a mapping of scopes, such as customer:*, to purpose, readers, consent and max_age",
        no_scope,
    )
