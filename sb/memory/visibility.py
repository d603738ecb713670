"""Whether whoever reads a memory may read a record: asked of one record, and in SQL of those that a search meets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from sb.store.records.columns import Row

Condition = tuple[
    str, tuple[Any, ...]
]  # SQL over `r`, the table of records, and its parameters; "" for never


class Visibility(Protocol):
    """What one reader may read, of the places that it sees."""

    def refusal(self, row: Row) -> str:
        """Why the reader may not read a record; "" if it may."""

    def left_out(self, places: Sequence[int]) -> Condition:
        """The records in these places that no search of the reader finds."""


class Unlimited:
    """Operators read everything, also what was altered."""

    def refusal(self, row: Row) -> str:
        """Nothing is refused."""
        return ""

    def left_out(self, places: Sequence[int]) -> Condition:
        """Nothing is left out."""
        return "", ()


def any_of(*conditions: Condition) -> Condition:
    """The condition that one of these is true."""
    told = [(condition, parameters) for condition, parameters in conditions if condition]
    if len(told) < 2:
        return told[0] if told else ("", ())
    whole = " OR ".join(f"({condition})" for condition, _ in told)
    return whole, tuple(value for _, parameters in told for value in parameters)
