"""Times and spans as every face shows them."""

from __future__ import annotations

from datetime import UTC, datetime

from sb.base.fitting import relative_age, short_span
from sb.base.sources import MICROSECONDS, iso_micros


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
    return "-" if ends_at is None or ends_at <= now else short_span((ends_at - now) / MICROSECONDS)


def ago(at: int | None, now: int) -> str:
    """An age, of microseconds since the epoch: now, 9m, 3h, then its day; "" where the time is unknown."""
    return "" if at is None else relative_age(at, now)


def lateness(asked_at: int, ends_at: int | None, now: int) -> str:
    """Since when something waits and when it lapses: "asked 2h ago, lapses in 2h"; without a limit "asked 2h ago"."""
    ends = left(ends_at, now)
    return f"asked {when(asked_at, now)}" + (f", lapses in {ends}" if ends != "-" else "")


def when(at: int, now: int) -> str:
    """When something was, within a sentence: just now, 9m ago, on 12 Nov."""
    age = relative_age(at, now)
    if age == "now":
        return "just now"
    return f"on {age}" if " " in age else f"{age} ago"
