"""Check the arguments of a stack, before anything is written."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

from sb.protocols.types.vocabulary import LEAST_TOKEN_BUDGET, MOST_TOKEN_BUDGET

_MOST = 2**63 - 1


def check_word(name: str, value: str, words: Collection[str]) -> None:
    """Refuse a word that is none of these.

    Raises:
        ValueError: it is not.
    """
    if not isinstance(value, str) or value not in words:
        raise ValueError(f"{name} is {value!r}, must be one of {', '.join(sorted(words))}")


def check_text(name: str, value: str) -> None:
    """Refuse anything but a text.

    Raises:
        ValueError: it is not.
    """
    is_text = isinstance(value, str)
    if not is_text:
        raise ValueError(f"{name} is {value!r}, must be a string")


def check_words(name: str, values: Sequence[str]) -> None:
    """Refuse anything but a list of words.

    Raises:
        ValueError: it is not.
    """
    if not isinstance(values, list | tuple) or not all(isinstance(value, str) for value in values):
        raise ValueError(f"{name} is {values!r}, must be a list of strings")


def checked_number(name: str, value: Any) -> float:
    """A number as given.

    Raises:
        ValueError: it is none, or not finite.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not -math.inf < value < math.inf:
        raise ValueError(f"{name} is {value!r:.40}, must be a number")
    number: float = value
    return number


def checked_share(name: str, value: Any) -> float:
    """A number as given.

    Raises:
        ValueError: it is not from 0 to 1.
    """
    share = checked_number(name, value)
    if not 0 <= share <= 1:
        raise ValueError(f"{name} is {value}, must be from 0 to 1")
    return share


def checked_limit(limit: int | None) -> int:
    """Returns the most records to read; None for all.

    Raises:
        ValueError: it is no whole number, or below 0.
    """
    if limit is None:
        return _MOST
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
        raise ValueError(f"limit is {limit!r}, must be a whole number of at least 0")
    return min(limit, _MOST)


def checked_budget(tokens: Any) -> int:
    """Returns the token budget, clamped to the allowed range.

    Raises:
        ValueError: that is no number.
    """
    return int(min(max(checked_number("token_budget", tokens), LEAST_TOKEN_BUDGET), MOST_TOKEN_BUDGET))
