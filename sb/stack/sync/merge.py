"""Merge two versions of a record: pick the later one, combine both, or report a conflict.

Nothing is decided by clocks. Each part of a record carries the change that it comes from, and each version the changes that
it has seen: what one side has not seen is new to it.
"""

from __future__ import annotations

from typing import Any

from sb.base.secrets.redaction import MASK
from sb.base.values.frozen import frozen
from sb.stack.sync.changes import KEYED, STANDING, TEXT, TRUST, Change

_ABOUT_THE_TEXT = frozenset({STANDING, TRUST, KEYED, "category"})  # were said of what the text was before
_MASKED = MASK.partition("{")[0]
_LATEST = frozenset(
    f"fields.{name}"
    for name in ("updated_at", "last_updated", "last_interaction", "last_used", "last_verified")
)  # times: the later one holds for both


@frozen
class Comparison:
    """The difference between a received version and the local one.

    Args:
        theirs, ours: the parts that only they, or only we, have changed.
        clashing: the parts that both have, or that cannot be had from different sides.
        later: parts in which theirs is the later time.
    """

    theirs: frozenset[str]
    ours: frozenset[str]
    clashing: frozenset[str]
    later: frozenset[str]

    @property
    def taken(self) -> frozenset[str]:
        """The parts to take over for a merge."""
        return self.theirs | self.later


def compare(local: Change, remote: Change) -> Comparison:
    """Compares two versions of one record, part by part."""
    theirs, ours, clashing, later = set[str](), set[str](), set[str](), set[str]()
    redacted = set[str]()  # of the same change: whoever redacted it never gets the value back
    for part in local.parts.keys() | remote.parts.keys():
        mine, other = local.parts.get(part), remote.parts.get(part)
        if mine == other:
            continue
        if _is_same_change(local, remote, part) and (more := _redactions(other) - _redactions(mine)):
            (redacted if more > 0 else ours).add(part)
            continue
        from_them = not _saw(local, remote.dot(part))
        from_us = not _saw(remote, local.dot(part))
        if from_them != from_us:
            (theirs if from_them else ours).add(part)
        elif part in _LATEST:
            (later if _is_later(other, mine) else ours).add(part)
        else:
            clashing.add(part)
    for item, other_side in ((theirs, ours), (ours, theirs)):
        if TEXT in item and other_side & _ABOUT_THE_TEXT:
            clashing |= {TEXT} | (other_side & _ABOUT_THE_TEXT)
    return Comparison(frozenset(theirs | redacted), frozenset(ours), frozenset(clashing), frozenset(later))


def _is_same_change(local: Change, remote: Change, part: str) -> bool:
    return local.dot(part) == remote.dot(part) != ("", 0)


def _redactions(value: Any) -> int:
    """The number of masked values in a part."""
    return str(value).count(_MASKED)


def _saw(change: Change, dot: tuple[str, int]) -> bool:
    return change.seen.get(dot[0], 0) >= dot[1]


def _is_later(left: Any, right: Any) -> bool:
    return isinstance(left, str) and (not isinstance(right, str) or left > right)
