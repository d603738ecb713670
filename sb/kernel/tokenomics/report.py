"""The cost of trusted outcomes, and where tokens went, over many outcomes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from sb.base.values.frozen import frozen
from sb.kernel.tokenomics.outcomes import OutcomeRecord


@frozen
class TokenomicsReport:
    """Sums over outcomes.

    Args:
        outcomes: how many. trusted: how many of them are trusted. unpriced: those of which a cost is not known.
        cost_cents: of all that are priced, in US cents.
        tokens, input_tokens, cached_tokens, eval_tokens, retry_tokens: as `CostBreakdown` has them, of all.
        currencies: other ones than US dollars, in which a cost was given that is not known here.
    """

    outcomes: int = 0
    trusted: int = 0
    unpriced: int = 0
    cost_cents: float = 0.0
    tokens: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    eval_tokens: int = 0
    retry_tokens: int = 0
    currencies: frozenset[str] = frozenset()

    @classmethod
    def of(cls, records: Iterable[OutcomeRecord]) -> Self:
        """The report over these outcomes."""
        outcomes = trusted = unpriced = tokens = read = cached = evaluated = retried = 0
        cents, currencies = 0.0, set[str]()
        for record in records:
            cost, known = record.cost, record.cost.cents
            outcomes, trusted = outcomes + 1, trusted + record.trusted
            unpriced, cents = unpriced + (known is None), cents + (known or 0)
            tokens, read, cached = tokens + cost.tokens, read + cost.input_tokens, cached + cost.cached_tokens
            evaluated, retried = evaluated + cost.eval_tokens, retried + cost.retry_tokens
            if cost.currency != "USD":
                currencies.add(cost.currency)
        sums = (outcomes, trusted, unpriced, cents, tokens, read, cached, evaluated, retried)
        return cls(*sums, frozenset(currencies))

    def __add__(self, other: TokenomicsReport) -> TokenomicsReport:
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return TokenomicsReport(
            *(mine | its if isinstance(mine, frozenset) else mine + its for mine, its in pairs)
        )

    @property
    def cost_per_trusted_outcome_cents(self) -> float | None:
        """The cost of all outcomes by the number of trusted ones, so that what produced nothing counts.

        None where none is trusted, or where a cost is not known.
        """
        return self.cost_cents / self.trusted if self.trusted and not self.unpriced else None

    @property
    def retry_token_ratio(self) -> float | None:
        """The share of all tokens that went into failed attempts; None without any."""
        return _share(self.retry_tokens, self.tokens)

    @property
    def eval_overhead_ratio(self) -> float | None:
        """The share of all tokens that went into evaluating; None without any."""
        return _share(self.eval_tokens, self.tokens)

    @property
    def cache_hit_rate(self) -> float | None:
        """The share of what models read that a cache served; None where they read nothing."""
        return _share(self.cached_tokens, self.input_tokens)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
