"""Belief revision over random relations, with circles: success, inclusion, consistency, closure, minimal change."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sb.errors import CheckFailed
from sb.memory import Brain
from tests.memory.agents import Agents, agents  # noqa: F401 (a fixture)

MOST = 7  # records of one graph
COUNTER = itertools.count()


@dataclass
class World:
    """A scope of its own in one database, and what is expected of it.

    Args:
        supports: the ids that each record was derived from. elsewhere: those that also rest on a call.
    """

    brain: Brain
    supports: dict[str, set[str]] = field(default_factory=dict)
    elsewhere: set[str] = field(default_factory=set)

    def state(self, uid: str) -> str:
        row = self.brain.space.records.find(uid)
        assert row is not None
        return str(row["state"])

    @property
    def active(self) -> set[str]:
        return {uid for uid in self.supports if self.state(uid) == "active"}

    def add(self, sources: set[str], *, call: bool = False) -> str:
        text = f"record {next(COUNTER)} says something"
        refs = [*sorted(sources), *(["call:call_1"] if call else [])]
        uid = self.brain.remember(text, force=True, derived_from=refs or None)
        self.supports[uid] = set(sources)
        if call:
            self.elsewhere.add(uid)
        return uid

    def expected(self, loser: str) -> set[str]:
        """The records that stand after a correction of one: those from which a path leads to firm ground."""
        before = self.active
        below, frontier = {loser}, {loser}
        while frontier:
            frontier = {uid for uid in before - below if self.supports[uid] & frontier}
            below |= frontier

        def grounded(uid: str, path: tuple[str, ...]) -> bool:
            if uid in self.elsewhere:
                return True
            sources = (self.supports[uid] & before) - {loser, *path}
            return any(item not in below or grounded(item, (*path, uid)) for item in sources)

        return (before - below) | {uid for uid in below - {loser} if grounded(uid, ())}

    def check_consistent(self) -> None:
        pairs = self.brain.database.query(
            "SELECT s.uid, t.uid FROM edges AS e JOIN records AS s ON s.id = e.source"
            " JOIN records AS t ON t.id = e.target WHERE e.relation = 'supersedes'"
            " AND s.state = 'active' AND t.state = 'active'"
        )
        assert pairs == []
        active = self.active
        for uid in active - self.elsewhere:
            assert not self.supports[uid] or self.supports[uid] & active


GRAPHS = st.integers(2, MOST).flatmap(
    lambda size: st.tuples(
        st.just(size),
        st.sets(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)), max_size=2 * size),
        st.sets(st.integers(0, size - 1), max_size=2),
    )
)
STEPS = st.lists(st.tuples(st.booleans(), st.integers(0, 50)), min_size=1, max_size=6)
MANY = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def brain(agents: Agents) -> Brain:  # noqa: F811
    return agents.brain()


def world_of(brain: Brain, graph: tuple[int, set[tuple[int, int]], set[int]]) -> World:
    size, edges, calls = graph
    brain.writer.begin(f"project:p{next(COUNTER)}")
    world = World(brain)
    uids = [world.add(set(), call=number in calls) for number in range(size)]
    for source, target in sorted(edges):
        if source != target:
            brain.relate(uids[source], "derived_from", uids[target])
            world.supports[uids[source]].add(uids[target])
    return world


def correct(world: World, loser: str) -> str:
    """Correct a record, and check all that AGM asks for."""
    before, expected = world.active, world.expected(loser)
    winner = world.brain.correct(loser, f"record {next(COUNTER)} says another thing", "why")
    world.supports[winner] = set()
    after = world.active
    assert winner in after  # success
    assert after <= before | {winner}  # inclusion
    assert loser not in after
    assert after - {winner} == expected  # closure, and minimal change
    world.check_consistent()
    return winner


@MANY
@given(GRAPHS, st.integers(0, 50))
def test_a_correction_lets_fall_what_rested_on_the_loser_alone_and_nothing_else(
    brain: Brain, graph: tuple[int, set[tuple[int, int]], set[int]], chosen: int
) -> None:
    world = world_of(brain, graph)
    losers = sorted(world.active)
    correct(world, losers[chosen % len(losers)])


@MANY
@given(GRAPHS, STEPS, st.randoms(use_true_random=False))
def test_corrections_can_be_reverted_in_any_order_and_nothing_is_lost(
    brain: Brain,
    graph: tuple[int, set[tuple[int, int]], set[int]],
    steps: list[tuple[bool, int]],
    chance: object,
) -> None:
    world = world_of(brain, graph)
    initial, ours = world.active, list[str]()
    for reverting, chosen in steps:
        if reverting and ours:
            revert(world, ours, chosen)
        elif losers := sorted(world.active):
            correct(world, losers[chosen % len(losers)])
            ours.append(brain.collapses(1)[0].id)
    while ours:
        before = list(ours)
        chance.shuffle(ours)  # type: ignore[attr-defined]
        for number in reversed(range(len(ours))):
            revert(world, ours, number)
        assert len(ours) < len(before)  # one at least is blocked by nothing
    assert world.active == initial


def revert(world: World, ours: list[str], chosen: int) -> None:
    """Revert one of our corrections, unless another one has to be reverted first, which changes nothing."""
    uid, before = ours[chosen % len(ours)], world.active
    try:
        done = world.brain.revert(uid, "it was wrong")
    except CheckFailed:
        assert world.active == before
        return
    ours.remove(uid)
    assert not done.left
    world.check_consistent()
    assert [item.status for item in world.brain.collapses() if item.id == uid] == ["reverted"]


def test_a_circle_that_rests_on_nothing_else_falls_and_one_with_ground_stays(brain: Brain) -> None:
    world = World(brain)
    old, other = world.add(set()), world.add(set())
    hanging = [world.add({old}), world.add(set())]
    firm = [world.add({old}), world.add({other})]
    for left, right in (hanging, firm):
        for source, target in ((left, right), (right, left)):
            brain.relate(source, "derived_from", target)
            world.supports[source].add(target)
    correct(world, old)
    assert world.active >= {other, *firm}
    assert world.active.isdisjoint(hanging)


def summary(brain: Brain) -> Mapping[str, str]:
    return {row["uid"]: row["state"] for row in brain.space.records.select("1", ())}


def test_a_revision_of_a_revert_brings_back_what_was_corrected(brain: Brain) -> None:
    old = brain.remember("the office is in Bonn")
    new = brain.correct(old, "the office is in Köln", "moved")
    first = brain.collapses(1)[0]
    assert (first.winner, first.loser, first.reason) == (new, old, "moved")
    done = brain.revert(first.id, "a rumour")
    assert (done.restored, done.removed) == ((old,), new)
    assert summary(brain)[new] == "superseded"
    again = brain.revert(done.collapse, "no rumour")
    assert (again.restored, again.removed) == ((new,), old)
    assert [hit.id for hit in brain.search("where is the office?")] == [new]
    with pytest.raises(CheckFailed, match="reverted already"):
        brain.revert(first.id)
