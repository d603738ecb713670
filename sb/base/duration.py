"""Parse and format durations such as "90d"."""

from __future__ import annotations

import re

from sb.errors import UsageError

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
LONGEST_S = 100 * 366 * 86_400
_SHAPE = re.compile(r"(\d{1,9})([smhdw])")


def parse_duration(text: str) -> int:
    """Seconds in a duration such as 30s, 15m, 2h, 90d or 4w.

    Raises:
        UsageError: it has another shape.
    """
    match = _SHAPE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{text!r} is not a duration", "write a number and a unit: 30s, 15m, 2h, 90d, 4w")
    seconds = int(match[1]) * _SECONDS[match[2]]
    if seconds > LONGEST_S:
        raise UsageError(f"{text!r} is longer than a century")
    return seconds


_AGES = ((86_400, "d"), (3_600, "h"), (60, "min"))


def human_age(seconds: float) -> str:
    """An age in its largest unit: "2 min ago", "5 h ago", "3 d ago"; "just now" below a minute."""
    for size, unit in _AGES:
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago"
    return "just now"


def human_duration(seconds: float) -> str:
    """A span of time as people read it, its two largest units: 45s, 3m 20s, 2h 5m, 4d 1h; "0s" if it is over."""
    left = max(int(seconds), 0)
    parts: list[tuple[int, str]] = []
    for unit in ("d", "h", "m", "s"):
        count, left = divmod(left, _SECONDS[unit])
        if count or parts:
            parts.append((count, unit))
    return " ".join(f"{count}{unit}" for count, unit in parts[:2] if count) or "0s"
