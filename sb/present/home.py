"""Today in one line, and what is enforced, folded to one line unless something is off."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sb.base.sources import MICROSECONDS
from sb.base.values.frozen import frozen
from sb.kernel.review.activity import Tally
from sb.kernel.review.findings import Finding, Status
from sb.kernel.review.verification_record import VerificationState
from sb.present.agents import counts_text
from sb.present.times import when
from sb.present.usage import dollars

NEARLY_SPENT = 0.8  # of the budget of a day
Words = tuple[tuple[str, str], ...]  # each with its tone


@frozen
class Enforced:
    """Enforcement in force.

    Args:
        on: the names of what is, in one line.
        off: what is not, or not wholly; each needs a row.
    """

    on: str
    off: tuple[Finding, ...]


def today_words(tally: Tally, cost: float | None, budget: float | None = None) -> Words:
    """Words on the day since midnight; an unknown cost is left out.

    Args:
        cost, budget: US dollars; the budget of a day, None where there is none.
    """
    words = counts_text(tally)
    if cost is None:
        return words
    if budget is None:
        return (*words, (dollars(cost), ""))
    tone = "danger" if cost >= budget else "warn" if cost >= NEARLY_SPENT * budget else ""
    return (*words, (f"{dollars(cost)} of {dollars(budget)}", tone))


def midnight(now: int) -> int:
    """When the day of the operator's time zone began; both in microseconds since the epoch."""
    local = datetime.fromtimestamp(now / MICROSECONDS).astimezone()
    return int(local.replace(hour=0, minute=0, second=0, microsecond=0).timestamp()) * MICROSECONDS


def verified_words(state: VerificationState, now: int) -> tuple[str, str]:
    """When the log was verified, with its tone.

    Args:
        now: microseconds since the epoch.
    """
    if state.trouble:
        return "verification failed", "danger"
    text = "never verified" if state.at is None else f"verified {when(state.at, now)}"
    return text, "warn" if state.overdue else ""


def enforced(findings: Sequence[Finding]) -> Enforced:
    """Fold findings: those that are fine to their names."""
    fine = dict.fromkeys(finding.name for finding in findings if finding.status is Status.OK)
    off = tuple(finding for finding in findings if finding.status is not Status.OK)
    on = [name for name in fine if name not in {finding.name for finding in off}]
    return Enforced(", ".join(on), off)
