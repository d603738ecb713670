"""The access log holds what reached an agent's context, and only that."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sb.memory import Brain
from sb.memory.operator_view import Overseer
from tests.conftest import CommandLine
from tests.memory.agents import Agents, agents

__all__ = ["agents"]

READS: dict[str, Callable[[Brain, str], object]] = {
    "get": lambda brain, uid: brain.get(uid),
    "graph": lambda brain, uid: brain.graph(uid),
    "why": lambda brain, uid: brain.why(uid),
    "history": lambda brain, uid: brain.history(uid),
}


def kept_reads(agents: Agents, uid: str) -> list[tuple[str, str]]:
    """The readers of a record, and their ways."""
    sql = (
        "SELECT b.agent, b.operation FROM broadcasts AS b JOIN access_log AS a ON a.broadcast = b.id"
        " JOIN records AS r ON r.id = a.record WHERE r.uid = ? ORDER BY b.id"
    )
    return [(agent, operation) for agent, operation in agents.rows(sql, uid)]


@pytest.mark.parametrize("way", READS)
def test_whoever_reads_a_memory_by_its_id_is_on_record(agents: Agents, way: str) -> None:
    ada = agents.brain("ada")
    seen = ada.remember("the till is short")
    uid = ada.decide("count it twice", "it was short", derived_from=[seen])
    READS[way](agents.brain("eve"), uid)
    assert kept_reads(agents, uid) == [("eve", way)]
    assert kept_reads(agents, seen) == ([("eve", way)] if way in ("graph", "why") else [])


@pytest.mark.parametrize("way", READS)
def test_what_an_operator_looks_at_is_not(agents: Agents, way: str) -> None:
    ada = agents.brain("ada")
    uid = ada.remember("the till is short")
    READS[way](Overseer(database=agents.database, config=ada.config), uid)
    assert kept_reads(agents, uid) == []


def test_a_session_is_not_told_again_what_it_read_by_its_id(agents: Agents) -> None:
    uid = agents.brain("ada").remember("the till is short")
    eve = agents.brain("eve", session="monday")
    eve.get(uid)
    assert uid not in eve.orient(session="monday").as_text()
    assert uid in eve.orient(session="tuesday").as_text()


def test_what_an_agent_writes_in_a_shell_does_not_count_as_read(sb: CommandLine) -> None:
    uid = sb("memory", "remember", "the till is short", "--agent", "ada", "--json").json["id"]
    sb("memory", "protect", uid, "--reason", "a rule", "--agent", "ada")
    assert sb("memory", "show", uid, "--json").json["read"] == 0
    sb("memory", "show", uid, "--agent", "ada")
    assert sb("memory", "show", uid, "--json").json["read"] == 1


@pytest.mark.parametrize(
    "query", ["\ud800 till", "till \udcff", "\0 till", "till\x1b[2J", '"till" OR * NEAR(']
)
def test_a_question_may_hold_anything(agents: Agents, query: str) -> None:
    ada = agents.brain("ada")
    uid = ada.remember("the till is short")
    assert [hit.id for hit in ada.search(query)] == [uid]
    assert [activated.id for activated in ada.think(query)] == [uid]
    assert uid in agents.brain("eve").orient(query=query).as_text()
