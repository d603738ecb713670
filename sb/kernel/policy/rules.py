"""Evaluate the written rules for one call.

Deny beats approve, approve beats allow, in whatever order they were written. As soon as one rule allows, a call that
no rule allows or sends to a person is denied. What does not depend on arguments is decided once for each tool, agent
and safety class and looked up afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sb.base.values.canonical import canonical_bytes, digest
from sb.config.rules import Bounds, PolicyRule
from sb.kernel.contracts import SafetyClass
from sb.kernel.policy.command_lines import fits_commands
from sb.kernel.policy.patterns import any_fits, forms, matches, permits

DENY, APPROVE, ALLOW = "deny", "approve", "allow"
NOT_ALLOWED = "policy.default"
MOST_KEPT = 10_000  # combinations of tool, agent and class that are kept


class Hit(NamedTuple):
    """A rule that fits the call."""

    rule: str
    effect: str
    reason: str

    @classmethod
    def of(cls, rule: PolicyRule) -> Hit:
        return cls(rule.name, rule.effect, rule.reason or in_words(rule))


class PolicyVerdict(NamedTuple):
    """The joint verdict of the rules.

    Args:
        effect: deny, approve or allow.
        hits: the rules that fit, those that made it so first.
    """

    effect: str
    hits: tuple[Hit, ...] = ()


class _Known(NamedTuple):
    """The verdict without arguments, and the rules that still depend on them."""

    verdict: PolicyVerdict
    open_rules: tuple[PolicyRule, ...]


class WrittenPolicy:
    """Compiled rules; safe to use from several threads.

    Args:
        rules: in any order.
    """

    def __init__(self, rules: Sequence[PolicyRule] = ()) -> None:
        self.rules = tuple(rules)
        self._allows = any(rule.effect == ALLOW for rule in self.rules)
        self._known: dict[tuple[str, str, SafetyClass], _Known] = {}
        self.version = digest(canonical_bytes([_plain(rule) for rule in self.rules]))[:16]

    def decide(
        self, tool_id: str, agent: str, safety_class: SafetyClass, args: dict[str, Any]
    ) -> PolicyVerdict:
        """The verdict on one call.

        Args:
            args: plain JSON.
        """
        known = self._look_up(tool_id, agent, safety_class)
        if not known.open_rules:
            return known.verdict
        spelled: dict[str, list[str]] = {}
        hits = [Hit.of(rule) for rule in known.open_rules if fits_arguments(rule, args, spelled)]
        return self._verdict([*known.verdict.hits, *hits]) if hits else known.verdict

    def joined(self, own: PolicyVerdict, others: Sequence[PolicyVerdict]) -> PolicyVerdict:
        """The verdict on a call that stands in for others: what denies or asks for one of them does so for it.

        It is allowed by a rule of its own, or if each of the others is.
        """
        hits = list(dict.fromkeys(hit for verdict in (own, *others) for hit in verdict.hits))
        found = self._verdict(hits)
        allowed = own.effect != DENY or all(verdict.effect != DENY for verdict in others)
        return found if found.effect == DENY or allowed else PolicyVerdict(DENY)

    def conditional(self, tool_id: str, agent: str, safety_class: SafetyClass) -> tuple[PolicyRule, ...]:
        """The rules about this tool, agent and class that depend on the arguments."""
        return self._look_up(tool_id, agent, safety_class).open_rules

    def _look_up(self, tool_id: str, agent: str, safety_class: SafetyClass) -> _Known:
        key = (tool_id, agent, safety_class)
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= MOST_KEPT:
                self._known.clear()
            known = self._known[key] = self._work_out(tool_id, agent, safety_class)
        return known

    def _work_out(self, tool_id: str, agent: str, safety_class: SafetyClass) -> _Known:
        about = [rule for rule in self.rules if fits_call(rule, tool_id, agent, safety_class)]
        verdict = self._verdict([Hit.of(rule) for rule in about if not rule.args and not rule.runs])
        if verdict.effect == DENY and verdict.hits:
            return _Known(verdict, ())
        return _Known(verdict, tuple(rule for rule in about if rule.args or rule.runs))

    def _verdict(self, hits: list[Hit]) -> PolicyVerdict:
        for effect in (DENY, APPROVE, ALLOW):
            found = tuple(hit for hit in hits if hit.effect == effect)
            if found:
                # Lesser hits are kept too: a conditional rule may still beat this one.
                return PolicyVerdict(effect, tuple(sorted(hits, key=lambda hit: hit.effect != effect)))
        return PolicyVerdict(DENY if self._allows else ALLOW)


def fits_call(rule: PolicyRule, tool_id: str, agent: str, safety_class: SafetyClass) -> bool:
    """True if the rule is about this tool, agent and class, whatever the arguments."""
    return (
        any(matches(pattern, tool_id) for pattern in rule.tools)
        and (not rule.agents or any(matches(pattern, agent) for pattern in rule.agents))
        and (not rule.classes or safety_class in rule.classes)
    )


def fits_arguments(
    rule: PolicyRule, args: dict[str, Any], spelled: dict[str, list[str]] | None = None
) -> bool:
    """True if each argument that the rule names is there and fits one of its patterns, and so do the commands.

    Args:
        spelled: keeps the spellings of arguments, so that several rules about one call work them out once.
    """
    if spelled is None:
        spelled = {}
    for name in rule.args:
        if not fits_argument(rule, name, args, spelled):
            return False
    return not rule.runs or fits_commands(rule, args, allows=rule.effect == ALLOW)


def fits_argument(rule: PolicyRule, name: str, args: dict[str, Any], spelled: dict[str, list[str]]) -> bool:
    """True if one argument that the rule names is there and fits one of its patterns; `spelled` as above."""
    if name not in args:
        return False
    first = rule.args[name][0]
    if isinstance(first, Bounds):
        return first.fits(args[name], allows=rule.effect == ALLOW)
    if rule.effect == ALLOW:
        return any(permits(pattern, args[name]) for pattern in rule.args[name])
    if name not in spelled:
        spelled[name] = forms(args[name])
    for pattern in rule.args[name]:  # noqa: SIM110 - a generator takes twice as long
        if any_fits(pattern, spelled[name]):
            return True
    return False


def in_words(rule: PolicyRule) -> str:
    """The rule as a sentence."""
    verb = {DENY: "is denied", APPROVE: "needs a person", ALLOW: "is allowed"}[rule.effect]
    about = " or ".join(rule.tools)
    classes = f", if {' or '.join(rule.classes)}," if rule.classes else ""
    agents = f" by {' or '.join(rule.agents)}" if rule.agents else ""
    conditions = [
        f"{name} {'is' if isinstance(patterns[0], Bounds) else 'like'} {' or '.join(patterns)}"
        for name, patterns in rule.args.items()
    ]
    if rule.runs:
        conditions.append(f"{'all it runs' if rule.effect == ALLOW else 'it runs'} {' or '.join(rule.runs)}")
    where = " and ".join(conditions)
    return f"{about}{classes}{agents} {verb}" + (f" where {where}" if where else "")


def _plain(rule: PolicyRule) -> dict[str, Any]:
    runs = {"runs": list(rule.runs)} if rule.runs else {}  # a policy without keeps its version
    return {
        **runs,
        "effect": rule.effect,
        "tools": list(rule.tools),
        "agents": list(rule.agents),
        "classes": list(rule.classes),
        "args": {name: list(patterns) for name, patterns in rule.args.items()},
        "name": rule.name,
        "reason": rule.reason,
    }
