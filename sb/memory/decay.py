"""Decay of strength over time: the rule for Brains and stacks, the review mark, and the state that follows.

Source: the memory whitepaper, "decay and forgetting"; the stack protocol, "Strength-tier filtering". How fast a kind fades is
in its descriptor. What a stack's sweeps took off is stored; what a Brain's memories lose is computed when they are looked
at, so that recall gives it back, and no decay takes one of them out of searches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, log2
from typing import Any, NamedTuple

from sb.protocols.types.vocabulary import WEAK
from sb.store.records.columns import ACTIVE, FORGOTTEN, Row
from sb.store.records.descriptors import DESCRIPTORS

FORGET: Mapping[str, Any] = {"strength": 0.0, "state": FORGOTTEN}
REVIEW = 0.3  # below it a memory is marked for review
SWEPT_AT = "swept_at"  # the setting of a stack: up to when strengths have faded, in seconds since the epoch
DAY = 86_400.0
_GROWTH = 0.5  # of the half-life, for each doubling of the recalls
_NEVER_SWEPT = frozenset({"lesson", "affect", "handoff"})  # which no stack shows


class Fading(NamedTuple):
    """The course of a memory that is not recalled again.

    Args:
        strength: now. review_at, fades_at: when it is marked for review, and when it has faded to the least strength that
            is found, in seconds since the epoch; 0 where it never does.
    """

    strength: float
    review_at: float = 0.0
    fades_at: float = 0.0

    def is_marked(self, now: float) -> bool:
        """True if it is marked for review."""
        return 0 < self.review_at <= now


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


def stability(half_life_days: float, recalls: int) -> float:
    """Returns the half-life of a memory that was recalled so often: half as much again for each doubling."""
    return half_life_days * (1.0 + _GROWTH * log2(1 + recalls))


def fading(row: Row, reads: tuple[int, float] | None, now: float, swept_at: float = 0.0) -> Fading:
    """The course of a Brain's memory.

    Args:
        row: its record. reads: how often it was recalled, and when last; swept_at: when its stack was swept last.
    """
    times, last = reads or (0, 0.0)
    days = stability(DESCRIPTORS[row["kind"]].half_life(row["category"]), times)
    strength = row["strength"]
    if row["protected"] or days == inf or strength < WEAK:
        return Fading(strength)
    swept_at = 0.0 if row["kind"] in _NEVER_SWEPT else swept_at
    since = max(row["created_at"], row["updated_at"], last, swept_at)
    left = max(WEAK, faded(strength, (now - since) / DAY, days))
    review_at, fades_at = (since + DAY * days * log2(strength / least) for least in (REVIEW, WEAK))
    return Fading(left, max(since, review_at), fades_at)
