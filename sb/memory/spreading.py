"""Spreading activation in search: what the best hits are related to counts as well.

Source: Collins and Loftus, "A spreading-activation theory of semantic processing" (1975), as the memory whitepaper has it,
"spreading activation". The best hits fire; each passes a part of its activation on, weaker by `DECAY` and by the weight of
the relation where that is below 1, in both directions, and weaker the more relations it has. What was reached fires next, a
seed again too; only the most active do, which inhibits the others. The numbers were chosen on one half of
`evals/retrieval/related.py`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from heapq import nlargest
from typing import Any

from sb.memory.ranking.rank import Ranked
from sb.memory.space import Space
from sb.memory.trust.floor import numbers_where
from sb.store.records.edges import EdgeStore

SEEDS = 3  # hits of the search that fire first, at most
NEAR = 0.9  # of the best hit's score, that another one has to have
DECAY = 0.65
FIRINGS = 2
_FAN = 0.25  # power of the number of relations that a memory's activation is divided by
_EDGES = 16  # relations of one memory that are followed, the strongest ones, in either direction
_FIRING = 16  # memories that fire at once, the most active ones
_FAINTEST = 0.01  # activation below which nothing fires

FEATURE = "related"  # as explanations name it


def spread(
    edges: EdgeStore,
    seeds: Mapping[int, float],
    places: Sequence[int],
    hidden: Callable[[Collection[int]], Collection[int]],
) -> dict[int, float]:
    """The gain of each record from others, from 0 to 1, by its number.

    Args:
        seeds: records and their activation, from 0 to 1. places: who may see what is reached.
        hidden: those of some records that are neither reached nor passed through.
    """
    gained: dict[int, float] = {}
    firing = dict(seeds)
    for _ in range(FIRINGS):
        related = edges.strongest(list(firing), places, _EDGES)
        fan = Counter(end for edge in related for end in (edge.source, edge.target))
        passed: dict[int, float] = defaultdict(float)
        for edge in related:
            given = DECAY * min(1.0, edge.weight)
            for near, far in ((edge.source, edge.target), (edge.target, edge.source)):
                if near in firing:
                    passed[far] += firing[near] * given / fan[near] ** _FAN
        for number in hidden(passed):
            del passed[number]
        strongest = nlargest(_FIRING, passed.items(), key=lambda pair: (pair[1], -pair[0]))
        firing = {number: min(1.0, value) for number, value in strongest if value >= _FAINTEST}
        for number, value in firing.items():
            gained[number] = min(1.0, gained.get(number, 0.0) + value)
        if not firing:
            break
    return gained


def with_related(
    space: Space,
    ranked: Sequence[Ranked],
    places: Sequence[int],
    meets: tuple[str, tuple[Any, ...]],
    share: float,
) -> list[Ranked]:
    """The hits and what they are related to, the best first, ties by id.

    Args:
        ranked: hits, the best first. places: who may see what is reached.
        meets: the condition that every hit meets, as SQL over `r`, and its parameters.
        share: of the best hit's score, that an activation of 1 adds.
    """
    best = ranked[0].score if ranked else 0.0
    if best <= 0:
        return list(ranked)
    condition = space.reader.left_out(places)
    seeds = {item.id: item.score / best for item in ranked[:SEEDS] if item.score >= NEAR * best}
    gained = spread(
        space.edges, seeds, places, lambda numbers: numbers_where(space.database, numbers, condition)
    )
    if not gained:
        return list(ranked)
    known = {item.id for item in ranked}
    new = numbers_where(space.database, gained.keys() - known, meets)
    found = [*ranked, *(Ranked(number, 0.0, {}) for number in new)]
    explained = ranked[0].features is not None
    return sorted(
        (_raised(item, gained.get(item.id, 0.0), share * best, explained) for item in found),
        key=lambda one: (-one.score, one.id),
    )


def _raised(hit: Ranked, activation: float, worth: float, explained: bool) -> Ranked:
    features = {**(hit.features or {}), FEATURE: (activation, worth)} if explained else None
    return Ranked(hit.id, hit.score + activation * worth, features, hit.restatement)
