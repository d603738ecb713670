"""Intervals of shares that were counted."""

from __future__ import annotations

import math

_Z = 1.96  # standard deviations around the mean of a normal distribution between which 95 % of it lie


def wilson(hits: int, total: int) -> tuple[float, float]:
    """The interval of 95 % that a share lies in, from 0 to 1; the whole of that where nothing was counted.

    Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference (1927).
    """
    if not total:
        return 0.0, 1.0
    share, spread = hits / total, _Z * _Z / total
    middle = (share + spread / 2) / (1 + spread)
    half = _Z / (1 + spread) * math.sqrt(share * (1 - share) / total + spread / (4 * total))
    return max(middle - half, 0.0), min(middle + half, 1.0)
