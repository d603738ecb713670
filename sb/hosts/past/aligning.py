"""Align two versions of some lines, in time that grows with their number alone.

`difflib` takes minutes for lines that somebody chose for it. Lines that occur once in both versions are matched, in the
longest order that both have; what is equal next to a match, or to an end, is matched with it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence


def aligned(now: Sequence[str], before: Sequence[str]) -> list[int | None]:
    """Where each line of one version stands in another; None for a line that it does not have."""
    found: list[int | None] = [None] * len(now)
    at_now, at_before = -1, -1
    for next_now, next_before in (*_anchors(now, before), (len(now), len(before))):
        _extend(now, before, found, (at_now, next_now), (at_before, next_before))
        if next_now < len(now):
            found[next_now] = next_before
        at_now, at_before = next_now, next_before
    return found


def _extend(
    now: Sequence[str],
    before: Sequence[str],
    found: list[int | None],
    gap: tuple[int, int],
    gap_before: tuple[int, int],
) -> None:
    """Match what is equal at the beginning and at the end of a gap between two matches."""
    (first, last), (first_before, last_before) = gap, gap_before
    first, first_before = first + 1, first_before + 1
    while first < last and first_before < last_before and now[first] == before[first_before]:
        found[first] = first_before
        first, first_before = first + 1, first_before + 1
    while first < last and first_before < last_before and now[last - 1] == before[last_before - 1]:
        last, last_before = last - 1, last_before - 1
        found[last] = last_before


def _anchors(now: Sequence[str], before: Sequence[str]) -> list[tuple[int, int]]:
    """The longest sequence of lines that are unique in both versions and stand in the same order."""
    times, times_before = Counter(now), Counter(before)
    place = {line: at for at, line in enumerate(before) if times_before[line] == 1}
    pairs = [(at, place[line]) for at, line in enumerate(now) if times[line] == 1 and line in place]
    ends: list[int] = []  # the smallest end of a sequence of each length, and which pair it is
    chosen: list[int] = []
    previous: list[int] = []
    for number, (_, at) in enumerate(pairs):
        length = bisect_left(ends, at)
        ends[length : length + 1] = [at]
        chosen[length : length + 1] = [number]
        previous.append(chosen[length - 1] if length else -1)
    longest, number = [], chosen[-1] if chosen else -1
    while number >= 0:
        longest.append(pairs[number])
        number = previous[number]
    return longest[::-1]
