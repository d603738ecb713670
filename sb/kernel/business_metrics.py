"""Business metrics: what agents are worth, by intent and version, each figure with its number and interval."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field

from sb.base.intervals import wilson
from sb.base.text import nearest
from sb.base.values.frozen import frozen
from sb.errors import UsageError
from sb.kernel.agent_charter.charter import UNSTATED

CSAT = (1.0, 5.0)  # the scale of satisfaction, from worst to best


@frozen
class Rate:
    """A share that was counted.

    Args:
        hits: of `n`. n: how many it is known of.
    """

    hits: int = 0
    n: int = 0

    @property
    def value(self) -> float | None:
        """The share; None where it is known of none."""
        return self.hits / self.n if self.n else None

    @property
    def interval(self) -> tuple[float, float]:
        """The interval of 95 % that the true share lies in."""
        return wilson(self.hits, self.n)


@frozen
class BusinessOutcome:
    """Worth of one piece of work; None of each where that is not known.

    Args:
        intent: what it was for. version: of the agent's release.
        success: whether it did what was asked. converted: whether that led to a sale, or whatever is aimed at.
        deflected: whether no person was needed. csat: satisfaction, from 1 to 5.
        revenue_cents: that it brought, in the smallest unit of `currency`.
    """

    intent: str = UNSTATED
    version: str = ""
    success: bool | None = None
    converted: bool | None = None
    deflected: bool | None = None
    csat: float | None = None
    revenue_cents: int = 0
    currency: str = "USD"

    def __post_init__(self) -> None:
        if self.csat is not None and not CSAT[0] <= self.csat <= CSAT[1]:
            raise UsageError(f"csat is {self.csat!r}: satisfaction is a number from 1 to 5")


@frozen
class BusinessReport:
    """The metrics of some outcomes.

    Args:
        n: how many. csat: the mean satisfaction, with how many gave one as `csat_n`; None where nobody did.
        revenue_cents: by currency.
    """

    n: int = 0
    success: Rate = field(default_factory=Rate)
    conversion: Rate = field(default_factory=Rate)
    deflection: Rate = field(default_factory=Rate)
    csat: float | None = None
    csat_n: int = 0
    revenue_cents: Mapping[str, int] = field(default_factory=dict)


class BusinessMetrics:
    """Outcomes, kept in memory.

    Args:
        intents: that are known; an outcome of another is refused. None for any.
    """

    def __init__(self, intents: Collection[str] | None = None) -> None:
        self._intents = intents
        self._outcomes: list[BusinessOutcome] = []

    def record(self, outcome: BusinessOutcome) -> None:
        """Add an outcome; raises UsageError for an intent that nobody has registered."""
        known = self._intents
        if known is not None and outcome.intent not in (*known, UNSTATED):
            raise UsageError(f"no intent {outcome.intent!r}{nearest(outcome.intent, known)}")
        self._outcomes.append(outcome)

    def report(self, *, intent: str = "", version: str = "") -> BusinessReport:
        """The metrics of an intent, a version, or both; "" for any."""
        return _report(
            [it for it in self._outcomes if intent in ("", it.intent) and version in ("", it.version)]
        )

    def by_intent(self, *, version: str = "") -> dict[str, BusinessReport]:
        """The metrics of each intent, by name; those of runs that named none under one fixed word."""
        intents = sorted({it.intent for it in self._outcomes if version in ("", it.version)})
        return {intent: self.report(intent=intent, version=version) for intent in intents}


def _report(outcomes: Collection[BusinessOutcome]) -> BusinessReport:
    scores = [it.csat for it in outcomes if it.csat is not None]
    revenue: dict[str, int] = {}
    for it in outcomes:
        if it.revenue_cents:
            revenue[it.currency] = revenue.get(it.currency, 0) + it.revenue_cents
    return BusinessReport(
        len(outcomes),
        _rate(it.success for it in outcomes),
        _rate(it.converted for it in outcomes),
        _rate(it.deflected for it in outcomes),
        sum(scores) / len(scores) if scores else None,
        len(scores),
        revenue,
    )


def _rate(known: Iterable[bool | None]) -> Rate:
    answers = [answer for answer in known if answer is not None]
    return Rate(sum(answers), len(answers))
