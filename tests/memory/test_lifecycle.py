"""Sessions start where the one before ended."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sb.memory import Brain
from sb.memory.views import estimated_tokens
from tests.memory.agents import DAY, Agents, agents

__all__ = ["agents"]


def titles(shown: object) -> list[str]:
    return [str(item) for item in shown]  # type: ignore[attr-defined]


def test_the_papers_three_sessions_keep_one_design(home: Path) -> None:
    """The trace of the memory whitepaper, line by line."""
    with Brain(agent_id="my-agent") as brain:
        ctx = brain.orient(project="api-v2")
        assert ctx.empty
        assert not any(ctx[part] for part in ("handoff", "memories", "decisions", "entities"))
        brain.decide("use Retry-After for backoff", "server controls rate-limit window")
        brain.entity("RateLimitAPI", "service", observations=["100 req/15s"])
        brain.remember("rate-limit: 100/15s", category="integration")
        sent = brain.wrap_up(
            "fetcher against /orders working, Retry-After backoff in place",
            project="api-v2",
            goal="implement api-v2 order fetcher",
            open_loops=["pagination not yet implemented"],
            next_step="add cursor-based pagination",
        )

    with Brain(agent_id="my-agent") as brain:
        ctx = brain.orient(project="api-v2")
        assert ctx["handoff"]["verified"]
        assert dict(ctx["handoff"]) == dict(sent)
        assert titles(ctx["decisions"]) == ["use Retry-After for backoff"]
        assert titles(ctx["entities"]) == ["RateLimitAPI"]
        assert titles(ctx["memories"]) == ["rate-limit: 100/15s"]
        hit = next(item for item in brain.search("backoff", k=3) if item.kind == "decision")
        assert hit.details["rationale"] == "server controls rate-limit window"
        brain.decide("add jitter to Retry-After delay", "avoid thundering herd on recovery")
        brain.wrap_up("Retry-After parsing tightened, jitter added", project="api-v2")

    with Brain(agent_id="my-agent") as brain:
        ctx = brain.orient(project="api-v2")
        assert ctx.handoff is not None
        assert ctx.handoff.current_state == "Retry-After parsing tightened, jitter added"
        both = {"add jitter to Retry-After delay", "use Retry-After for backoff"}
        assert set(titles(ctx["decisions"])) == both
        assert all(memory.details["rationale"] and memory.session for memory in ctx.decisions)
        found = {str(item) for item in brain.search("rate limit") if item.kind == "decision"}
        assert "use Retry-After for backoff" in found


def test_the_papers_five_methods_run_as_printed(home: Path) -> None:
    """The snippet of the memory whitepaper, "the Brain interface"."""
    with Brain(agent_id="my-agent") as brain:
        ctx = brain.orient(project="api-v2")
        assert ctx.empty
        brain.remember("rate-limit: 100/15s", category="integration")
        brain.entity("RateLimitAPI", "service", observations=["100 req/15s"])
        brain.decide("use Retry-After for backoff", "server controls timing")
        hits = brain.search("rate limits", k=5)
        assert {"rate-limit: 100/15s", "RateLimitAPI: 100 req/15s"} <= {hit.content for hit in hits}
        packet = brain.wrap_up("auth module complete", project="api-v2")
        assert packet.goal == "use Retry-After for backoff"
        assert packet.current_state == "auth module complete"
        assert (packet.open_loops, packet.verified) == ((), True)
        assert packet.next_step


def test_a_package_is_json_and_a_text_for_the_prompt(agents: Agents) -> None:
    first = agents.brain()
    first.orient(project="shop")
    first.decide("use SQLite", "one file")
    first.entity("Orders", "service", observations=["slow on Mondays"])
    first.entity("Billing", "service")
    first.relate("Orders", "depends_on", "Billing")
    first.wrap_up("schema made")

    ctx = agents.brain().orient(project="shop")
    given = json.loads(json.dumps(ctx.as_json()))
    assert given["decisions"][0]["details"]["title"] == "use SQLite"
    assert [neighbour["relation"] for neighbour in given["entities"][0]["neighbours"]] == ["depends_on"]
    text = ctx.as_text()
    for part in (
        "use SQLite: one file",
        "slow on Mondays",
        "schema made",
        "depends_on Billing",
        ctx.decisions[0].id,
    ):
        assert part in text
    assert ctx.tokens == estimated_tokens(text)


@pytest.mark.parametrize("budget", [100, 300, 2000])
def test_a_package_keeps_to_its_budget_and_shows_something_of_everything(agents: Agents, budget: int) -> None:
    brain = agents.brain(scope="project:shop")
    for number in range(60):
        brain.remember(f"fact {number} about the shop and what it sells")
        brain.decide(f"decision {number}", "because of what customers said")
        brain.entity(f"Entity{number}", "concept", observations=["seen"])
    brain.remember("x" * 20_000)
    ctx = agents.brain().orient(project="shop", token_budget=budget)
    assert 0 < ctx.tokens == estimated_tokens(ctx.as_text()) <= budget
    assert ctx.notes[-1] == "more is remembered than fits here: search for it"
    if budget >= 300:
        assert min(len(ctx.decisions), len(ctx.memories), len(ctx.entities)) >= 3


def test_a_budget_too_small_for_anything_is_refused(agents: Agents) -> None:
    with pytest.raises(ValueError, match="at least 100"):
        agents.brain().orient(token_budget=99)


def test_what_is_shown_first_is_new_asked_for_protected_or_answers_the_query(agents: Agents) -> None:
    brain = agents.brain(scope="project:shop")
    asked = brain.remember("the warehouse door code is in the vault")
    rule = brain.remember("never deploy on Fridays")
    brain.protect(rule)
    for number in range(300):
        brain.remember(f"stock of article {number} was counted")
    for _ in range(20):
        brain.search("warehouse door vault", k=1)
    agents.clock.time += 60 * DAY
    ctx = agents.brain().orient(project="shop")
    first = [memory.id for memory in ctx.memories[:10]]
    assert {asked, rule} <= set(first)
    found = agents.brain().orient(project="shop", query="how often was article 17 counted").memories[0]
    assert found.content == "stock of article 17 was counted"


def test_being_shown_at_the_start_is_not_being_asked_for(agents: Agents) -> None:
    """Else what is shown once would be shown for ever, and nothing new would come up."""
    brain = agents.brain(scope="project:shop")
    number = brain.space.records.find(brain.remember("a fact"))["id"]  # type: ignore[index]
    for _ in range(70):
        agents.brain().orient(project="shop")
    assert brain.space.reads.stats([number]) == {}
    brain.search("fact")
    assert brain.space.reads.stats([number])[number][0] == 1


def test_a_session_sees_its_scope_and_what_that_includes_and_nobodys_private_memories(agents: Agents) -> None:
    ada, bob = agents.brain("ada"), agents.brain("bob")
    ada.remember("known to all", scope="global")
    ada.remember("of the shop", project="shop")
    ada.remember("of billing", project="billing")
    ada.remember("ada's own", project="shop", private=True)
    ada.entity("Till", "tool", project="shop")
    ada.entity("Vault", "tool", project="shop", private=True)
    ada.writer.begin("project:shop")
    ada.relate("Till", "stands_beside", "Vault")
    bobs, adas = bob.orient(project="shop"), agents.brain("ada").orient(project="shop")
    assert set(titles(bobs.memories)) == {"known to all", "of the shop"}
    assert [(str(surrounded), surrounded.neighbours) for surrounded in bobs.entities] == [("Till", ())]
    assert "ada's own" in titles(adas.memories)
    assert {str(surrounded) for surrounded in adas.entities} == {"Till", "Vault"}


def test_the_configuration_says_which_scopes_a_scope_includes(agents: Agents) -> None:
    for scope in ("project:shop", "team:web", "customer:acme", "team:ops"):
        agents.brain("ada").remember(f"the till of {scope}", scope=scope)
    agents.brain("ada").remember("ada's own till", scope="team:web", private=True)
    (agents.home / "config.yaml").write_text(
        "memory:\n  scopes:\n    'project:*': {includes: [team:web]}\n    team:web: {includes: [customer:acme, project:shop]}\n"
        "    'team:o*': {includes: [customer:acme]}\n"
    )

    def seen(scope: str, agent: str = "bob") -> set[str]:
        brain = agents.brain(agent, scope=scope)
        known = {hit.content for hit in brain.search("till")}
        assert set(titles(brain.orient(scope=scope).memories)) == known
        return known

    in_web = {"the till of team:web", "the till of customer:acme", "the till of project:shop"}
    assert seen("project:shop") == seen("team:web") == in_web
    assert seen("project:shop", "ada") == {*in_web, "ada's own till"}
    assert seen("project:garden") == in_web
    assert seen("customer:acme") == {"the till of customer:acme"}
    assert seen("team:ops") == {"the till of team:ops", "the till of customer:acme"}


def test_a_forgotten_memory_is_in_no_package(agents: Agents) -> None:
    brain = agents.brain(scope="project:shop")
    brain.forget(brain.remember("a mistake"), "wrong")
    assert agents.brain().orient(project="shop").empty


def test_a_session_is_not_told_again_what_it_has_seen_or_wrote(agents: Agents) -> None:
    agents.brain("bob", scope="project:shop").remember("bob's fact")
    bobs_entity = agents.brain("bob", scope="project:shop").entity("Till", "tool")
    brain = agents.brain("ada", session="s1")
    assert titles(brain.orient(project="shop").memories) == ["bob's fact"]
    brain.remember("ada's own fact")

    again = agents.brain("ada").orient(project="shop", session="s1")
    assert (again.memories, again.entities) == ((), ())
    assert again.notes == ("3 that this session has seen already are not repeated",)

    agents.clock.time += 5
    agents.brain("bob", scope="project:shop").entity("Till", "tool", observations=["is broken"])
    changed = agents.brain("ada").orient(project="shop", session="s1")
    assert [surrounded.id for surrounded in changed.entities] == [bobs_entity]

    lost = agents.brain("ada").orient(project="shop", session="s1", repeat=True)
    assert set(titles(lost.memories)) == {"bob's fact", "ada's own fact"}
    assert (
        len(agents.brain("ada").orient(project="shop").memories) == 2
    )  # another session starts from nothing


def test_nobody_goes_on_in_a_session_of_another_agent(agents: Agents) -> None:
    agents.brain("ada", session="s1").remember("a")
    with pytest.raises(ValueError, match="is ada's"):
        agents.brain("bob").orient(session="s1")
    with pytest.raises(ValueError, match="is ada's"):
        agents.brain("bob", session="s1").remember("b")


def test_who_asks_for_the_session_of_another_agent_stays_in_its_own(agents: Agents) -> None:
    agents.brain("ada", session="monday").remember("ada's fact")
    bob = agents.brain("bob", scope="project:shop")
    with pytest.raises(ValueError, match="session 'monday' is ada's"):
        bob.orient(project="garden", session="monday")
    assert bob.get(bob.remember("bob's fact")).scope == "project:shop"


def test_an_id_that_is_taken_is_refused_and_nothing_is_changed(agents: Agents) -> None:
    brain = agents.brain()
    uid = brain.remember("the till is short")
    with pytest.raises(ValueError, match="uid"):
        brain.remember("the till is full", id=uid)
    assert [hit.content for hit in brain.search("till")] == ["the till is short"]


def test_brain_closed_twice_stays_closed(home: Path) -> None:
    brain = Brain("one", path=home / "own.db")
    brain.remember("the build takes a minute")
    brain.close()
    brain.close()
    with Brain("one", path=home / "own.db") as again:
        again.close()
