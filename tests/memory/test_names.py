"""Allowed names of agents, sessions, stacks and relations."""

from __future__ import annotations

from pathlib import Path

import pytest

from sb.base.text import LONGEST_NAME, checked_name
from sb.entity import Entity
from sb.memory import Brain
from sb.stack import SQLiteStack
from tests.conftest import CommandLine

LONG = "x" * (LONGEST_NAME + 1)


def test_a_name_may_be_as_long_as_it_may_be_and_no_longer() -> None:
    assert checked_name("agent_id", LONG[1:]) == LONG[1:]
    with pytest.raises(ValueError, match="agent_id has 201 characters, may have 200"):
        checked_name("agent_id", LONG)


@pytest.mark.parametrize("name", [LONG, " ", "\ud800", 5], ids=["long", "blank", "half a pair", "no text"])
def test_what_can_be_no_name_is_refused_before_anything_is_written(name: str, tmp_path: Path) -> None:
    brain = Brain("ada", path=tmp_path / "one.db")
    fact, other = brain.remember("the API is versioned"), brain.remember("clients send a header")
    before = brain.database.query("SELECT count(*) FROM record_history"), brain.scope
    for write in (
        lambda: Brain(name, database=brain.database),
        lambda: Brain("ada", database=brain.database, stack=name),
        lambda: Brain("ada", database=brain.database, session=name),
        lambda: brain.orient("shop", session=name),
        lambda: brain.relate(fact, name, other),
        lambda: brain.handoff("ship it", "almost done", [], "tag it", recipient=name),
        lambda: SQLiteStack(name, database=brain.database),
        lambda: Entity(name),
    ):
        with pytest.raises(
            ValueError, match=r"characters, may have 200|must be a (non-blank )?string|surrogates not allowed"
        ):
            write()
    assert (brain.database.query("SELECT count(*) FROM record_history"), brain.scope) == before
    assert brain.database.query("SELECT count(*) FROM edges") == [(0,)]
    assert len(brain.search("API header", 10)) == 2


@pytest.mark.parametrize("option", ["--project", "--scope", "--agent", "--session"])
def test_an_empty_name_on_the_command_line_is_not_taken_for_all_or_none(sb: CommandLine, option: str) -> None:
    sb("init")
    done = sb("memory", "log", "deployed", option, "")
    assert done.code == 2
    assert "empty value: name one, or omit the option" in done.err
    assert sb("memory", "search", "deployed", "--json").json["items"] == []
