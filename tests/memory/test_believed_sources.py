"""Whose word counts for where a memory comes from: a person's for a user, the log's for a tool, nobody's for itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sb.entity import Entity
from sb.kernel import RunContext, SafetyClass
from sb.memory.operator_view import Overseer
from sb.protocols.types import Belief, Note
from sb.runtime import Runtime, open_runtime
from sb.stack import SQLiteStack
from tests.conftest import CommandLine


@pytest.fixture
def runtime(home: Path) -> Iterator[Runtime]:
    with open_runtime() as opened:
        yield opened


def source_of(runtime: Runtime, uid: str) -> tuple[str, str]:
    """The source type and the state of a record."""
    [row] = runtime.database.query("SELECT source_type, state FROM records WHERE uid = ?", (uid,))
    return row[0], row[1]


def test_an_agent_that_speaks_for_a_user_is_taken_for_itself(runtime: Runtime) -> None:
    brain = runtime.brain("ada")
    provenance: dict[str, Any] = {"source_type": "user-written"}
    written = [
        brain.remember("the user wants German", **provenance),
        brain.decide("German", "the user said so", **provenance),
        brain.log("the user spoke", **provenance),
        brain.entity("Grace", "person", **provenance),
    ]
    assert {source_of(runtime, uid) for uid in written} == {("agent-written", "active")}
    assert brain.get(written[0]).confidence != 0.75
    assert brain.explain("the lamp is lit", **provenance).trust == brain.explain("the lamp is lit").trust


def test_a_person_is_believed(runtime: Runtime) -> None:
    person = Overseer(database=runtime.database, config=runtime.config)
    uid = person.remember("the user wants German", source_type="user-written")
    assert source_of(runtime, uid)[0] == "user-written"
    assert person.get(uid).confidence == 0.75


def test_neither_a_core_nor_a_plugin_speaks_for_a_user(runtime: Runtime) -> None:
    stack = SQLiteStack("default", database=runtime.database, config=runtime.config, enforce_provenance=False)
    note = stack.save_note(Note("", "default", "the user wants German", source_type="user-written"))
    assert source_of(runtime, note)[0] == "agent-written"
    belief = stack.save_belief(Belief("", "default", "the user wants French"))
    changed = stack.get_memory("belief", belief)
    assert isinstance(changed, Belief)
    changed.source_type = "user-written"
    stack.update_record("belief", changed)
    assert source_of(runtime, belief)[0] == "agent-written"


def test_what_a_person_saved_stays_so_when_a_core_changes_something_else(runtime: Runtime) -> None:
    person = Overseer(database=runtime.database, config=runtime.config)
    person.remember("Grace keeps the lighthouse", source_type="user-written", id="mem_user")
    stack = SQLiteStack("default", database=runtime.database, config=runtime.config, enforce_provenance=False)
    seen = stack.get_memory("belief", "mem_user")
    assert isinstance(seen, Belief)
    seen.confidence = 0.6
    assert stack.update_record("belief", seen)
    assert source_of(runtime, "mem_user")[0] == "user-written"


def test_an_entity_takes_the_words_of_a_brain_and_is_quarantined_by_them(
    runtime: Runtime, tmp_path: Path
) -> None:
    stack = SQLiteStack("default", database=runtime.database, config=runtime.config)
    with Entity("ada", tmp_path / "core", config=runtime.config) as core:
        core.attach_stack(stack)
        page, statement, own = (
            core.note(f"the lighthouse has {word} windows", source_type=kind)
            for word, kind in (("nine", "web-page"), ("ten", "user-written"), ("two", "agent-written"))
        )
    assert source_of(runtime, page) == ("web-page", "quarantined")
    assert source_of(runtime, statement) == ("agent-written", "active")
    assert source_of(runtime, own) == ("agent-written", "active")


@pytest.mark.parametrize(
    ("tool", "safety", "source"),
    [
        ("shop.stock", SafetyClass.READ_ONLY, "tool-output"),
        ("shop.feed", SafetyClass.NETWORK, "web-page"),
        ("host.mcp", SafetyClass.READ_ONLY, "mcp-result"),
        ("files.read", SafetyClass.READ_ONLY, ""),
    ],
)
def test_what_a_call_gave_is_quarantined_by_the_source_type_of_its_tool(
    runtime: Runtime, tool: str, safety: SafetyClass, source: str
) -> None:
    call = _called(runtime, tool, safety)
    brain = runtime.brain("ada")
    for reference in (call, f"call:{call}"):
        uid = brain.remember(f"the shelf of {reference} is empty", derived_from=[reference], force=True)
        assert source_of(runtime, uid)[1] == ("quarantined" if source else "active")
        if source:
            assert brain.quarantined == (uid,)
            [reason] = [entry["reason"] for entry in brain.space.records.history(_number(runtime, uid))]
            assert reason == f"source {source} of {call}"


def test_a_call_that_nobody_made_quarantines_nothing(runtime: Runtime) -> None:
    uid = runtime.brain("ada").remember("the limit is 100", derived_from=["call:call_0042"])
    assert source_of(runtime, uid)[1] == "active"


def _number(runtime: Runtime, uid: str) -> int:
    [(number,)] = runtime.database.query("SELECT id FROM records WHERE uid = ?", (uid,))
    return int(number)


def _called(runtime: Runtime, tool: str, safety: SafetyClass) -> str:
    """The id of a call of a tool that was made."""
    if tool not in runtime.registry:
        runtime.registry.register_fn(tool, tool, lambda: "nothing", safety)
    runtime.executor.execute(RunContext.create("ada"), tool, {})
    [(call,)] = runtime.database.query(
        "SELECT DISTINCT call_id FROM events WHERE tool_id = ? AND call_id <> ''", (tool,)
    )
    return str(call)


def test_command_says_that_an_agent_is_not_a_user(sb: CommandLine, runtime: Runtime) -> None:
    done = sb("memory", "remember", "the user wants German", "--source", "user-written", "--agent", "ada")
    assert done.code == 0
    assert "saved as agent-written" in done.err
    done = sb("memory", "remember", "the user wants tea", "--source", "user-written", "--json")
    assert source_of(runtime, done.json["id"])[0] == "user-written"
