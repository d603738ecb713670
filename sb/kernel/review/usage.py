"""Tokens that models used, and what they cost at configured prices.

What is not known is None, never 0: a model without a price has no cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from fnmatch import fnmatchcase

from sb.base.values.frozen import frozen
from sb.config.kinds import ModelPrice

PER = 1_000_000  # prices are for a million tokens


@frozen
class Tokens:
    """Numbers of tokens.

    Args:
        input: of prompts, without those that a cache gave or took. output: reasoning included.
        cache_read: of prompts, taken from a cache. cache_write, cache_write_1h: put there, for five minutes or an hour.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write_1h: int = 0

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(Tokens)))

    def __sub__(self, other: Tokens) -> Tokens:
        return Tokens(*(getattr(self, field.name) - getattr(other, field.name) for field in fields(Tokens)))

    def __bool__(self) -> bool:
        return any(vars(self).values())

    @property
    def prompt(self) -> int:
        """All tokens of prompts, wherever they came from."""
        return self.input + self.cache_read + self.cache_write + self.cache_write_1h


Usage = Mapping[str, Tokens]  # by the model's name as its host writes it


def total(usage: Usage) -> Tokens:
    """The tokens of all models together."""
    return sum(usage.values(), Tokens())


def price_of(model: str, prices: Mapping[str, ModelPrice]) -> ModelPrice | None:
    """The price of a model: of its name, else of the longest pattern that fits it."""
    if model in prices:
        return prices[model]
    patterns = [pattern for pattern in prices if fnmatchcase(model, pattern)]
    return prices[max(patterns, key=len)] if patterns else None


def cost_usd(usage: Usage, prices: Mapping[str, ModelPrice]) -> float | None:
    """The cost of the tokens in US dollars; None if a price is not configured."""
    cost = 0.0
    for model, tokens in usage.items():
        each = prices_of(model, prices)
        if any(count and each[name] is None for name, count in vars(tokens).items()):
            return None
        cost += _sum(tokens, each)
    return cost


def least_cost_usd(usage: Usage, prices: Mapping[str, ModelPrice]) -> float:
    """The cost of what has a price: no session costs less. A write for an hour counts as one for five minutes at least."""
    cost = 0.0
    for model, tokens in usage.items():
        each = prices_of(model, prices)
        if each["cache_write_1h"] is None:
            each["cache_write_1h"] = each["cache_write"]
        cost += _sum(tokens, each)
    return cost


def prices_of(model: str, prices: Mapping[str, ModelPrice]) -> dict[str, float | None]:
    """The configured prices of a model, by the names of `Tokens`; None for those that there are not."""
    price = price_of(model, prices)
    return {field.name: getattr(price, field.name, None) for field in fields(Tokens)}


def _sum(tokens: Tokens, prices: Mapping[str, float | None]) -> float:
    counts: dict[str, int] = vars(tokens)
    return sum(count * (prices[name] or 0.0) for name, count in counts.items()) / PER
