"""Explain why a call may run, waits or is denied, and what would change that."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from sb.base.values.frozen import frozen
from sb.kernel.contracts import ToolSpec
from sb.kernel.policy.permissions import (
    PolicyAction,
    PolicyDecision,
    ToolPolicy,
    agent_denials,
    built_in_reasons,
)
from sb.kernel.policy.rules import DENY, NOT_ALLOWED, Hit, fits_arguments, fits_call
from sb.kernel.registry.registry import ToolRegistry
from sb.kernel.run_context import SafetyMode

_REMEDIES = {
    "blocked_tools": "taking the tool off the blocked ones",
    "allowed_tools": "putting the tool among the allowed ones",
    "allowlisted_agents": "another allowlist in the tool's contract, approved again",
    "safe_mode": "a run and a configuration in normal mode",
    "strict_mode": "a run and a configuration in normal mode",
    "capabilities": "other tools or another ceiling under agents: in the configuration",
    "requires_permission": "the permission under agents: in the configuration",
}


@frozen
class Explanation:
    """A decision and what led to it.

    Args:
        hits: every rule that fits the call, the built-in ones first, also those that another one beats.
        misses: written rules about the tool that its arguments do not fit.
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


@frozen
class Judge:
    """Decides as a call's admission does, up to the arguments' schema, without making the call.

    Args:
        permissions: agent name to the permissions that it has been granted.
    """

    policy: ToolPolicy
    registry: ToolRegistry
    permissions: Mapping[str, Collection[str]]

    def under(self, mode: SafetyMode) -> Judge:
        """The same for a run in this mode."""
        return Judge(self.policy.bound_by(mode), self.registry, self.permissions)

    def decide(self, spec: ToolSpec, agent: str, args: dict[str, Any]) -> PolicyDecision:
        """The verdict on one call."""
        decision = self.policy.evaluate(spec, agent, args)
        if decision.action is not PolicyAction.DENY:
            for rule, reason in agent_denials(spec, agent, self.registry, self.permissions):
                return PolicyDecision(PolicyAction.DENY, reason, rule)
        return decision

    def explain(self, spec: ToolSpec, agent: str, args: dict[str, Any]) -> Explanation:
        """The verdict on one call, and everything that has a part in it."""
        decision = self.decide(spec, agent, args)
        denials = [
            *self.policy.built_in_denials(spec, agent),
            *agent_denials(spec, agent, self.registry, self.permissions),
        ]
        hits = [Hit(rule, DENY, reason) for rule, reason in denials]
        hits += [Hit(rule, "approve", reason) for rule, reason in built_in_reasons(spec)]
        misses = []
        for rule in self.policy.rules.rules if self.policy.rules is not None else ():
            if not fits_call(rule, spec.tool_id, agent, spec.effective_class):
                continue
            if fits_arguments(rule, args):
                hits.append(Hit.of(rule))
            else:
                misses.append(rule.name)
        return Explanation(
            spec.tool_id, agent, decision, tuple(hits), tuple(misses), _remedy(decision, hits, spec)
        )


def _remedy(decision: PolicyDecision, hits: list[Hit], spec: ToolSpec) -> str:
    """The remedy that would change a verdict: for a denial, every rule that denies has to go."""
    if decision.action is PolicyAction.ALLOW:
        return ""
    if decision.action is PolicyAction.REQUIRE_APPROVAL:
        granted = "" if built_in_reasons(spec) else "; a grant can approve further ones in advance"
        return f"an operator's approval of the call{granted}"
    denying = [hit.rule for hit in hits if hit.effect == DENY]
    if decision.rule == NOT_ALLOWED:
        denying.append(NOT_ALLOWED)
    remedies = _REMEDIES | {NOT_ALLOWED: f"a rule that allows {spec.tool_id}"}
    return ", and ".join(
        dict.fromkeys(remedies.get(rule, f"removing or narrowing {rule}") for rule in denying)
    )
