"""Decide whether an agent may call a tool: allow, ask, or deny.

Everything that does not depend on the arguments is looked up, so 1 000 entries cost what one costs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from sb.base.values.canonical import canonical_bytes, digest
from sb.kernel.contracts import SafetyClass, ToolSpec
from sb.kernel.policy.rules import APPROVE, DENY, NOT_ALLOWED, WrittenPolicy
from sb.kernel.policy.standing_in import STOOD_FOR, stood_for
from sb.kernel.run_context import SafetyMode

if TYPE_CHECKING:
    from sb.kernel.registry.registry import ToolRegistry


class PolicyAction(StrEnum):
    ALLOW = "allow"
    DENY = "deny"
    REQUIRE_APPROVAL = "require_approval"


class PolicyDecision(NamedTuple):
    """A verdict; `rule` names what decided it, `reason` says it to a person.

    Args:
        reasons: (rule, reason) of everything for which a person has to agree.
    """

    action: PolicyAction
    reason: str = ""
    rule: str = ""
    reasons: tuple[tuple[str, str], ...] = ()


_ALLOWED = PolicyDecision(PolicyAction.ALLOW, rule="default")
_STRICTNESS = {mode: rank for rank, mode in enumerate(SafetyMode)}


class ToolPolicy:
    """Policy of tools under a safety mode; made with a factory method.

    Deny beats approval, approval beats allow, whatever the order in which they were given.

    Args:
        mode: NORMAL allows all classes (DESTRUCTIVE with approval), SAFE and STRICT only READ_ONLY.
        blocked_tools: never allowed, also when they are in `allowed_tools`.
        allowed_tools: if given, only these are allowed; an empty set allows none.
        rules: what people wrote; they make it stricter, never more permissive.
    """

    def __init__(
        self,
        mode: SafetyMode = SafetyMode.NORMAL,
        blocked_tools: Collection[str] | None = None,
        allowed_tools: Collection[str] | None = None,
        *,
        rules: WrittenPolicy | None = None,
    ) -> None:
        self.mode = SafetyMode(mode)
        self.blocked_tools = frozenset(blocked_tools or ())
        self.allowed_tools = None if allowed_tools is None else frozenset(allowed_tools)
        self.rules = rules
        self._stricter: dict[SafetyMode, ToolPolicy] = {}
        allowed = None if self.allowed_tools is None else sorted(self.allowed_tools)
        parts = [str(self.mode), sorted(self.blocked_tools), allowed]
        if rules is not None and rules.rules:
            parts.append(rules.version)
        self.version = digest(canonical_bytes(parts))[:16]

    @classmethod
    def normal(
        cls,
        blocked_tools: Collection[str] | None = None,
        allowed_tools: Collection[str] | None = None,
        *,
        rules: WrittenPolicy | None = None,
    ) -> ToolPolicy:
        return cls(SafetyMode.NORMAL, blocked_tools, allowed_tools, rules=rules)

    @classmethod
    def safe_mode(cls) -> ToolPolicy:
        return cls(SafetyMode.SAFE)

    @classmethod
    def strict_mode(cls) -> ToolPolicy:
        return cls(SafetyMode.STRICT)

    def bound_by(self, mode: SafetyMode) -> ToolPolicy:
        """This policy under the stricter of its own mode and `mode`."""
        if _STRICTNESS[mode] <= _STRICTNESS[self.mode]:
            return self
        found = self._stricter.get(mode)
        if found is None:
            found = self._stricter[mode] = ToolPolicy(
                mode, self.blocked_tools, self.allowed_tools, rules=self.rules
            )
        return found

    def evaluate(self, spec: ToolSpec, agent_name: str, args: dict[str, Any]) -> PolicyDecision:
        """The verdict for one call (kernel reference, "ToolPolicy factory methods")."""
        denials = self.built_in_denials(spec, agent_name)
        if STOOD_FOR in spec.metadata and not denials:  # few are, and each call is judged here
            denials = self._blocked_others(spec, args)
        if denials:
            rule, reason = denials[0]
            return PolicyDecision(PolicyAction.DENY, reason, rule)
        if self.rules is not None and self.rules.rules:
            return self._written(self.rules, spec, agent_name, args)
        return _decided(built_in_reasons(spec))

    def built_in_denials(self, spec: ToolSpec, agent_name: str) -> list[tuple[str, str]]:
        """(rule, reason) of everything but the written rules that denies the agent the tool."""
        tool_id, found = spec.tool_id, []
        if tool_id in self.blocked_tools:
            found.append(("blocked_tools", f"{tool_id} is blocked"))
        if self.allowed_tools is not None and tool_id not in self.allowed_tools:
            found.append(("allowed_tools", f"{tool_id} is not among the allowed tools"))
        if not spec.allows_agent(agent_name):
            found.append(("allowlisted_agents", f"agent {agent_name} is not on the allowlist of {tool_id}"))
        if self.mode is not SafetyMode.NORMAL and spec.effective_class is not SafetyClass.READ_ONLY:
            reason = f"{tool_id} is {spec.effective_class}: {self.mode} mode allows only read_only"
            found.append((f"{self.mode}_mode", reason))
        return found

    def _blocked_others(self, spec: ToolSpec, args: dict[str, Any]) -> list[tuple[str, str]]:
        """(rule, reason) of blocked tools that a call stands in for."""
        others = (tool_id for tool_id, _ in stood_for(spec, args) if tool_id in self.blocked_tools)
        return [("blocked_tools", f"{tool_id} is blocked") for tool_id in others]

    def _written(
        self, rules: WrittenPolicy, spec: ToolSpec, agent_name: str, args: dict[str, Any]
    ) -> PolicyDecision:
        verdict = rules.decide(spec.tool_id, agent_name, spec.effective_class, args)
        if STOOD_FOR in spec.metadata and (others := stood_for(spec, args)):
            verdict = rules.joined(
                verdict, [rules.decide(other, agent_name, of, args) for other, of in others]
            )
        if verdict.effect == DENY:
            rule = verdict.hits[0].rule if verdict.hits else NOT_ALLOWED
            reason = (
                verdict.hits[0].reason if verdict.hits else f"no rule of the policy allows {spec.tool_id}"
            )
            return PolicyDecision(PolicyAction.DENY, reason, rule)
        asked = tuple((hit.rule, hit.reason) for hit in verdict.hits if hit.effect == APPROVE)
        return _decided((*built_in_reasons(spec), *asked))


def agent_denials(
    spec: ToolSpec, agent_name: str, registry: ToolRegistry, granted: Mapping[str, Collection[str]]
) -> list[tuple[str, str]]:
    """(rule, reason) of everything in an agent's registration that denies it the tool.

    Args:
        granted: agent name to the permissions that it has been granted.
    """
    refusal = registry.capability_refusal(spec, agent_name)
    found = [("capabilities", refusal)] if refusal else []
    for permission in spec.requires_permission:
        if permission not in granted.get(agent_name, ()):
            reason = f"{spec.tool_id} requires permission {permission}, which agent {agent_name} has not been granted"
            found.append(("requires_permission", reason))
    return found


def built_in_reasons(spec: ToolSpec) -> tuple[tuple[str, str], ...]:
    """(rule, reason) for which a person has to agree whatever is written."""
    if spec.effective_class is not SafetyClass.DESTRUCTIVE:
        return ()
    return (
        ("destructive", f"{spec.tool_id} can destroy or change for good, so a person must approve each call"),
    )


def _decided(reasons: tuple[tuple[str, str], ...]) -> PolicyDecision:
    """Allowed, unless there are reasons for which a person has to agree."""
    if not reasons:
        return _ALLOWED
    rule, reason = reasons[0]
    return PolicyDecision(PolicyAction.REQUIRE_APPROVAL, reason, rule, reasons)
