"""Where two runs part: the first call that is another one, and each that ended otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sb.base.secrets.redaction import redact
from sb.kernel.replay.packet import Packet, Step

_FACETS = (  # of a call that both made: what may differ, as people say it
    ("fingerprint", "contract"),
    ("became", "verdict"),
    ("asked", "asked for"),
    ("code", "error"),
    ("value", "result"),
)


class Divergence(NamedTuple):
    """One difference.

    Args:
        position: of the call, from 1. what: call, contract, verdict, asked for, error, result, missing or extra.
        then, now: plain JSON, redacted: packets hold values as they were; None for nothing.
    """

    position: int
    tool_id: str
    what: str
    then: Any
    now: Any


def divergences(then: Sequence[Step], now: Sequence[Step]) -> list[Divergence]:
    """Differences between the calls of two runs, in order.

    Behind the first call that is another one nothing is compared: what follows answers to something else.
    """
    found: list[Divergence] = []
    for position, (before, after) in enumerate(zip(then, now, strict=False), 1):
        if before.key != after.key:
            called = ({"tool_id": step.tool_id, "args": step.args} for step in (before, after))
            return [*found, _redacted(position, before.tool_id, "call", *called)]
        found += _of_one_call(position, before, after)
    if len(then) > len(now):
        missing = then[len(now)]
        found.append(_redacted(len(now) + 1, missing.tool_id, "missing", missing.args, None))
    elif len(now) > len(then):
        extra = now[len(then)]
        found.append(_redacted(len(then) + 1, extra.tool_id, "extra", None, extra.args))
    return found


def _redacted(position: int, tool_id: str, what: str, then: Any, now: Any) -> Divergence:
    return Divergence(position, tool_id, what, redact(then), redact(now))


def _of_one_call(position: int, before: Step, after: Step) -> list[Divergence]:
    found = []
    for name, what in _FACETS:
        then, now = getattr(before, name), getattr(after, name)
        if then != now:
            found.append(_redacted(position, before.tool_id, what, then, now))
            if what == "verdict":  # then error and result follow from it
                break
    return found


def changed_facts(then: Packet, now: Packet) -> list[tuple[str, Any, Any]]:
    """Facts that differ between the starts of two runs: name, before, after; redacted, without ids and times."""
    left, right = ({**packet.rules, **packet.begun} for packet in (then, now))
    names = [name for name in dict.fromkeys([*left, *right]) if name not in ("run_id", "at", "from_start")]
    return [
        (name, redact(left.get(name)), redact(right.get(name)))
        for name in names
        if left.get(name) != right.get(name)
    ]
