"""Counts with the right form of their noun: "1 memory", "2 memories"."""

from __future__ import annotations


def counted(count: int, one: str, many: str = "") -> str:
    """A number of things.

    Args:
        many: what several are called, if not `one` with an s.
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"
