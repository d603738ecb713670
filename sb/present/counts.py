"""Counts with the right form of their noun: "1 memory", "2 memories"; large ones in groups or short."""

from __future__ import annotations


def counted(count: int, one: str, many: str = "") -> str:
    """A number of things.

    Args:
        many: what several are called, if not `one` with an s.
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def grouped(count: int) -> str:
    """A number with its thousands apart, such as 12 408."""
    return f"{count:,}".replace(",", " ")


def compact(count: int) -> str:
    """A number in at most four characters: 950, 1.2k, 10k, 3.4M."""
    for size, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if count >= size:
            tenths = count * 10 // size  # rounded down: 9 999 waiting are not 10k
            return (
                f"{tenths // 10}.{tenths % 10}".removesuffix(".0") if tenths < 100 else f"{tenths // 10}"
            ) + letter
    return str(count)
