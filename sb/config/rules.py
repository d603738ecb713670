"""Parse the rules of the `policy:` setting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from math import isnan
from types import MappingProxyType
from typing import Any, Self

from sb.base.reading import (
    Field,
    Kind,
    Place,
    choice,
    describe,
    items,
    listing,
    mapping,
    number,
    one_or_more,
    record,
    text,
)
from sb.base.values.frozen import frozen
from sb.config.command_patterns import parse_pattern
from sb.config.kinds import CEILINGS
from sb.config.narrowing import Narrow

EFFECTS = ("deny", "approve", "allow")
BUILT_IN = frozenset(  # what the log calls the kernel's own rules
    {
        "blocked_tools",
        "allowed_tools",
        "allowlisted_agents",
        "safe_mode",
        "strict_mode",
        "destructive",
        "policy.default",
        "capabilities",
        "requires_permission",
        "requires_approval",
        "approval_denied",
        "approval_refused",
    }
)
LIMITS = ("above", "below")
_MOST = 1e15  # beyond it a float is no exact amount
_PATTERN = text("a pattern, such as files.* (in quotes where it begins with *)")


def _exact(limit: float) -> str:
    """A limit with all its digits: rules with different limits must differ."""
    return repr(int(limit)) if limit == int(limit) else repr(limit)


class Bounds(str):
    """Limits of a number where a pattern could stand; as a text, what `check` prints of them."""

    limits: Mapping[str, float]

    def __new__(cls, limits: Mapping[str, float]) -> Self:
        made = super().__new__(cls, " and ".join(f"{word} {_exact(limit)}" for word, limit in limits.items()))
        made.limits = MappingProxyType(dict(limits))
        return made

    def fits(self, value: Any, *, allows: bool) -> bool:
        """True if the value is within; anything but a number fits a rule that denies or asks, and none that allows."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            return not allows
        if isinstance(value, float) and isnan(value):
            return not allows
        above, below = (self.limits.get(word) for word in LIMITS)
        return (above is None or value > above) and (below is None or value < below)


@frozen
class PolicyRule:
    """One rule as it was written.

    Args:
        effect: one of EFFECTS.
        tools, agents: patterns, of which one has to fit; no agents means every agent.
        classes: safety classes; none means every class.
        args: argument name to patterns, or to the `Bounds` of a number; each named argument has to fit one of its own.
        runs: patterns of commands, as `sb.config.command_patterns` reads them; of the call's command lines, one command
            has to fit one of them, for an allow every command.
        name: as reports and the log call it.
        reason: said to the agent and the operator, or "".
    """

    effect: str
    tools: tuple[str, ...]
    agents: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    args: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    name: str = ""
    reason: str = ""
    runs: tuple[str, ...] = ()


_FITS_NOTHING = "is an empty list, which fits nothing"
_PATTERNS = one_or_more(_PATTERN, listing(_PATTERN, _FITS_NOTHING))


def _commands(value: Any, place: Place) -> tuple[str, ...]:
    patterns = _PATTERNS.read(value, place)
    for pattern in patterns:
        try:
            parse_pattern(pattern)
        except ValueError as error:
            raise place.refuse(f"{pattern!r} {error}") from None
    return patterns


def _within(limits: dict[str, float], place: Place) -> Bounds:
    if not limits:
        raise place.refuse("is empty", "{above: 1000}, {below: 0} or both")
    if len(limits) == len(LIMITS) and limits["above"] >= limits["below"]:
        raise place.refuse("fits no number: above has to be less than below")
    return Bounds(limits)


BOUNDS = record([Field(word, number(-_MOST, _MOST)) for word in LIMITS], _within, "above or below")


def _fitting(value: Any, place: Place) -> tuple[str, ...]:
    return (BOUNDS.read(value, place),) if isinstance(value, Mapping) else _PATTERNS.read(value, place)


_ARGUMENT = Kind(_fitting, {"anyOf": [_PATTERNS.schema, BOUNDS.schema]})


def _arguments(value: Any, place: Place) -> Mapping[str, tuple[str, ...]]:
    if value == {}:
        raise place.refuse("is empty, which would fit every call", "remove the key to mean that")
    return mapping(_ARGUMENT, "a mapping of arguments to patterns").read(value, place)


def _name(value: Any, place: Place) -> str:
    name = text("a name").read(value, place)
    if name in BUILT_IN or name.startswith("policy["):
        raise place.refuse(f"{describe(value)} is what the kernel calls another rule")
    return name


_FIELDS = (
    *(Field(effect, _PATTERNS) for effect in EFFECTS),
    Field("agents", _PATTERNS),
    Field("classes", listing(choice(*CEILINGS), _FITS_NOTHING)),
    Field("args", Kind(_arguments, {"type": "object", "additionalProperties": _ARGUMENT.schema})),
    Field("runs", Kind(_commands, _PATTERNS.schema)),
    Field("name", Kind(_name, {"type": "string"})),
    Field("reason", text("a reason")),
)


def more_rules() -> Narrow[tuple[PolicyRule, ...]]:
    """Rules can be added; an `allow` only where there is none, since it would let more calls pass then."""

    def apply(
        ours: tuple[PolicyRule, ...], theirs: tuple[PolicyRule, ...]
    ) -> tuple[tuple[PolicyRule, ...], tuple[str, ...]]:
        closed = any(rule.effect == "allow" for rule in ours)
        refused = [rule for rule in theirs if closed and rule.effect == "allow"]
        return (*ours, *(rule for rule in theirs if rule not in refused)), tuple(
            rule.name for rule in refused
        )

    return Narrow("more rules, none that allows beside one that allows", apply)


def policy() -> Kind[tuple[PolicyRule, ...]]:
    """Rules in any order."""
    rule = record(_FIELDS, _rule, "a rule")
    rules = items(rule, least=0, naming=lambda key, index, item: f"{key}[{index + 1}]")

    def read(value: Any, place: Place) -> tuple[PolicyRule, ...]:
        if not isinstance(value, list):
            raise place.refuse(f"must be a list of rules, not {describe(value)}", "- deny: shell.*")
        return rules.read(value, place)

    return Kind(read, rules.schema, "a list of rules")


def _rule(values: dict[str, Any], place: Place) -> PolicyRule:
    effects = [effect for effect in EFFECTS if effect in values]
    if len(effects) != 1:
        has = " and ".join(effects) or "none of them"
        raise place.refuse(f"has {has}: a rule has one of {', '.join(EFFECTS)}")
    values.setdefault("name", place.key)
    return PolicyRule(effects[0], values.pop(effects[0]), **values)
