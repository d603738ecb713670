"""Read a field of a payload, whatever a host put there."""

from __future__ import annotations

import json
from typing import Any

LONGEST = 1e12  # of a duration; more than any, and no NaN is below it


def text(payload: dict[str, Any], *names: str) -> str:
    """The first of these fields that holds a text, else ""."""
    values = (payload.get(name) for name in names)
    return next((value for value in values if isinstance(value, str) and value), "")


def table(payload: dict[str, Any], name: str) -> dict[str, Any]:
    """An object, also given as JSON text; anything else under "text"."""
    value = decoded(payload.get(name))
    if value is None:
        return {}
    return value if isinstance(value, dict) else {"text": value}


def decoded(value: Any) -> Any:
    """The value of a JSON text; anything else unchanged."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def number(payload: dict[str, Any], name: str) -> float:
    """A duration, else 0."""
    value = payload.get(name)
    return float(value) if isinstance(value, int | float) and 0 <= value < LONGEST else 0.0


def error_text(error: Any) -> str:
    """The text of whatever a host gives as an error; "" for none."""
    if not error:
        return ""
    return (text(error, "message") if isinstance(error, dict) else str(error)) or "failed"
