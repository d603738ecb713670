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
        cache_read, cache_write: of prompts, taken from a cache or put there.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(Tokens)))

    def __sub__(self, other: Tokens) -> Tokens:
        return Tokens(*(getattr(self, field.name) - getattr(other, field.name) for field in fields(Tokens)))

    def __bool__(self) -> bool:
        return any(vars(self).values())

    @property
    def prompt(self) -> int:
        """All tokens of prompts, wherever they came from."""
        return self.input + self.cache_read + self.cache_write


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
        price = price_of(model, prices)
        for name, count in vars(tokens).items():
            each = getattr(price, name) if price else None
            if count and each is None:
                return None
            cost += count * (each or 0.0) / PER
    return cost
