"""Alignment of calls with steps: the best one, never the first that comes.

Calls of one step are a bitmask: bit n is set where call n fits. Each call serves at most one step, and each step has at
most one call. Most required steps count first, then most optional ones, then the earliest calls.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence

Matched = tuple[int | None, ...]  # for each step the index of its call


def align_in_order(fits: Sequence[int], optional: Sequence[bool]) -> Matched:
    """The best alignment in which calls stand in the order of their steps.

    A dynamic program over steps and calls: as many cells as both have together, multiplied.
    """
    columns = bits(union(fits))  # calls that fit no step change nothing
    width = len(columns)
    heavy = len(fits) + 1  # one required step is worth more than all optional ones
    weights = [1 if is_optional else heavy for is_optional in optional]
    rows: list[array[int]] = [array("q", bytes(8 * (width + 1)))]
    flags = [_flags(mask, columns) for mask in fits]
    for weight, flag in zip(reversed(weights), reversed(flags), strict=True):
        below = rows[-1]
        row = list(below)
        best = 0
        for column in range(width - 1, -1, -1):
            best = max(best, row[column])
            if flag[column]:
                best = max(best, weight + below[column + 1])
            row[column] = best
        rows.append(array("q", row))
    rows.reverse()
    return _trace(rows, columns, flags, weights)


def _trace(
    rows: Sequence[array[int]], columns: Sequence[int], flags: Sequence[bytes], weights: Sequence[int]
) -> Matched:
    """Walk the calls from the first, and take each that a best alignment of those before can have.

    A state is how many steps are behind; several may have served the same calls.
    """
    states = {0}
    taken: list[tuple[int, dict[int, int]]] = []  # a call, and each state after it with the state before
    for column, call in enumerate(columns):
        after: dict[int, int] = {}
        state, goal = 0, -1
        for step in range(min(states), len(weights)):
            worth = rows[step][column]
            if step in states:
                state, goal = step, worth
            # A row that is worth less than the state's: without the steps between it is not the best.
            if worth == goal and flags[step][column] and weights[step] + rows[step + 1][column + 1] == goal:
                after[step + 1] = state
        if after:
            taken.append((call, after))
            states = set(after)
    matched: list[int | None] = [None] * len(weights)
    state = min(states)
    for call, after in reversed(taken):
        matched[state - 1] = call
        state = after[state]
    return tuple(matched)


def align_in_any_order(fits: Sequence[int], optional: Sequence[bool]) -> Matched:
    """The best alignment without an order.

    Steps are given calls along augmenting paths, required ones first: such a path never takes a step's call without
    giving it another. The same from the side of the calls, in time order, finds the earliest calls that serve as many
    of these steps; a matching that has both exists (Mendelsohn and Dulmage).
    """
    order = sorted(range(len(fits)), key=lambda step: optional[step])
    served = maximum_matching([fits[step] for step in order])
    steps = [order[index] for index, bit in enumerate(served) if bit is not None]
    steps.sort()
    reach: dict[int, int] = {}
    for index, step in enumerate(steps):
        for call in bits(fits[step]):
            reach[call] = reach.get(call, 0) | 1 << index
    calls = sorted(reach)
    matched: list[int | None] = [None] * len(fits)
    of_calls = maximum_matching((reach[call] for call in calls), most=len(steps))
    for call, server in zip(calls, of_calls, strict=True):
        if server is not None:
            matched[steps[server]] = call
    return tuple(matched)


def maximum_matching(
    masks: Iterable[int], taken: Sequence[int | None] = (), most: int | None = None
) -> list[int | None]:
    """For each mask one of its bits, each bit once, so that as many masks as possible have one.

    Masks that come first have one rather than those that come later, and who has one keeps having one.

    Args:
        taken: bits that the first masks have at the beginning. most: end when so many have one.
    """
    edges: list[int] = []
    has: list[int | None] = []
    owner: dict[int, int] = {}
    dead = 0  # bits that a search in vain has seen: no path leads from them to a free one
    used = 0
    for index, mask in enumerate(masks):
        edges.append(mask)
        has.append(taken[index] if index < len(taken) else None)
        if (bit := has[index]) is not None:
            owner[bit] = index
            used |= 1 << bit
    for index in range(len(edges)):
        if most is not None and len(owner) >= most:
            break
        if has[index] is None:
            seen, free = _augment(index, edges, has, owner, used, dead)
            used |= free
            dead = dead if free else seen
    return has


def _augment(
    start: int,
    edges: Sequence[int],
    has: list[int | None],
    owner: dict[int, int],
    used: int,
    dead: int,
) -> tuple[int, int]:
    """Give `start` a bit, moving others along one path if needed.

    Returns the bits that were looked at, and the one that was free, or 0.
    """
    seen = dead
    came_from: dict[int, int] = {}  # the mask from which a bit was reached
    queue = [start]
    for mask in queue:
        reachable = edges[mask] & ~seen
        if free := reachable & ~used:
            free &= -free
            bit: int | None = free.bit_length() - 1
            while bit is not None:
                bit_before = has[mask]
                has[mask], owner[bit] = bit, mask
                bit = bit_before
                mask = came_from[bit] if bit is not None else mask
            return seen, free
        seen |= reachable
        while reachable:
            low = reachable & -reachable
            reachable ^= low
            bit = low.bit_length() - 1
            came_from[bit] = mask
            queue.append(owner[bit])
    return seen, 0


def union(masks: Iterable[int]) -> int:
    """The bits that are set in any mask."""
    together = 0
    for mask in masks:
        together |= mask
    return together


def bits(mask: int) -> list[int]:
    """The bits that are set, lowest first."""
    return [index for index, char in enumerate(reversed(f"{mask:b}")) if char == "1"]


def _flags(mask: int, columns: Sequence[int]) -> bytes:
    digits = f"{mask:b}"[::-1].ljust(columns[-1] + 1 if columns else 0, "0")
    return bytes(digits[column] == "1" for column in columns)
