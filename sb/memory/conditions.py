"""Conditions in SQL over `r`, the table of records, with their parameters."""

from __future__ import annotations

from typing import Any

Condition = tuple[str, tuple[Any, ...]]
NEVER: Condition = ("", ())


def any_of(*conditions: Condition) -> Condition:
    """The condition that one of these is true."""
    parts = [(condition, parameters) for condition, parameters in conditions if condition]
    if len(parts) < 2:
        return parts[0] if parts else NEVER
    whole = " OR ".join(f"({condition})" for condition, _ in parts)
    return whole, tuple(value for _, parameters in parts for value in parameters)
