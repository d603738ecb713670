"""Warn of rules that probably do not say what their author meant, and of names that nothing has."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sb.base.text import nearest
from sb.config import Config
from sb.config.rules import PolicyRule
from sb.kernel.policy.patterns import matches
from sb.kernel.policy.rules import DENY


def oddities(rules: Sequence[PolicyRule], tool_ids: Collection[str], agents: Collection[str]) -> list[str]:
    """One line for each.

    Args:
        tool_ids: of the tools that are registered. agents: those that the configuration names; without any, no
            agent is odd.
    """
    found = []
    for number, rule in enumerate(rules):
        found += unmatched(rule, tool_ids, agents)
        broader = [
            other
            for place, other in enumerate(rules)
            if place != number and _covers(other, rule) and (place < number or not _covers(rule, other))
        ]
        if broader:
            found.append(f"{rule.name}: it never matters, since {broader[0].name} denies all of it")
    names = [rule.name for rule in rules]
    found += [f"{name}: several rules have this name" for name in sorted(set(names)) if names.count(name) > 1]
    return found


def unknown_names(config: Config, tool_ids: Collection[str]) -> list[str]:
    """One line for each tool of an agent, and each pattern of a rule, that names nothing here; as `oddities`."""
    strangers = [
        f"agents.{name}.tools: no tool {tool!r}{nearest(tool, tool_ids)}"
        for name, agent in config.agents.items()
        for tool in agent.tools
        if tool not in tool_ids
    ]
    return strangers + [line for rule in config.policy for line in unmatched(rule, tool_ids, config.agents)]


def unmatched(rule: PolicyRule, tool_ids: Collection[str], agents: Collection[str]) -> list[str]:
    """One line for each pattern of a rule that fits no tool or no agent, with the nearest name; as `oddities`."""
    idle = [pattern for pattern in rule.tools if not _fits_any(pattern, tool_ids)]
    strangers = [pattern for pattern in rule.agents if agents and not _fits_any(pattern, agents)]
    return [
        *(f"{rule.name}: no registered tool fits {item}{nearest(item, tool_ids)}" for item in idle),
        *(
            f"{rule.name}: no configured agent fits {stranger}{nearest(stranger, agents)}"
            for stranger in strangers
        ),
    ]


def _fits_any(pattern: str, names: Collection[str]) -> bool:
    return any(matches(pattern, name) for name in names)


def _covers(denial: PolicyRule, rule: PolicyRule) -> bool:
    """True if a rule that denies whatever the arguments is about everything that the other one is about."""
    return (
        denial.effect == DENY
        and not denial.args
        and not denial.runs
        and _all_within(rule.tools, denial.tools)
        and (not denial.agents or (bool(rule.agents) and _all_within(rule.agents, denial.agents)))
        and (not denial.classes or (bool(rule.classes) and set(rule.classes) <= set(denial.classes)))
    )


def _all_within(narrow: Sequence[str], broad: Sequence[str]) -> bool:
    return all(any(_within(item, other) for other in broad) for item in narrow)


def _within(narrow: str, broad: str) -> bool:
    """True if all that fits one pattern fits the other; False also where it is hard to say.

    A `*` or `?` of the narrow one can only be taken in by a `*` of the broad one, if that has no other signs.
    """
    return narrow == broad or (not set("?[") & set(broad) and "[" not in narrow and matches(broad, narrow))
