"""On random homes each way to memory shows what a plain model of the rules says: no more anywhere, and no less."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.memory.access_model import Model, ModelRow, means
from tests.memory.random_homes import AGENTS, SCOPES, RandomHome, changed, observed, words_in, written

HOMES = int(os.environ.get("SB_RANDOM_HOMES", "40"))  # memories, settings, an agent and a scope
_SETTINGS = 10  # for the same memories
_PARTS = 4
_BRAIN_FOUND = ("brain knows", "brain search", "brain think", "brain orient", "mcp search")
_BY_ID = ("brain get", "brain why", "brain history", "brain graph", "mcp get")
_AT_MOST = (
    "brain think",
    "brain graph",
    "brain history",
    "brain orient",
    "brain knows",
)  # which show some of it, by relevance
_AS_THEY_ARE = ("console", "sync")  # operators read everything, and a copy holds the same records


def expected(model: Model, way: str, agent: str, scope: str) -> set[str]:
    """The words of the memories that a way shows an agent from a scope."""
    return {row.word for row in model.rows.values() if _shows(model, way, agent, scope, row)}


def _shows(model: Model, way: str, agent: str, scope: str, row: ModelRow) -> bool:
    if way == "console":
        return row.state == "active"
    chartered = (agent, scope) in model.refused
    if way in _BRAIN_FOUND:
        packet = way == "brain orient" and row.kind == "handoff"  # which was sent, and is not searched for
        states = ("active", "forgotten") if way == "brain knows" else ("active",)
        found = row.state in states and model.may(agent, "read", scope)
        found = found and (packet or not model.below_floor(row))
        return found and model.in_view(row, agent, model.chain(scope)) and model.reads(row, agent)
    if way in _BY_ID:
        return not chartered and model.in_view(row, agent, model.chain(scope)) and model.reads(row, agent)
    if way in ("bundle", "table", "markdown"):
        leaves = model.in_view(row, agent, [row.scope]) and model.may(agent, "share", row.scope)
        return leaves and model.reads(row, agent) and (way == "bundle" or row.state == "active")
    if way == "sync":
        leaves = any(means(pattern, row.scope) for pattern in model.sync_scopes)
        leaves = leaves and model.may(agent, "share", row.scope)
        leaves = leaves and model.in_view(row, agent, model.chain(scope))
        return leaves and model.reads(row, agent, states=("quarantined",))  # in which it comes there, too
    if row.kind == "handoff" or not model.in_view(row, agent, model.chain(scope)):
        return False
    found = model.reads(row, agent)
    if way in ("stack get", "stack dump"):
        return found
    found = found and not model.below_floor(row)
    return found and (way == "stack lists" or row.state == "active")


def _changes(model: Model, agent: str, scope: str, row: ModelRow) -> bool:
    in_view = (agent, scope) not in model.refused and model.in_view(row, agent, model.chain(scope))
    return in_view and row.state == "active" and model.changes(row, agent)


def differences(home: RandomHome) -> Iterator[str]:
    """Where what is shown is not what the model says."""
    agent, scope = home.random.choice(AGENTS), home.random.choice(SCOPES)
    for way, answer in observed(home, agent, scope):
        wanted, found = expected(home.model, way, agent, scope), words_in(home, answer)
        more, less = found - wanted, set() if way in _AT_MOST else wanted - found
        if more or less:
            yield f"{way}: {agent} from {scope} sees too much {sorted(more)}, too little {sorted(less)}"
        if way not in _AS_THEY_ARE and home.model.masks(agent) and "5550199" in answer:
            yield f"{way}: {agent} sees personal data"
    for way, place, became in written(home, agent, scope):
        wish = home.model.written(agent, place)
        both = way == "stack" and (became, wish) == ("drop", "denied")  # it screens before it knows the place
        if became != wish and not both:
            yield f"{way}: {agent} writes in {place} from {scope}: {became}, not {wish}"
    may = {row.word for row in home.model.rows.values() if _changes(home.model, agent, scope, row)}
    if (did := changed(home, agent, scope)) != may:
        yield f"{agent} from {scope} changes {sorted(did)}, not {sorted(may)}"


@pytest.mark.parametrize("part", range(_PARTS))
def test_each_way_shows_what_the_rules_say(tmp_path: Path, part: int) -> None:
    found = []
    for seed in range(part, -(-HOMES // _SETTINGS), _PARTS):
        home = RandomHome(tmp_path / str(seed), seed)
        for number in range(_SETTINGS):
            found += [f"home {seed}.{number}: {line}" for line in differences(home)]
            home.change()
        home.close()
        shutil.rmtree(tmp_path / str(seed))
    assert not found, "\n".join(found)
