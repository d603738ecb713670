"""Rebuild a call from the log, and say which parts of it have changed since.

Arguments are on record redacted and clipped. A verdict that hangs on one that is cannot be told.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sb.config.rules import EFFECTS, PolicyRule
from sb.kernel.contracts import SafetyClass, ToolSpec
from sb.kernel.policy.command_lines import READ_WITH_COMMANDS
from sb.kernel.policy.permissions import PolicyAction, PolicyDecision, ToolPolicy
from sb.kernel.policy.rules import ALLOW, APPROVE, DENY, NOT_ALLOWED, fits_argument
from sb.kernel.registry.registry import ToolRegistry
from sb.log.event import Event

_MARKS = ("[redacted:", "… (")  # what the log puts in place of a value or its end


def spec_on_record(event: Event, registry: ToolRegistry) -> ToolSpec | None:
    """The contract of a call's tool: the registered one, or one of the safety class on record."""
    spec = registry.get(event.subject.tool_id)
    if spec is not None:
        return spec
    word = (event.payload or {}).get("safety_class")
    if word not in list(SafetyClass):
        return None
    return ToolSpec(event.subject.tool_id, event.subject.tool_id, safety_class=SafetyClass(word))


def untold(policy: ToolPolicy, spec: ToolSpec, agent: str, args: Any, decision: PolicyDecision) -> str:
    """The argument that is not on record as it was and on which the decision hangs, or "".

    Args:
        args: as they are on record.
        decision: the verdict on them as they are on record.
    """
    if policy.rules is None:
        return ""
    rules = policy.rules.conditional(spec.tool_id, agent, spec.effective_class)
    doubtful = [(rule, name) for rule in rules if (name := _doubtful(rule, args))]
    names = {rule.name for rule, _ in doubtful}
    matter = _that_could_change(decision, names)
    return next((name for rule, name in doubtful if rule.effect in matter), "")


def _that_could_change(decision: PolicyDecision, doubtful: set[str]) -> tuple[str, ...]:
    """The effects of doubtful rules that could turn a decision into another."""
    if decision.action is PolicyAction.ALLOW:
        return EFFECTS
    if decision.rule == NOT_ALLOWED:
        return (APPROVE, ALLOW)
    grounds = {rule for rule, _ in decision.reasons} or {decision.rule}
    if grounds <= doubtful:
        return EFFECTS
    return () if decision.action is PolicyAction.DENY else (DENY,)


def _doubtful(rule: PolicyRule, args: Any) -> str:
    """The first argument that leaves open whether the rule fits; "" if it surely does or surely does not."""
    if not isinstance(args, dict):
        return next(iter((*rule.args, *READ_WITH_COMMANDS)))
    unsure = ""
    for name in rule.args:
        if _altered(args[name] if name in args else list(args)):
            unsure = unsure or name
        elif not fits_argument(rule, name, args, {}):
            return ""
    if rule.runs and not unsure:
        unsure = next((name for name in READ_WITH_COMMANDS if _altered(args.get(name))), "")
    return unsure


def _altered(value: Any) -> bool:
    return any(mark in text for text in _texts(value) for mark in _MARKS)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, str):
        yield value
