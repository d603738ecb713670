"""Settings of the worthiness gate: weights, prior, threshold and decay of each category.

Source: the memory whitepaper, "the worthiness gate W(m)". The numbers are set by hand, so that among fresh memories the gate
merges from a likeness of about two thirds on; `docs/reference/memory-gate.md` has what that gives on labelled pairs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType

from sb.base.reading import Field, Kind, mapping, number, record
from sb.base.text import nearest
from sb.base.values.frozen import frozen
from sb.config.scope_patterns import ANY

_TOLERANCE = 1e-9


@frozen
class GateSettings:
    """The gate's demands on memories of one category.

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
        """The reason why the gate would not do what it is for, or "".

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
_FIELDS = [
    Field(each.name, number(0.01, 36_500) if each.name == "half_life_days" else number(0, 1))
    for each in fields(GateSettings)
]
HIGHER_IS_STRICTER = frozenset(
    {"threshold", "half_life_days", "exclusive"}
)  # lower numbers of the others are
Gate = Mapping[str, Mapping[str, float]]


def gate_kind() -> Kind[Gate]:
    """Categories, each with numbers by name."""
    numbers: Kind[Mapping[str, float]] = record(_FIELDS, lambda values, place: values, "a mapping of numbers")
    return mapping(numbers, "a mapping of categories (* for all) to numbers", _no_category)


def _no_category(name: str) -> str:
    return "" if name == ANY or name in DEFAULTS else "is no category" + nearest(name, DEFAULTS)
