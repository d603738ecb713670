"""Memories of one topic, and those that name the same, come to mind together."""

from __future__ import annotations

from pathlib import Path

import pytest

from sb.memory import Brain
from sb.protocols.types import Belief, Episode, Note, Relationship
from sb.stack import SQLiteStack

FILLING = [f"something else about matter number {at}" for at in range(5)]


def minded(stack: SQLiteStack, query: str, agent: str = "me") -> dict[str, list[str]]:
    """The memories that come to mind, and by which relations."""
    with Brain(agent, path=Path(stack.path), stack="mine") as brain:
        return {activated.id: [step.relation for step in activated.path] for activated in brain.think(query)}


@pytest.fixture
def filled(full: SQLiteStack) -> SQLiteStack:
    full.save_note(Note("dns", "", "the resolver forgets negative answers", tags=["Network"]))
    full.save_note(Note("mtu", "", "jumbo frames break the tunnel", tags=["network"]))
    full.save_relationship(Relationship("ada", "", "Ada Lovelace", notes="writes the engine's programs"))
    full.save_episode(Episode("met", "", "lunch with ada lovelace", "soup"))
    full.save_episode(Episode("not", "", "a canada lovelaced something", "nothing"))
    return full


def test_what_shares_a_topic_or_names_the_same_is_related(filled: SQLiteStack) -> None:
    assert "dns" not in minded(filled, "jumbo frames")
    done = filled.maintenance()["knowledge"]
    assert (done["topics_related"], done["mentions_related"]) == (1, 1)
    assert minded(filled, "jumbo frames")["dns"] == ["shares_topic"]
    assert minded(filled, "soup")["ada"] == ["mentions"]
    assert "not" not in minded(filled, "engine programs")


def test_without_the_component_nothing_is_related(filled: SQLiteStack) -> None:
    filled.remove_component("knowledge")
    filled.maintenance()
    assert "dns" not in minded(filled, "jumbo frames")


def test_only_what_is_new_is_looked_at_and_what_was_changed(filled: SQLiteStack) -> None:
    filled.maintenance()
    assert filled.maintenance()["knowledge"]["topics_related"] == 0
    filled.save_note(Note("arp", "", "two machines answered", tags=["network"]))
    filled.save_note(Note("poem", "", "a sonnet", tags=["poetry"]))
    filled.update_memory_meta("episode", "not", tags=["poetry"])
    assert filled.maintenance()["knowledge"]["topics_related"] == 3
    assert {"dns", "mtu"} <= minded(filled, "two machines answered").keys()
    assert "not" in minded(filled, "sonnet")


def test_somebody_who_is_met_later_is_related_to_what_named_them(filled: SQLiteStack) -> None:
    filled.save_note(Note("n", "", "Grace found a moth"))
    filled.maintenance()
    filled.save_relationship(Relationship("grace", "", "Grace", notes="admiral"))
    assert filled.maintenance()["knowledge"]["mentions_related"] == 1
    assert minded(filled, "admiral")["n"] == ["mentions"]


def test_what_is_private_is_related_to_nothing(filled: SQLiteStack) -> None:
    with Brain("me", path=Path(filled.path), stack="mine") as brain:
        own = brain.remember("my own key opens the tunnel", private=True, tags=["network"])
    filled.on_attach("me")
    filled.maintenance()
    assert minded(filled, "jumbo frames").get(own, []) == []
    assert own not in minded(filled, "jumbo frames", "somebody")
    with Brain("me", path=Path(filled.path), stack="mine") as brain:
        assert len(brain.graph(own).neighbours) == 0


def test_a_topic_of_everything_says_nothing(full: SQLiteStack) -> None:
    for at in range(60):
        full.save_note(Note(f"n{at}", "", f"note {at}", tags=["note"]))
    assert full.maintenance()["knowledge"]["topics_related"] == 0


def test_the_report_says_where_the_memory_is_strong_and_where_weak(full: SQLiteStack) -> None:
    for at, confidence in enumerate((0.9, 0.8)):
        full.save_note(Note(f"n{at}", "", f"frame {at}", tags=["network"], confidence=confidence))
    full.save_note(Note("w", "", "stars", tags=["astrology"], confidence=0.2))
    full.save_belief(Belief("b1", "", "caches are warm", belief_type="causal", confidence=0.4))
    full.save_belief(Belief("b2", "", "frames are jumbo", belief_type="causal", confidence=0.9))
    done = full.maintenance()["knowledge"]
    assert done["domains_found"] == 3
    assert done["strength_domains"] == ["network"]
    assert done["weakness_domains"] == ["astrology"]
    assert done["uncertain_areas"] == ["causal"]
