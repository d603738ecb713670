"""Changes that a person can make to a memory in its present state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sb.store.records.columns import ACTIVE, FORGOTTEN, SUPERSEDED

PENDING = "pending"  # of a suggestion: somebody has to accept or dismiss it
_SETTLED = (ACTIVE, SUPERSEDED)  # states of a suggestion, of which its own word says more


def is_suggestion(record: Mapping[str, Any]) -> bool:
    """True if it is a memory that was only suggested, and not one made of a suggestion."""
    return bool(record["kind"] == "suggestion" and record["state"] in _SETTLED)


def allows(record: Mapping[str, Any], verb: str) -> bool:
    """True if a memory can be changed like this.

    Args:
        record: its row.
        verb: accept, dismiss, forget, recover, protect or release.
    """
    if verb in ("accept", "dismiss"):
        return is_suggestion(record) and record["category"] == PENDING
    if verb == "recover":
        return bool(record["state"] == FORGOTTEN)
    return bool(record["state"] == ACTIVE and record["protected"] == (verb == "release"))
