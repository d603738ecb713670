"""List the ways by which a memory reaches an agent, for probes of visibility."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sb.base.values.frozen import frozen
from sb.harness.probes.failures import refusal
from sb.memory import Brain
from sb.memory.neighbourhood import Neighbour

WORDS = "refunds above fifty euros"
MEANING = "who must approve paying money back to customers"  # no word of it is in the memory
NAME = "Accounting"


@frozen
class Planted:
    """Something that one agent kept.

    Args:
        fact: the id of what may be out of reach. known: of what everybody sees, and which is related to it.
        derived: of what everybody sees, and which was made from it.
    """

    fact: str
    known: str
    derived: str


def plant(brain: Brain, *, private: bool = False) -> Planted:
    """Have an agent keep a fact and an entity where it is, beside what everybody there sees and what everybody sees."""
    brain.remember("Deploys go out on Tuesdays.")
    fact = brain.remember("Refunds above fifty euros need the signature of its head.", private=private)
    brain.entity(NAME, "organization", private=private)
    known = brain.remember("The shop sells on three continents.", scope="global")
    brain.relate(known, "limited_by", fact)
    derived = brain.remember("Returns cost us time.", scope="global", derived_from=[fact])
    return Planted(fact, known, derived)


def ways(brain: Brain, planted: Planted) -> list[str]:
    """By which ways an agent comes to what was planted."""
    return [name for name, comes in _WAYS.items() if comes(brain, planted)]


def ways_text(found: list[str]) -> str:
    return ", ".join(found) or "nothing"


def _found(query: str) -> Callable[[Brain, Planted], bool]:
    def comes(brain: Brain, planted: Planted) -> bool:
        return planted.fact in [hit.id for hit in brain.search(query)]

    return comes


def _done(act: Callable[[Brain, Planted], object]) -> Callable[[Brain, Planted], bool]:
    return lambda brain, planted: refusal(lambda: act(brain, planted)) != "NotFoundError"


def _around(brain: Brain, planted: Planted) -> bool:
    return planted.fact in [neighbour.memory.id for neighbour in _flat(brain.graph(planted.known, depth=2))]


def _flat(tree: Neighbour) -> Iterator[Neighbour]:
    yield tree
    for neighbour in tree.neighbours:
        yield from _flat(neighbour)


def _comes_to_mind(brain: Brain, planted: Planted) -> bool:
    return planted.fact in [
        activated.id for activated in brain.think("On how many continents does the shop sell?")
    ]


def _shown(brain: Brain, planted: Planted) -> bool:
    return planted.fact in brain.orient(query=MEANING).as_text()


def _explains(brain: Brain, planted: Planted) -> bool:
    return planted.fact in [origin.reference for origin in brain.why(planted.derived).origins]


_WAYS: dict[str, Callable[[Brain, Planted], bool]] = {
    "words": _found(WORDS),
    "vectors": _found(MEANING),
    "id": _done(lambda brain, planted: brain.get(planted.fact)),
    "name": _done(lambda brain, planted: brain.get(NAME)),
    "change": _done(lambda brain, planted: brain.protect(planted.fact)),
    "graph": _around,
    "think": _comes_to_mind,
    "orient": _shown,
    "why": _explains,
}
EVERY_WAY = list(_WAYS)
