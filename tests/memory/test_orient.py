"""A session is told whose words it reads, what contradicts them, and first what is used."""

from __future__ import annotations

from pathlib import Path

import pytest

from sb.memory import Brain
from tests.memory.agents import DAY, Agents, agents
from tests.rows import rows
from tests.stack.copies import Copy

__all__ = ["agents"]


@rows(
    "source, voice",
    [
        ("agent-written", "agent bob"),
        ("user-written", "agent bob"),  # an agent cannot speak for a person
        ("tool-output", "a tool"),
        ("mcp-result", "a tool"),
        ("web-page", "a web page"),
        ("ingested-document", "a document"),
        ("derived", "agent bob"),
    ],
)
def test_each_line_names_whose_words_it_is(agents: Agents, source: str, voice: str) -> None:
    (agents.home / "config.yaml").write_text("memory: {quarantine: []}\n")
    agents.brain("bob", scope=f"project:{source}").remember("the till opens at nine", source_type=source)
    ctx = agents.brain("ada").orient(project=source)
    (shown,) = ctx.memories
    line = next(text for text in ctx.as_text().splitlines() if "opens at nine" in text)
    assert line.endswith(f", by {voice})")
    assert shown.voice == voice


def test_a_persons_words_are_named_and_ones_own_are_not(agents: Agents) -> None:
    person = agents.person()
    person.remember("deploy on Tuesdays", project="shop", source_type="user-written")
    agents.brain("ada", scope="project:shop").remember("the build takes nine minutes")
    lines = agents.brain("ada").orient(project="shop").as_text().splitlines()
    assert next(line for line in lines if "Tuesdays" in line).endswith(", by a person)")
    own = next(line for line in lines if "nine minutes" in line)
    assert ", by " not in own
    others = agents.brain("bob").orient(project="shop").as_text()
    assert next(line for line in others.splitlines() if "nine minutes" in line).endswith(", by agent ada)")


def test_without_a_query_what_is_used_and_new_comes_first_and_always_the_same(agents: Agents) -> None:
    brain = agents.brain(scope="project:shop")
    facts = [brain.remember(f"shelf {number} holds article {number * 7}") for number in range(40)]
    used = facts[3:6]
    for _ in range(12):
        for number in range(3, 6):
            brain.search(f"shelf {number} article {number * 7}", k=1)
    agents.clock.time += 30 * DAY
    new = brain.remember("the scanner is on loan")
    packages = [agents.brain(f"agent {number}").orient(project="shop") for number in range(3)]
    shown = [[memory.id for memory in ctx.memories] for ctx in packages]
    assert shown[0] == shown[1] == shown[2]
    assert set(shown[0][:4]) == {*used, new}


@pytest.fixture
def torn(tmp_path: Path) -> Copy:
    """A stack whose note says something else in another copy."""
    copy, other = Copy(tmp_path / "one.db"), Copy(tmp_path / "other.db")
    uid = copy.note("deploy on Mondays")
    copy.with_remote(other).sync()
    copy.edit(uid, content="deploy on Wednesdays")
    other.edit(uid, content="deploy on Fridays")
    assert copy.with_remote(other).sync().conflicts == 1
    return copy


def test_open_conflicts_are_told_until_they_are_resolved(torn: Copy) -> None:
    brain = Brain("ada", database=torn.database, config=torn.config, stack="mine")
    (conflict,) = brain.orient().conflicts
    text = brain.orient().as_text()
    assert conflict.content == "deploy on Wednesdays"
    assert "## Open conflicts\n- deploy on Wednesdays (by " in text
    assert "is contradicted by a copy in " in text
    shown = torn.database.query("SELECT count(*) FROM access_log")[0][0]
    assert shown >= 2  # what a session was told of is on record as shown
    torn.stack.resolve_conflict(conflict.id, keep="local", reason="agreed")
    assert brain.orient().conflicts == ()
    assert "Open conflicts" not in brain.orient().as_text()


def test_a_conflict_of_another_stack_or_about_what_is_forgotten_is_not_told(torn: Copy) -> None:
    assert Brain("ada", database=torn.database, config=torn.config).orient().conflicts == ()
    brain = Brain("ada", database=torn.database, config=torn.config, stack="mine")
    (conflict,) = brain.orient().conflicts
    brain.forget(conflict.memory, "no longer of interest")
    assert brain.orient().conflicts == ()
