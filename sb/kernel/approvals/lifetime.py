"""Expiry of requests and grants, also across changes of the clock.

The clock alone would let an expired approval count again once it is set back, and would keep what was asked for while
it was ahead open for as long. The order of the log decides in both cases.
"""

from __future__ import annotations

from sb.base.sources import MICROSECONDS, micros
from sb.log.event_log import EventLog

CLOCK_SLACK = 600 * MICROSECONDS  # by which a clock is corrected in everyday life


def over(log: EventLog, reference: str, began_at: int, expires_at: int, *, people: bool = False) -> bool:
    """True if it does not count any more; times in microseconds since the epoch.

    Args:
        reference: the id of the request or grant.
        people: look only at rows of people's requests and decisions: for what lasts long and is asked about often.
    """
    now = micros(log.clock.now())
    in_time = began_at - CLOCK_SLACK <= now < expires_at
    return not in_time or log.reached(reference, expires_at, people=people)
