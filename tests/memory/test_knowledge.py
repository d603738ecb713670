"""Knowledge of agents: memories that they wrote or were told, and the outdated ones among them."""

from __future__ import annotations

from typing import Any

import pytest

from sb.errors import DeniedError
from sb.memory import Brain
from sb.store import migrate
from tests.memory.agents import DAY, Agents, agents

__all__ = ["agents"]


def known(brain: Brain, agent: str, question: str = "port of the gateway") -> dict[str, tuple[str, str]]:
    """The way that an agent knows each memory, and why that is outdated."""
    return {
        item.id: (item.knows, item.outdated.since if item.outdated else "")
        for item in brain.knows(agent, question)
    }


def test_each_agent_knows_what_it_wrote_and_was_told(agents: Agents) -> None:
    ada = agents.brain("ada", scope="project:shop")
    fact = ada.remember("the port of the gateway is 8080")
    bob = agents.brain("bob", scope="project:shop")
    bob.search("port of the gateway")
    at = agents.clock.time
    agents.clock.time += 600
    asked = {agent: ada.knows(agent, "port of the gateway")[0] for agent in ("ada", "bob", "eve")}
    assert [asked[agent].knows for agent in ("ada", "bob", "eve")] == ["wrote", "told", "unknown"]
    assert [asked[agent].told_at for agent in ("ada", "bob", "eve")] == [None, at, None]
    assert {item.id for item in asked.values()} == {fact}
    assert asked["bob"].content == "the port of the gateway is 8080"


def test_asking_counts_as_no_read(agents: Agents) -> None:
    agents.brain("ada", scope="project:shop").remember("the port of the gateway is 8080")
    before = agents.rows("SELECT (SELECT count(*) FROM broadcasts), (SELECT count(*) FROM memory_sessions)")
    eve = agents.brain("eve", scope="project:shop")
    assert eve.knows("bob", "port of the gateway")
    assert (
        agents.rows("SELECT (SELECT count(*) FROM broadcasts), (SELECT count(*) FROM memory_sessions)")
        == before
    )
    assert list(known(eve, "eve").values()) == [("unknown", "")]


def test_what_was_superseded_changed_or_forgotten_since_is_outdated(agents: Agents) -> None:
    ada = agents.brain("ada", scope="project:shop")
    port = ada.remember("the port of the gateway is 8080")
    host = ada.remember("the gateway has a port on the host named omega")
    gateway = ada.entity("gateway", "service", observations=["its port is open"])
    agents.brain("bob", scope="project:shop").search("port of the gateway", k=9)
    assert set(known(ada, "bob").values()) == {("told", "")}
    agents.clock.time += 60
    new = ada.correct(port, "the port of the gateway is 9090", "moved")
    ada.forget(host, "gone")
    ada.entity("gateway", "service", observations=["its port is closed"])
    found = {item.id: item for item in ada.knows("bob", "port of the gateway")}
    assert {uid: item.knows for uid, item in found.items()} == {
        new: "unknown", gateway: "told", port: "told", host: "told",
    }  # fmt: skip
    outdated = {uid: item.outdated for uid, item in found.items() if item.outdated}
    assert {uid: (it.since, it.now) for uid, it in outdated.items()} == {
        gateway: ("changed", gateway), port: ("superseded", new), host: ("forgotten", ""),
    }  # fmt: skip
    assert outdated[port].known == "the port of the gateway is 8080"
    assert outdated[port].content == "the port of the gateway is 9090"
    assert "closed" not in outdated[gateway].known
    assert "closed" in outdated[gateway].content
    assert not any(item.outdated for item in ada.knows("ada", "port of the gateway"))
    agents.brain("bob", scope="project:shop").search("port of the gateway", k=9)
    assert known(ada, "bob")[gateway] == ("told", "")


def test_what_came_back_is_not_outdated(agents: Agents) -> None:
    ada = agents.brain("ada", scope="project:shop")
    port = ada.remember("the port of the gateway is 8080")
    agents.brain("bob", scope="project:shop").search("port of the gateway")
    ada.forget(port, "gone")
    ada.recover(port, "not gone")
    assert known(ada, "bob") == {port: ("told", "")}


def test_a_confidence_that_moved_makes_nothing_outdated(agents: Agents) -> None:
    ada = agents.brain("ada", scope="project:shop")
    port = ada.remember("the port of the gateway is 8080")
    agents.brain("bob", scope="project:shop").search("port of the gateway")
    agents.brain("eve", scope="project:shop").confirm(port, "it answered")
    assert known(ada, "bob") == {port: ("told", "")}


def test_nobody_learns_of_what_it_may_not_read(agents: Agents) -> None:
    ada = agents.brain("ada", scope="project:shop")
    ada.remember("the port of the gateway is secret", private=True)
    fact = ada.remember("the port of the gateway is 8080", access_grants=["ada"])
    other = ada.remember("the port of the gateway was 7070", project="billing")
    eve = agents.brain("eve", scope="project:shop")
    assert eve.knows("ada", "port of the gateway") == []
    assert set(known(agents.person(), "ada")) > {fact, other}


def test_a_scope_that_an_agent_may_not_read_is_denied(agents: Agents) -> None:
    (agents.home / "config.yaml").write_text(
        "memory:\n  scopes: {'project:shop': {read: [ada], write: [ada]}}\n"
    )
    agents.brain("ada", scope="project:shop").remember("the port of the gateway is 8080")
    with pytest.raises(DeniedError):
        agents.brain("eve", scope="project:shop").knows("ada", "port of the gateway")


def test_personal_data_is_masked_in_what_was_told_too(agents: Agents) -> None:
    (agents.home / "config.yaml").write_text("memory: {personal_data_readers: [ada]}\n")
    ada = agents.brain("ada", scope="project:shop")
    port = ada.remember("ask +49 171 5550199 for the port of the gateway")
    agents.brain("bob", scope="project:shop").search("port of the gateway")
    new = ada.correct(port, "ask +49 171 5550144 for the port of the gateway", "moved")
    (hit, fallen) = agents.brain("eve", scope="project:shop").knows("bob", "port of the gateway")
    assert (hit.id, fallen.id) == (new, port)
    assert "5550" not in repr((hit, fallen))
    assert "5550199" in repr(ada.knows("bob", "port of the gateway"))


def test_an_agent_that_nobody_knows_knows_nothing(agents: Agents) -> None:
    ada = agents.brain("ada", scope="project:shop")
    ada.remember("the port of the gateway is 8080")
    assert list(known(ada, "nobody").values()) == [("unknown", "")]
    with pytest.raises(ValueError, match="agent"):
        ada.knows("", "port")
    with pytest.raises(ValueError, match="k must"):
        ada.knows("bob", "port", 0)


def test_folded_reads_still_tell(agents: Agents) -> None:
    ada = agents.brain("ada", scope="project:shop")
    port = ada.remember("the port of the gateway is 8080")
    other = agents.brain("ada", scope="project:shop")
    agents.brain("bob", scope="project:shop").search("port of the gateway")
    at = agents.clock.time
    other.search("port")
    with agents.database.write() as execute:
        ada.space.reads.fold(execute)
        assert ada.space.reads.fold_old(execute, at + 1000, 100)
    assert agents.rows("SELECT count(*) FROM broadcasts WHERE agent = 'bob'") == [(0,)]
    (item,) = ada.knows("bob", "port of the gateway")
    assert (item.knows, item.told_at, item.outdated) == ("told", at, None)
    agents.clock.time += 100 * DAY
    ada.correct(port, "the port of the gateway is 9090", "moved")
    assert known(ada, "bob")[port] == ("told", "superseded")


@pytest.mark.parametrize("jump", [-10 * DAY, 10 * DAY])
def test_a_clock_that_jumped_hides_nothing(agents: Agents, jump: float) -> None:
    ada = agents.brain("ada", scope="project:shop")
    port = ada.remember("the port of the gateway is 8080")
    limit = ada.entity("gateway", "service", observations=["its port is open"])
    bob = agents.brain("bob", scope="project:shop")
    bob.search("port of the gateway")
    agents.clock.time += jump
    ada.entity("gateway", "service", observations=["its port is closed"])
    ada.forget(port, "gone")
    assert known(ada, "bob") == {port: ("told", "forgotten"), limit: ("told", "changed")}
    agents.clock.time += jump
    bob.search("port of the gateway")
    assert known(ada, "bob")[limit] == ("told", "")


def test_what_was_erased_after_it_was_told_leaves_no_trace(agents: Agents) -> None:
    ada = agents.brain("ada", scope="project:shop")
    port = ada.remember("the port of the gateway is 8080")
    bob: Any = agents.brain("bob", scope="project:shop")
    bob.search("port of the gateway")
    with agents.database.write() as execute:
        ada.space.records.erase(execute, [bob.space.records.find(port)["id"]], actor="ana", reason="asked")
    assert known(ada, "bob") == {}
    assert "8080" not in repr(agents.person().knows("bob", "port of the gateway"))


def test_a_database_from_before_compares_what_was_told_by_time(agents: Agents) -> None:
    ada = agents.brain("ada", scope="project:shop")
    port = ada.remember("the port of the gateway is 8080")
    bob = agents.brain("bob", scope="project:shop")
    bob.search("port of the gateway")
    agents.clock.time += 60
    ada.forget(port, "gone")
    agents.clock.time += 60
    ada.recover(port, "not gone")
    agents.clock.time += 60
    bob.search("port of the gateway")
    query = "SELECT id, change FROM broadcasts ORDER BY id"
    changes = agents.rows(query)
    assert len({change for _, change in changes}) == 2
    agents.tamper("UPDATE broadcasts SET change = 0")
    migration = next(item for item in migrate.shipped() if item.name == "tellings")
    agents.tamper(next(part for part in migrate.statements(migration.sql) if "UPDATE broadcasts" in part))
    assert agents.rows(query) == changes
