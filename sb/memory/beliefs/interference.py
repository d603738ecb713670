"""Hold back a correction that would displace a bearing memory, or take the support of one that is in use.

Source: the memory whitepaper, "ewc-style importance weighting" and "proactive interference gate". The dependency score of a
memory is how often it was recalled, less for each half-life since, times the share of its support that stands; each
source weighs less with its age. A correction that lets the score of a descendant fall below the threshold waits for a person.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sb.base.values.frozen import frozen
from sb.memory.beliefs.closure import STANDS, Lineage
from sb.memory.decay import DAY, faded
from sb.memory.space import Space
from sb.memory.trust.scores import trust_in_memory
from sb.store.records.columns import Row
from sb.store.records.descriptors import DESCRIPTORS
from sb.store.records.edges import DERIVED_FROM

_BAR = -0.25  # of the shift of a prior, below which an agent displaces nothing by itself


@frozen
class Interference:
    """A memory that would lose too much of its support.

    Args:
        record: its number. former, remaining: its dependency score before the correction and after it.
    """

    record: int
    uid: str
    former: float
    remaining: float
    threshold: float

    def __str__(self) -> str:
        return (
            f"{self.uid}, which is in use, would lose its support"
            f" ({self.former:.1f} to {self.remaining:.1f}, least {self.threshold:g})"
        )


def displaced(space: Space, losers: Sequence[Row], winner: Row) -> str:
    """The reason why a new record may not displace these by itself, since much rests on one of them; or ""."""
    found = space.reads.importance([row["id"] for row in losers])
    if not found:
        return ""
    from sb.memory.gate.worth import shift
    from sb.memory.salience import bearing

    standing = space.trust.standings(space.places.numbered(winner["place"]).stack).get(winner["agent"])
    trust = trust_in_memory(winner["source_type"], standing and standing.score)
    uids = {row["id"]: row["uid"] for row in losers}
    for number, importance in found.items():
        if shift(trust, bearing(importance)) < _BAR:
            return f"{uids[number]} is important ({importance:g}: recalls times steps that rest on it)"
    return ""


def interference(
    space: Space, lineage: Lineage, losers: Sequence[Row], fallen: Collection[int]
) -> list[Interference]:
    """The descendants whose score a correction would let fall below the threshold, the worst first.

    Args:
        losers: with their echoes. fallen: numbers of what would fall with them.
    """
    least, now = space.settings.interference, space.clock.now()
    below = lineage.below([row["id"] for row in losers]) if least else []
    reads = space.recalls(below)
    used = [number for number in below if reads.get(number, (0, 0.0))[0] >= least]
    gone, found = {*fallen, *(row["id"] for row in losers)}, list[Interference]()
    for row in space.records.rows(used):
        times, last = reads[row["id"]]
        score = round(faded(float(times), (now - last) / DAY, _half_life(row)), 2)
        if score < least:
            continue
        before, after = _support(space, lineage, row, gone, now)
        remaining = score * (after / before if before else 0.0)
        if remaining < least:
            found.append(Interference(row["id"], row["uid"], score, remaining, least))
    return sorted(found, key=lambda item: item.remaining - item.former)


def _support(
    space: Space, lineage: Lineage, row: Row, gone: Collection[int], now: float
) -> tuple[float, float]:
    """The weight of all that a record rests on, and of what of it would still stand."""
    edges = [edge for edge in space.edges.lineage(row["id"]) if edge.relation == DERIVED_FROM]
    sources = list(space.records.rows([edge.target for edge in edges if edge.source == row["id"]]))
    weights = {
        source["id"]: faded(1.0, (now - source["updated_at"]) / DAY, _half_life(source))
        for source in sources
        if source["state"] in STANDS
    }
    elsewhere = float(lineage.rests_elsewhere(row, [source["uid"] for source in sources]))
    after = sum(weight for number, weight in weights.items() if number not in gone)
    return sum(weights.values()) + elsewhere, after + elsewhere


def _half_life(row: Row) -> float:
    return DESCRIPTORS[row["kind"]].half_life(row["category"])


def refused(space: Space, collapse: int, places: Collection[int]) -> list[dict[str, Any]]:
    """The refusals of the gate that made an event wait, as they are on record, for who reads these places."""
    rows = space.database.query(
        "SELECT r.uid, p.former, p.remaining, p.threshold, r.place FROM pii_audit AS p"
        " JOIN records AS r ON r.id = p.record WHERE p.collapse = ? ORDER BY p.remaining - p.former",
        (collapse,),
    )
    names = ("id", "former", "remaining", "threshold")
    return [dict(zip(names, row, strict=False)) for row in rows if row[-1] in places]
