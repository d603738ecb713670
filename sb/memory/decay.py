"""Decay of strength over time, and the state that follows from it.

Source: the stack protocol, "Strength-tier filtering". Strength decides the state of a record, so that no search has to look
at it: what is below `WEAK` is found by none. How fast a kind fades is in its descriptor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from sb.protocols.types.vocabulary import WEAK
from sb.store.records.columns import ACTIVE, FORGOTTEN, Row

FORGET: Mapping[str, Any] = {"strength": 0.0, "state": FORGOTTEN}


def recovered(history: Sequence[Row]) -> Mapping[str, Any]:
    """Returns the columns of a recovered memory: as strong as before it was forgotten.

    Args:
        history: of the record, oldest first.
    """
    formers = (entry["former"] or {} for entry in reversed(history))
    strength = next((former["strength"] for former in formers if "strength" in former), WEAK)
    return {"strength": max(WEAK, strength), "state": ACTIVE}


def state_of(strength: float, state: str = ACTIVE) -> str:
    """The state of a record of that strength, which is in this one."""
    if state not in (ACTIVE, FORGOTTEN):
        return state
    return ACTIVE if strength >= WEAK else FORGOTTEN


def faded(strength: float, days: float, half_life_days: float) -> float:
    """Returns a strength after so many days; it halves with each half-life."""
    return strength if half_life_days == inf else strength * 0.5 ** (max(0.0, days) / half_life_days)
