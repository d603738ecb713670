"""Outcomes of work, with what each cost (survival-layer.md, section 4)."""

from __future__ import annotations

from dataclasses import field, fields
from math import isfinite

from sb.base.values.frozen import frozen
from sb.errors import UsageError


@frozen
class CostBreakdown:
    """The cost of one outcome; 0 for what it had none of, and None for a cost that nobody has priced.

    Args:
        model_cost_cents, tool_cost_cents, review_cost_cents: of models, of tools, and of people who looked, in US cents.
        input_tokens: that the work's models read, those from a cache too. output_tokens: that they wrote.
        cached_tokens: of the input, those that a cache served.
        eval_tokens: of evaluating the outcome. retry_tokens: of attempts that failed. Both beside the work's own.
        currency: of the amounts; in another one than US dollars the cost is not known, as nothing converts it.

    Raises:
        UsageError: a value is negative or no number, or more tokens were cached than read.
    """

    model_cost_cents: float | None = 0
    tool_cost_cents: float | None = 0
    review_cost_cents: float | None = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    eval_tokens: int = 0
    retry_tokens: int = 0
    currency: str = "USD"

    def __post_init__(self) -> None:
        for it in fields(self):
            value = getattr(self, it.name)
            if it.name == "currency":
                continue
            unknown = value is None and it.name.endswith("_cents")
            if not unknown and not (_is_number(value) and value >= 0):
                raise UsageError(f"{it.name} is {value!r}: it is a number of at least 0")
        if self.cached_tokens > self.input_tokens:
            raise UsageError(
                f"{self.cached_tokens} tokens were cached, of {self.input_tokens} that were read"
            )

    @property
    def cents(self) -> float | None:
        """All that it cost; None where a part of that is not known."""
        parts = (self.model_cost_cents, self.tool_cost_cents, self.review_cost_cents)
        known = [part for part in parts if part is not None]
        return sum(known) if len(known) == len(parts) and self.currency == "USD" else None

    @property
    def tokens(self) -> int:
        """All tokens: of the work, of evaluating it and of failed attempts."""
        return self.input_tokens + self.output_tokens + self.eval_tokens + self.retry_tokens


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


@frozen
class OutcomeRecord:
    """The end of one piece of work.

    Args:
        workflow_id: the kind of work, such as support.refund.
        accepted: whether who asked for it took it. grounded: whether what it says rests on evidence.
        policy_compliant: whether no call of it was denied, nor broke a rule. None of each where that is not known.
        agent, intent, version: of whom, what for and of which release; "" where not known.
        at: seconds since the epoch.
    """

    workflow_id: str
    cost: CostBreakdown = field(default_factory=CostBreakdown)
    accepted: bool | None = None
    grounded: bool | None = None
    policy_compliant: bool | None = None
    agent: str = ""
    intent: str = ""
    version: str = ""
    at: float = 0.0

    @property
    def trusted(self) -> bool:
        """True if it was accepted, is grounded and complied with policy; what is not known is not trusted."""
        return self.accepted is True and self.grounded is True and self.policy_compliant is True
