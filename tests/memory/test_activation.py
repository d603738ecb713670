"""Spreading activation: related memories are recalled, weaker with distance, and bounded."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sb.store.records.edges import Edge
from tests.memory.agents import Agents, agents

__all__ = ["agents"]


def test_a_chain_of_relations_comes_to_mind_weaker_with_each_step(agents: Agents) -> None:
    brain = agents.brain()
    names = ("RateLimiter", "Gateway", "Ledger", "Vault")
    for name in names:
        brain.entity(name, "service")
    for item, other in pairwise(names):
        brain.relate(item, "feeds", other)
    found = brain.think("RateLimiter", hops=2, decay=0.5)
    assert [str(activated) for activated in found] == ["RateLimiter", "Gateway", "Ledger"]
    assert [activated.activation for activated in found] == [1.0, 0.5, 0.25]
    assert [step.relation for step in found[2].path] == ["feeds", "feeds"]
    assert [step.id for step in found[2].path] == [found[1].id, found[2].id]
    assert {activated.seed for activated in found} == {found[0].id}
    assert [str(activated) for activated in brain.think("RateLimiter", hops=0)] == ["RateLimiter"]
    assert str(brain.think("Vault", hops=1)[1]) == "Ledger"  # relations lead both ways
    assert not brain.think("Vault", hops=1)[1].path[0].outgoing


def test_weak_relations_pass_less_on_and_several_ways_add_up(agents: Agents) -> None:
    brain = agents.brain()
    for name in ("Alpha", "Beta", "Gamma", "Delta"):
        brain.entity(name, "concept")
    brain.relate("Alpha", "likes", "Beta", weight=0.5)
    brain.relate("Alpha", "likes", "Gamma", weight=7)
    brain.relate("Beta", "likes", "Delta")
    brain.relate("Gamma", "likes", "Delta")
    found = {str(activated): activated for activated in brain.think("Alpha", decay=0.5)}
    assert found["Beta"].activation == 0.25
    assert found["Gamma"].activation == 0.5
    assert found["Delta"].activation == pytest.approx(1 - (1 - 0.125) * (1 - 0.25))
    assert found["Delta"].path[0].id == found["Gamma"].id


def test_what_an_agent_may_not_see_is_neither_reached_nor_passed_through(agents: Agents) -> None:
    ada = agents.brain("ada")
    for name, private in (("Open", False), ("Hidden", True), ("Beyond", False)):
        ada.entity(name, "concept", private=private)
    ada.relate("Open", "leads_to", "Hidden")
    ada.relate("Hidden", "leads_to", "Beyond")
    ada.entity("Forgotten", "concept")
    ada.relate("Open", "leads_to", "Forgotten")
    ada.forget("Forgotten")
    assert {str(activated) for activated in ada.think("Open")} == {"Open", "Hidden", "Beyond"}
    assert [str(activated) for activated in agents.brain("bob").think("Open")] == ["Open"]


def test_thinking_counts_as_reading(agents: Agents) -> None:
    brain = agents.brain()
    brain.entity("Alpha", "concept")
    brain.think("Alpha")
    assert agents.rows("SELECT operation, query, session FROM broadcasts") == [("think", "Alpha", 1)]


@pytest.mark.parametrize("wrong", [{"hops": -1}, {"decay": 0.0}, {"decay": 1.5}, {"k": 0}], ids=str)
def test_values_that_cannot_be_are_refused(agents: Agents, wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be"):
        agents.brain().think("x", **wrong)  # type: ignore[arg-type]


def test_a_memory_with_very_many_relations_is_thought_of_quickly(agents: Agents) -> None:
    brain = agents.brain()
    hub = brain.entity("Hub", "concept")
    rows = [agents.brain().space.records.find(hub)]
    ids = [brain.remember(f"leaf {number}") for number in range(300)]
    leaves = [brain.space.records.find(item) for item in ids]
    assert rows[0] is not None
    with agents.database.write() as execute:
        for number, leaf in enumerate(leaves):
            assert leaf is not None
            edge = Edge(rows[0]["id"], "has", leaf["id"], weight=(number + 1) / 300)
            brain.space.edges.add(execute, edge, place=rows[0]["place"], agent="ada", at=0.0)
            for step in range(1, 30):
                other = leaves[(number + step) % len(leaves)]
                assert other is not None
                brain.space.edges.add(
                    execute, Edge(leaf["id"], "near", other["id"]), place=leaf["place"], agent="ada", at=0.0
                )
    begun = time.process_time()
    found = brain.think("Hub", hops=50, decay=1.0, k=1000)
    assert time.process_time() - begun < 20
    direct = [activated for activated in found if len(activated.path) == 1]
    assert len(direct) <= 32
    assert {str(activated) for activated in direct} <= {
        f"leaf {number}" for number in range(200, 300)
    }  # the strongest


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    pairs=st.sets(
        st.tuples(st.integers(0, 7), st.integers(0, 7)).filter(lambda p: p[0] != p[1]), max_size=20
    ),
    decay=st.floats(0.05, 1.0),
    hops=st.integers(0, 6),
)
def test_activation_stays_between_0_and_1_and_each_memory_comes_once(
    agents: Agents, pairs: set[tuple[int, int]], decay: float, hops: int
) -> None:
    brain = agents.brain(stack=f"s{agents.ids.token(4)}")
    for number in range(8):
        brain.entity(f"Node{number}", "concept")
    for pair, other in sorted(pairs):
        brain.relate(f"Node{pair}", "r", f"Node{other}", weight=0.1 + pair)
    found = brain.think("Node0", hops=hops, decay=decay)
    assert [activated.activation for activated in found] == sorted(
        (activated.activation for activated in found), reverse=True
    )
    assert all(0 < activated.activation <= 1 for activated in found)
    assert len({activated.id for activated in found}) == len(found)
    assert all(
        len(activated.path) <= hops and (activated.path == () or activated.path[-1].id == activated.id)
        for activated in found
    )


def test_as_many_steps_as_one_likes_end_where_nothing_is_left_to_pass_on(agents: Agents) -> None:
    brain = agents.brain()
    uid = brain.remember("the till is short")
    assert [activated.id for activated in brain.think("till", hops=10**12, decay=1.0)] == [uid]
