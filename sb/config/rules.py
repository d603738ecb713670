"""Parse the rules of the `policy:` setting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any, Self

from sb.config.command_patterns import parse_pattern
from sb.config.document import Entry, Listing, Node, Table, describe
from sb.config.kinds import CEILINGS, Kind, Reading, choice, listing, number, text
from sb.config.narrowing import Narrow
from sb.frozen import frozen
from sb.text import nearest

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


class Bounds(str):
    """Limits of a number where a pattern could stand; as a text, what `check` prints of them."""

    limits: Mapping[str, float]

    def __new__(cls, limits: Mapping[str, float]) -> Self:
        made = super().__new__(cls, " and ".join(f"{word} {limit:g}" for word, limit in limits.items()))
        made.limits = MappingProxyType(dict(limits))
        return made

    def fits(self, value: Any, *, allows: bool) -> bool:
        """True if the value is within; what is no number fits a rule that denies or asks, and none that allows."""
        if isinstance(value, bool) or not isinstance(value, int | float):
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


def _patterns() -> Kind[tuple[str, ...]]:
    many = listing(_PATTERN)

    def parse(node: Node, key: str, reading: Reading) -> tuple[str, ...] | None:
        if not isinstance(node, Listing):
            one = _PATTERN.parse(node, key, reading)
            return None if one is None else (one,)
        found = many.parse(node, key, reading)
        if found == () and not node.items:
            reading.wrong(node, key, "is an empty list, which fits nothing")
            return None
        return found

    return Kind("a pattern or a list of them", parse)


def _commands(node: Node, key: str, reading: Reading) -> tuple[str, ...] | None:
    found = _patterns().parse(node, key, reading)
    for pattern in found or ():
        try:
            parse_pattern(pattern)
        except ValueError as error:
            reading.wrong(node, key, f"{pattern!r} {error}")
            return None
    return found


def _bounds(node: Node, key: str, reading: Reading) -> tuple[str, ...] | None:
    limits: dict[str, float] = {}
    for entry in node.entries if isinstance(node, Table) else ():
        if entry.key not in LIMITS:
            reading.wrong(
                entry, f"{key}.{entry.key}", f"unknown key{nearest(entry.key, LIMITS)}", "above or below"
            )
            return None
        limit = number(-_MOST, _MOST).parse(entry.value, f"{key}.{entry.key}", reading)
        if limit is None:
            return None
        limits[entry.key] = limit
    if not limits:
        reading.wrong(node, key, "is empty", "{above: 1000}, {below: 0} or both")
        return None
    if len(limits) == len(LIMITS) and limits["above"] >= limits["below"]:
        reading.wrong(node, key, "fits no number: above has to be less than below")
        return None
    return (Bounds(limits),)


def _arguments(node: Node, key: str, reading: Reading) -> Mapping[str, tuple[str, ...]] | None:
    if not isinstance(node, Table):
        reading.wrong(node, key, f"must be a mapping of arguments to patterns, not {describe(node)}")
        return None
    if not node.entries:
        reading.wrong(node, key, "is empty, which would fit every call", "remove the key to mean that")
    found = {}
    for entry in node.entries:
        kind = _bounds if isinstance(entry.value, Table) else _patterns().parse
        patterns = kind(entry.value, f"{key}.{entry.key}", reading)
        if patterns is not None:
            found[entry.key] = patterns
    return MappingProxyType(found)


def _name() -> Kind[str]:
    word = text("a name")

    def parse(node: Node, key: str, reading: Reading) -> str | None:
        name = word.parse(node, key, reading)
        if name is not None and (name in BUILT_IN or name.startswith("policy[")):
            reading.wrong(node, key, f"{describe(node)} is what the kernel calls another rule")
            return None
        return name

    return Kind(word.label, parse)


_KEYS: Mapping[str, Kind[Any]] = {
    **dict.fromkeys(EFFECTS, _patterns()),
    "agents": _patterns(),
    "classes": listing(choice(*CEILINGS)),
    "args": Kind("a mapping of arguments to patterns", _arguments),
    "runs": Kind("a command or a list of them, such as git push", _commands),
    "name": _name(),
    "reason": text("a reason"),
}


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

    def parse(node: Node, key: str, reading: Reading) -> tuple[PolicyRule, ...] | None:
        if not isinstance(node, Listing):
            reading.wrong(node, key, f"must be a list of rules, not {describe(node)}", "- deny: shell.*")
            return None
        rules = [_rule(item, f"{key}[{number}]", reading) for number, item in enumerate(node.items, 1)]
        return tuple(rule for rule in rules if rule is not None)

    return Kind("a list of rules", parse)


def _rule(node: Node, key: str, reading: Reading) -> PolicyRule | None:
    if not isinstance(node, Table):
        reading.wrong(node, key, f"must be a rule, not {describe(node)}", "- deny: shell.*")
        return None
    given: dict[str, Any] = {}
    for entry in node.entries:
        kind = _KEYS.get(entry.key)
        if kind is None:
            reading.wrong(entry, f"{key}.{entry.key}", f"unknown key{nearest(entry.key, _KEYS)}")
        elif entry.key == "classes" and isinstance(entry.value, Listing) and not entry.value.items:
            reading.wrong(entry, f"{key}.classes", "is an empty list, which fits nothing")
        elif (value := kind.parse(entry.value, f"{key}.{entry.key}", reading)) is not None:
            given[entry.key] = value
    written = [effect for effect in EFFECTS if any(entry.key == effect for entry in node.entries)]
    if len(written) != 1:
        has = " and ".join(written) or "none of them"
        reading.wrong(_place(node), key, f"has {has}: a rule has one of {', '.join(EFFECTS)}")
        return None
    tools = given.pop(written[0], ())
    given.setdefault("name", key)
    return PolicyRule(written[0], tools, **given)


def _place(node: Table) -> Node | Entry:
    return node.entries[0] if node.entries else node
