"""Why does a policy decide as it does, and what is odd about its rules?"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sb.config.rules import PolicyRule
from sb.kernel.contracts import ToolSpec
from sb.kernel.policy.patterns import matches
from sb.kernel.policy.rules import DENY, NOT_ALLOWED, Hit, fits_arguments, fits_call
from sb.kernel.tooling.permissions import PolicyAction, PolicyDecision, ToolPolicy
from sb.kernel.tooling.registry import ToolRegistry


@dataclass(frozen=True)
class Explanation:
    """A decision and what led to it.

    Args:
        hits: every written rule that fits the call, also those that another one beats.
        misses: rules about the tool that its arguments do not fit.
        remedy: what would change it, or "".
    """

    tool_id: str
    agent: str
    decision: PolicyDecision
    hits: tuple[Hit, ...]
    misses: tuple[str, ...]
    remedy: str

    def to_dict(self) -> dict[str, Any]:
        return {
            "tool_id": self.tool_id,
            "agent": self.agent,
            "verdict": str(self.decision.action),
            "rule": self.decision.rule,
            "reason": self.decision.reason,
            "reasons": [{"rule": rule, "reason": reason} for rule, reason in self.decision.reasons],
            "matched": [hit._asdict() for hit in self.hits],
            "not_matched": list(self.misses),
            "remedy": self.remedy,
        }


def explain(
    policy: ToolPolicy, registry: ToolRegistry, spec: ToolSpec, agent: str, args: dict[str, Any]
) -> Explanation:
    """What the policy says about one call, and why; the agent's registered capabilities count too."""
    decision = policy.evaluate(spec, agent, args)
    refusal = registry.capability_refusal(spec, agent)
    if decision.action is not PolicyAction.DENY and refusal:
        decision = PolicyDecision(PolicyAction.DENY, refusal, "capabilities")
    written = policy.rules.rules if policy.rules is not None else ()
    about = [rule for rule in written if fits_call(rule, spec.tool_id, agent, spec.effective_class)]
    hits = tuple(Hit(rule.name, rule.effect, rule.reason) for rule in about if fits_arguments(rule, args))
    misses = tuple(rule.name for rule in about if not fits_arguments(rule, args))
    return Explanation(spec.tool_id, agent, decision, hits, misses, _remedy(decision, spec))


def _remedy(decision: PolicyDecision, spec: ToolSpec) -> str:
    if decision.action is PolicyAction.ALLOW:
        return ""
    if decision.action is PolicyAction.REQUIRE_APPROVAL:
        granted = "" if decision.rule == "destructive" else "; a grant can approve further ones in advance"
        return f"an operator's approval of the call{granted}"
    if decision.rule == NOT_ALLOWED:
        return f"a rule that allows {spec.tool_id}"
    built_in = {
        "blocked_tools": "taking the tool off the blocked ones",
        "allowed_tools": "putting the tool among the allowed ones",
        "allowlisted_agents": "another allowlist in the tool's contract, approved again",
        "safe_mode": "a run and a configuration in normal mode",
        "strict_mode": "a run and a configuration in normal mode",
        "capabilities": "other tools or another ceiling under agents: in the configuration",
    }
    return built_in.get(decision.rule, f"removing or narrowing {decision.rule}")


def oddities(rules: Collection[PolicyRule], tool_ids: Collection[str], agents: Collection[str]) -> list[str]:
    """What its author probably did not mean, one line each.

    Args:
        tool_ids: of the tools that are registered. agents: those that the configuration names.
    """
    found = []
    for rule in rules:
        idle = [pattern for pattern in rule.tools if not _fits_any(pattern, tool_ids)]
        found += [f"{rule.name}: no registered tool fits {pattern}" for pattern in idle]
        strangers = [pattern for pattern in rule.agents if agents and not _fits_any(pattern, agents)]
        found += [f"{rule.name}: no configured agent fits {pattern}" for pattern in strangers]
        found += [
            f"{rule.name}: it never matters, since {other.name} denies all of it"
            for other in rules
            if other is not rule and _covers(other, rule)
        ]
    names = [rule.name for rule in rules]
    found += [f"{name}: several rules have this name" for name in sorted(set(names)) if names.count(name) > 1]
    return found


def _fits_any(pattern: str, names: Collection[str]) -> bool:
    return any(matches(pattern, name) for name in names)


def _covers(denial: PolicyRule, rule: PolicyRule) -> bool:
    """Whether a rule that denies without conditions is about everything that the other one is about."""
    if denial.effect != DENY or denial.args or denial.agents or denial.classes:
        return False
    return all(any(pattern in ("*", tool) for pattern in denial.tools) for tool in rule.tools)
