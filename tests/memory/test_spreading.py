"""Spreading activation in search: off unless it is set, bounded, and never past what an agent may see."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evals.retrieval import related
from sb.memory import Brain
from sb.memory.spreading import FEATURE, FIRINGS, spread
from sb.store.records.edges import Edge
from tests.memory.agents import Agents, agents

__all__ = ["agents"]

QUESTION = "kettle whistles"


@pytest.fixture(autouse=True)
def words_alone(agents: Agents) -> None:
    """Without vectors only the first of a chain is a hit."""
    configure(agents, 0.3)


def configure(agents: Agents, share: float) -> None:
    (agents.home / "config.yaml").write_text(f"memory: {{embedder: none, spreading: {share}}}\n")


def remember_chain(agents: Agents, agent: str = "coder", *, private: bool = False) -> list[str]:
    """Three memories, each related to the next; only the first has a word of the question."""
    texts = (
        "the kettle whistles at noon",
        "the parser groups tokens by regex",
        "invoices are signed in Lisbon",
    )
    chain = [  # in sessions of their own: a memory is found by the words before it, too
        agents.brain(agent).remember(text, private=private and text == texts[1]) for text in texts
    ]
    agents.brain(agent).relate(chain[0], "belongs_to", chain[1])
    agents.brain(agent).relate(chain[1], "needs", chain[2])
    return chain


def ids_found(brain: Brain, **filters: list[str]) -> set[str]:
    return {hit.id for hit in brain.search(QUESTION, **filters)}  # type: ignore[arg-type]


def test_related_memories_are_found_when_it_is_set(agents: Agents) -> None:
    chain = remember_chain(agents)
    assert ids_found(agents.brain()) == set(chain)
    assert agents.brain().search(QUESTION)[0].id == chain[0]
    configure(agents, 0.0)
    assert ids_found(agents.brain()) == {chain[0]}


def test_explanation_adds_up(agents: Agents) -> None:
    brain = agents.brain()
    remember_chain(agents)
    hits = brain.search(QUESTION, explain=True, benchmark=True)
    assert len(hits) == 3
    for hit in hits:
        assert hit.explanation is not None
        assert hit.score == pytest.approx(sum(value * weight for value, weight in hit.explanation.values()))
        assert 0 < hit.explanation[FEATURE][0] <= 1
    assert not any(hit.explanation for hit in brain.search(QUESTION))


def test_filters_hold_for_what_is_related(agents: Agents) -> None:
    brain = agents.brain()
    [first, second, third] = remember_chain(agents)
    assert ids_found(brain, kinds=["decision"]) == set()
    brain.relate(first, "led_to", brain.decide("Use SQLite", "one file"))
    assert ids_found(brain, kinds=["fact"]) == {first, second, third}
    brain.forget(third)
    assert ids_found(brain, kinds=["fact"]) == {first, second}


def test_what_an_agent_may_not_see_is_neither_found_nor_passed_through(agents: Agents) -> None:
    ada, bob = (agents.brain(name) for name in ("ada", "bob"))
    chain = remember_chain(agents, "ada", private=True)
    assert ids_found(ada) == set(chain)
    assert ids_found(bob) == {chain[0]}


def test_what_a_search_leaves_out_is_not_passed_through(agents: Agents) -> None:
    brain = agents.brain()
    chain = remember_chain(agents)
    with brain.database.write() as execute:
        execute(
            "UPDATE records SET fields = json_set(fields, '$.access_grants', json('[]')), agent = 'ada' WHERE uid = ?",
            (chain[1],),
        )
    assert ids_found(brain) == {chain[0]}


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    pairs=st.lists(st.tuples(st.integers(0, 7), st.integers(1, 7), st.floats(0.01, 5)), max_size=24),
    start=st.floats(0.1, 1),
)
def test_gain_is_bounded_and_reaches_no_further_than_it_fires(
    agents: Agents, pairs: list[tuple[int, int, float]], start: float
) -> None:
    brain = agents.brain()
    uids = [brain.remember(f"note {number}", force=True) for number in range(8)]
    ids = [brain.space.records.known([uid])[uid]["id"] for uid in uids]
    near: dict[int, set[int]] = {}
    [place] = brain.writer.places()
    with brain.space.database.write() as execute:
        for source, step, weight in pairs:
            node, other = ids[source], ids[(source + step) % 8]
            edge = Edge(node, "r", other, weight)
            brain.space.edges.add(execute, edge, place=place, agent="a", at=0.0)
            near.setdefault(node, set()).add(other)
            near.setdefault(other, set()).add(node)
    gained = spread(brain.space.edges, {ids[0]: start}, [place], lambda numbers: ())
    reached, first = {ids[0]}, near.get(ids[0], set())
    for _ in range(FIRINGS):
        reached |= {far for item in reached for far in near.get(item, ())}
    assert gained.keys() <= reached
    assert bool(gained) <= bool(first)
    assert all(0 < value <= 1 for value in gained.values())


def test_material_has_questions_of_each_kind_in_both_halves() -> None:
    material = related.load_repository()
    ids = {row.id for row in material.rows}
    assert {end for source, _, target in material.relations for end in (source, target)} <= ids
    for half in (0, 1):
        asked = [question for part, question in material.questions if part == half]
        assert {question.category for question in asked} == {"dependents", "plain", "two steps"}
        assert all(question.evidence <= ids for question in asked)
