"""Times and spans as every face shows them."""

from __future__ import annotations

from datetime import UTC, datetime

from sb.duration import human_age, human_duration, short_duration
from sb.sources import MICROSECONDS, iso_micros

NOW_S = 5  # seconds; what is younger happened now
_WEEK_S = 7 * 86_400
_MONTHS = (
    "Jan",
    "Feb",
    "Mar",
    "Apr",
    "May",
    "Jun",
    "Jul",
    "Aug",
    "Sep",
    "Oct",
    "Nov",
    "Dec",
)  # whatever the locale


def moment(at: int) -> str:
    """Month, day and time of microseconds since the epoch, UTC."""
    return iso_micros(at)[5:19].replace("T", " ")


def date_and_time(at: int) -> str:
    """Date and time of microseconds since the epoch, UTC, to the second."""
    return iso_micros(at)[:19].replace("T", " ") + "Z"


def minute(value: datetime | None) -> str:
    """Date and time to the minute, UTC; "-" for none."""
    return "-" if value is None else f"{value.astimezone(UTC):%Y-%m-%d %H:%M}"


def left(ends_at: int | None, now: int) -> str:
    """The time left, of microseconds since the epoch; "-" where nothing runs out, or it has."""
    return "-" if ends_at is None or ends_at <= now else human_duration((ends_at - now) / MICROSECONDS)


def ago(at: int, now: int) -> str:
    """How long ago something was, of microseconds since the epoch."""
    return human_age((now - at) / MICROSECONDS)


def short_age(at: int, now: int) -> str:
    """How long ago something was, for a column of six cells: now, 40s, 9m, 3h, 6d, then 12 Nov, then 2024-11.

    Args:
        at, now: microseconds since the epoch.
    """
    seconds = (now - at) / MICROSECONDS
    if seconds < NOW_S:
        return "now"
    if seconds < _WEEK_S:
        return short_duration(seconds)
    day, today = (datetime.fromtimestamp(one / MICROSECONDS, UTC) for one in (at, now))
    return f"{day.day} {_MONTHS[day.month - 1]}" if day.year == today.year else f"{day:%Y-%m}"


def short_left(ends_at: int | None, now: int) -> str:
    """The time left in its largest unit, such as 58m; "" where nothing runs out, or it has."""
    return "" if ends_at is None or ends_at <= now else short_duration((ends_at - now) / MICROSECONDS)
