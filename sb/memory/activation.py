"""Spreading activation: the hits of a query and what they are related to.

Source: the memory whitepaper, "spreading activation". Each memory passes its activation on once, in the step in which it was
reached: weaker by `decay`, and by the weight of the relation where that is below 1, in both directions. What several
pass on adds up as independent chances do, so that it stays between 0 and 1.
"""

from __future__ import annotations

from collections.abc import Sequence

from sb.base.values.frozen import frozen
from sb.memory.search import Searcher
from sb.memory.space import Space
from sb.memory.trust.floor import numbers_where
from sb.memory.views import Memory, View

_SEEDS = 10  # hits of the search that it starts from, at most
_SEED = 0.7  # of the best hit's score, that another one has to have
_EDGES = 16  # relations of one memory that are followed, the strongest ones, in either direction
_FIRING = 64  # memories that pass activation on in one step: the most active ones
_FAINTEST = 0.01  # activation below which nothing is passed on


@frozen
class Step(View):
    """One relation on the way to a memory.

    Args:
        outgoing: whether the memory before it is the relation's source. id: where it leads.
    """

    relation: str
    outgoing: bool
    id: str


@frozen
class Activated(Memory):
    """A memory that came to mind.

    Args:
        activation: from 0 to 1; the best hit of the search has 1.
        seed: id of the hit from which the strongest path leads here; its own where it was found itself.
        path: the relations of that path, none for a hit.
    """

    activation: float = 0.0
    seed: str = ""
    path: tuple[Step, ...] = ()


_Path = tuple[tuple[str, bool, int], ...]  # relation, outgoing, number of the record that it leads to


def spread(
    space: Space, seeds: dict[int, float], places: Sequence[int], hops: int, decay: float
) -> dict[int, tuple[float, int, _Path]]:
    """Activation, seed and strongest path of each record that is reached, by its number.

    Args:
        seeds: records and their activation, from 0 to 1. places: who may see what is reached.
    """
    found: dict[int, tuple[float, int, _Path]] = {
        number: (value, number, ()) for number, value in seeds.items()
    }
    firing = list(seeds)
    for _ in range(hops):
        firing = [item for item in firing if found[item][0] * decay >= _FAINTEST]
        firing = sorted(firing, key=lambda node: (-found[node][0], node))[:_FIRING]
        if not firing:
            break
        passed: dict[int, list[tuple[float, int, _Path]]] = {}
        for edge in space.edges.strongest(firing, places, _EDGES):
            for near, far, outgoing in ((edge.source, edge.target, True), (edge.target, edge.source, False)):
                if near in firing and far not in found:
                    value, seed, path = found[near]
                    given = value * decay * min(1.0, edge.weight)
                    passed.setdefault(far, []).append((given, seed, (*path, (edge.relation, outgoing, far))))
        for number, gifts in passed.items():
            rest = 1.0
            for value, _, _ in gifts:
                rest *= 1.0 - value
            _, seed, path = max(gifts, key=lambda gift: gift[0])
            found[number] = (1.0 - rest, seed, path)
        firing = list(passed)
    return found


def think(
    space: Space, searcher: Searcher, query: str, places: Sequence[int], hops: int, decay: float, k: int
) -> list[tuple[int, Activated]]:
    """The k memories that come to mind most, with their numbers, the most active first.

    Raises:
        ValueError: hops is negative, decay is not above 0 and at most 1, or k is not positive.
    """
    if hops < 0 or not 0 < decay <= 1 or k < 1:
        raise ValueError("hops must be at least 0, decay above 0 and at most 1, k at least 1")
    ranked = searcher.find(query, places)[:_SEEDS]
    best = ranked[0].score if ranked else 0.0
    seeds = {item.id: item.score / best for item in ranked if best > 0 and item.score >= _SEED * best}
    found = spread(space, seeds, places, hops, decay)
    hidden = numbers_where(space.database, found, space.reader.left_out(places))
    found = {number: item for number, item in found.items() if number not in hidden}
    active = sorted(found, key=lambda number: (-found[number][0], number))[:k]
    named = {number for at in active for number in (at, found[at][1], *(step[2] for step in found[at][2]))}
    rows = {row["id"]: row for row in space.records.rows(list(named))}
    shown = []
    for number in active:
        value, seed, path = found[number]
        steps = tuple(Step(relation, outgoing, rows[end]["uid"]) for relation, outgoing, end in path)
        memory = space.memory(rows[number])
        more = {"activation": value, "seed": rows[seed]["uid"], "path": steps}
        shown.append((number, Activated(**{name: memory[name] for name in memory}, **more)))
    return shown
