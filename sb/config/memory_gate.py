"""The settings of the worthiness gate: weights, prior, threshold and decay of each category, by scope.

Source: the memory whitepaper, "the worthiness gate W(m)". The numbers are set by hand, so that among fresh memories the gate
merges from a likeness of about two thirds on; `docs/reference/memory-gate.md` has what that gives on labelled pairs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from types import MappingProxyType

from sb.config.document import Entry
from sb.config.kinds import SCOPE, Kind, Reading, mapping, number
from sb.config.scope_patterns import ANY, rules_of
from sb.errors import UsageError
from sb.frozen import frozen
from sb.text import nearest

_TOLERANCE = 1e-9


@frozen
class GateSettings:
    """What the gate asks of a memory of one category.

    Args:
        surprise, novelty, importance: the weights of the three terms.
        prior: how important the category is, from 0 to 1.
        threshold: a memory worth less is merged; 0 admits every memory.
        floor: the likeness below which nothing is merged.
        half_life_days: how fast a former memory stops making a new one unsurprising.
        confidence: of a new memory for which nobody gave one.
        exclusive: 1 where two values of the same thing exclude each other, 0 where they are counts over time.
    """

    surprise: float = 0.1
    novelty: float = 0.8
    importance: float = 0.1
    prior: float = 0.5
    threshold: float = 0.35
    floor: float = 0.6
    half_life_days: float = 60.0
    confidence: float = 0.8
    exclusive: float = 1.0

    def problem(self) -> str:
        """Why the gate would not do what it is for, or "".

        The first rule is what makes it idempotent: what is equal to a memory is merged, however old that is and whoever says it.
        """
        if not self.threshold:
            return ""
        if self.surprise + self.importance > self.threshold - _TOLERANCE:
            return (
                "surprise and importance together must stay below threshold, or a repeated memory is admitted"
            )
        if self.surprise + self.novelty < self.threshold:
            return "surprise and novelty together must reach threshold, or a new memory is refused"
        return ""


_YEAR = 365.0
DEFAULTS: Mapping[str, GateSettings] = MappingProxyType(
    {
        "convention": GateSettings(prior=0.6, half_life_days=_YEAR),
        "decision": GateSettings(
            surprise=0.05, importance=0.15, prior=0.8, threshold=0.39, half_life_days=180, exclusive=0
        ),
        "environment": GateSettings(half_life_days=90),
        "identity": GateSettings(prior=0.7, half_life_days=_YEAR),
        "integration": GateSettings(surprise=0.05, novelty=0.85, half_life_days=90),
        "lesson": GateSettings(prior=0.6, half_life_days=_YEAR, exclusive=0),
        "preference": GateSettings(prior=0.6, half_life_days=180),
        "project": GateSettings(exclusive=0),
        "user": GateSettings(prior=0.6, half_life_days=180),
    }
)
_KINDS = {
    one.name: number(0.01, 36500) if one.name == "half_life_days" else number(0, 1)
    for one in fields(GateSettings)
}
Gate = Mapping[str, Mapping[str, Mapping[str, float]]]


def gate_settings(configured: Gate, scope: str, category: str) -> GateSettings:
    """Returns the settings of a category in a scope: the defaults, changed by each pattern that means it, the shortest first.

    Raises:
        UsageError: what is configured for them does not fit together.
    """
    found = DEFAULTS.get(category, GateSettings())
    for rule in rules_of(configured, scope):
        for name in (ANY, category):
            found = replace(found, **rule.get(name, {}))
    if problem := found.problem():
        raise UsageError(
            f"memory.gate, {category} in {scope}: {problem}", "correct memory.gate in config.yaml"
        )
    return found


def gate_kind() -> Kind[Gate]:
    """Scopes, each with categories, each with numbers by name."""
    return mapping("a mapping of scopes (* for all) to categories (* for all) to numbers", _scope)


def _scope(entry: Entry, key: str, reading: Reading) -> Mapping[str, Mapping[str, float]] | None:
    if entry.key != ANY and not SCOPE.fullmatch(entry.key):
        reading.wrong(entry, key, "is no scope, no pattern such as project:*, and not *")
        return None
    return _CATEGORIES.parse(entry.value, key, reading)


def _category(entry: Entry, key: str, reading: Reading) -> Mapping[str, float] | None:
    if entry.key != ANY and entry.key not in DEFAULTS:
        reading.wrong(entry, key, "is no category" + nearest(entry.key, DEFAULTS))
        return None
    return _NUMBERS.parse(entry.value, key, reading)


def _number(entry: Entry, key: str, reading: Reading) -> float | None:
    if entry.key not in _KINDS:
        reading.wrong(entry, key, "is no setting of the gate" + nearest(entry.key, _KINDS))
        return None
    return _KINDS[entry.key].parse(entry.value, key, reading)


_NUMBERS = mapping("a mapping of numbers", _number)
_CATEGORIES = mapping("a mapping of categories", _category)
