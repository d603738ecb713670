"""Home: today in one line, and what is enforced, folded to one line unless something is off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sb.kernel.review.activity import Tally
from sb.kernel.review.findings import Finding, Status
from sb.present.agents import counts_text
from sb.present.usage import dollars
from sb.sources import MICROSECONDS

Words = tuple[tuple[str, str], ...]  # each with its tone


@dataclass(frozen=True)
class Enforced:
    """What is enforced.

    Args:
        on: the names of what is, in one line.
        off: what is not, or not wholly; each needs a row.
    """

    on: str
    off: tuple[Finding, ...]


def today_words(tally: Tally, cost: float | None) -> Words:
    """What happened since midnight; a cost that is unknown is left out."""
    words = counts_text(tally)
    return words if cost is None else (*words, (dollars(cost), ""))


def midnight(now: int) -> int:
    """When the day of the operator's time zone began; both in microseconds since the epoch."""
    local = datetime.fromtimestamp(now / MICROSECONDS).astimezone()
    return int(local.replace(hour=0, minute=0, second=0, microsecond=0).timestamp()) * MICROSECONDS


def enforced(findings: Sequence[Finding]) -> Enforced:
    """Fold findings: those that are fine to their names."""
    fine = dict.fromkeys(one.name for one in findings if one.status is Status.OK)
    off = tuple(one for one in findings if one.status is not Status.OK)
    on = [name for name in fine if name not in {one.name for one in off}]
    return Enforced(", ".join(on), off)
