"""The reading policy: purpose, consent, freshness, and what was denied."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from sb.base.sources import SteeredClock
from sb.cli import app
from sb.config.home import Home
from sb.config.model import assemble
from sb.config.scopes import scopes_of
from sb.errors import DeniedError, NotFoundError
from sb.kernel.memory_read_policy import denied_reads
from sb.memory import Brain
from sb.memory.operator_view import Overseer
from sb.protocols.types import Note
from sb.runtime import Runtime, open_runtime
from sb.store import driver
from sb.store.records.consent import LACKS_CONSENT, row_lacks_consent

DAY_S = 86_400


SUPPORT = {"purpose": "support", "read": ("support-*",), "write": ("*",)}
NOBODY = {"purpose": "support", "read": (), "write": ("*",)}


def opened(folder: Path, rules: dict[str, Any], clock: SteeredClock | None = None) -> Runtime:
    config = assemble(Home(folder / "home"), {"memory.scopes": scopes_of(rules)}, {}, ())
    return open_runtime(config, clock=clock or SteeredClock())


def test_only_readers_of_the_purpose_find_and_get_a_memory(tmp_path: Path) -> None:
    rules = {"customer:*": SUPPORT}
    with opened(tmp_path, rules) as runtime:
        record = runtime.brain("support-1", scope="customer:a").remember("The lamp is white.")
        assert [hit.id for hit in runtime.brain("support-2", scope="customer:a").search("lamp")] == [record]
        other = runtime.brain("sales", scope="customer:a")
        with pytest.raises(DeniedError, match="sales may not read in customer:a"):
            other.search("lamp")
        with pytest.raises(NotFoundError):
            other.get(record)
        assert all(hit.id != record for hit in runtime.brain("sales").search("lamp"))
        denied = denied_reads(runtime.database, agent="sales")
        assert [(read.record, read.memories, read.purpose) for read in denied] == [
            (record, 1, "support"),
            ("", 1, "support"),
        ]
        purposes = runtime.database.query("SELECT DISTINCT agent, purpose FROM broadcasts ORDER BY agent")
        assert [tuple(row) for row in purposes] == [("sales", ""), ("support-2", "support")]


def test_what_a_session_includes_and_may_not_read_is_left_out_and_on_record(tmp_path: Path) -> None:
    with opened(tmp_path, {"customer:*": SUPPORT, "project:*": {"includes": ("customer:a",)}}) as runtime:
        runtime.brain("support-1", scope="customer:a").remember("The lamp is white.")
        assert runtime.brain("sales", scope="project:a").search("lamp") == []
        assert [(read.agent, read.scope, read.memories) for read in denied_reads(runtime.database)] == [
            ("sales", "customer:a", 1)
        ]


CHANGES: dict[str, Callable[[Brain, str], None]] = {
    "protect": lambda brain, uid: brain.protect(uid),
    "forget": lambda brain, uid: brain.forget(uid),
    "confirm": lambda brain, uid: brain.confirm(uid),
    "refute": lambda brain, uid: brain.refute(uid),
}


@pytest.mark.parametrize("way", CHANGES)
def test_a_memory_that_is_withheld_is_not_changed_and_the_attempt_is_on_record(
    tmp_path: Path, way: str
) -> None:
    with opened(tmp_path, {"project:*": {"consent": True}}) as runtime:
        brain = runtime.brain("ada", scope="project:a")
        withheld = brain.remember("Henry wants a lamp.", subject_ids=["henry"])
        agreed = brain.remember("Grace wants tea.", subject_ids=["grace"], consent_grants=["grace"])
        with pytest.raises(DeniedError, match="withheld: somebody whom it is about has not agreed"):
            CHANGES[way](brain, withheld)
        assert [(read.agent, read.record) for read in denied_reads(runtime.database)] == [("ada", withheld)]
        history = runtime.database.query("SELECT count(*) FROM record_history")[0][0]
        assert history == 0
        CHANGES[way](brain, agreed)
        CHANGES[way](Overseer(database=runtime.database, config=runtime.config), withheld)


@pytest.mark.parametrize("way", CHANGES)
def test_a_memory_that_was_not_granted_is_not_changed(tmp_path: Path, way: str) -> None:
    with opened(tmp_path, {}) as runtime:
        uid = runtime.brain("ada", scope="project:a").remember("Hal is on leave.", access_grants=["hr"])
        with pytest.raises(DeniedError, match="access was not granted to you"):
            CHANGES[way](runtime.brain("eve", scope="project:a"), uid)
        CHANGES[way](runtime.brain("hr", scope="project:a"), uid)


def test_operators_read_everything(tmp_path: Path) -> None:
    with opened(tmp_path, {"customer:*": NOBODY}) as runtime:
        record = runtime.brain("ada", scope="customer:a").remember("The lamp is white.")
        overseer = Overseer(database=runtime.database, config=runtime.config)
        assert overseer.look_up(record).content == "The lamp is white."


def test_a_stale_memory_is_withheld_until_it_is_changed(tmp_path: Path) -> None:
    clock = SteeredClock()
    with opened(tmp_path, {"project:*": {"max_age": 30 * DAY_S}}, clock) as runtime:
        brain = runtime.brain("ada", scope="project:a")
        brain.remember("The lamp is white.")
        clock.sleep(29 * DAY_S)
        assert len(brain.search("lamp")) == 1
        clock.sleep(2 * DAY_S)
        assert brain.search("lamp") == []


def test_consent_is_needed_of_everybody_whom_a_memory_is_about(tmp_path: Path) -> None:
    with opened(tmp_path, {"project:*": {"consent": True}}) as runtime:
        brain = runtime.brain("ada", scope="project:a")
        plain = brain.remember("The lamp is white.")
        agreed = brain.remember("Grace wants a lamp.", subject_ids=["grace"], consent_grants=["grace"])
        brain.remember(
            "Henry and Grace want a lamp.", subject_ids=["henry", "grace"], consent_grants=["grace"]
        )
        assert {hit.id for hit in brain.search("lamp")} == {plain, agreed}


def test_a_stack_gives_only_what_its_core_may_read(tmp_path: Path) -> None:
    with opened(tmp_path, {"global": SUPPORT}) as runtime:
        stack = runtime.stack("s")
        stack.save_note(Note("n1", "s", "The lamp is white."))
        assert stack.get_notes() == []
        assert stack.search("lamp") == []
        stack.on_attach("support-1")
        assert [note.content for note in stack.get_notes()] == ["The lamp is white."]
        assert [hit.content for hit in stack.search("lamp")] == ["The lamp is white."]
        assert {read.agent for read in denied_reads(runtime.database)} == {""}


def test_a_stack_loads_into_a_prompt_only_what_its_core_may_read(tmp_path: Path) -> None:
    with opened(tmp_path, {"global": SUPPORT}) as runtime:
        runtime.stack("s").save_note(Note("n1", "s", "The lamp is white."))
        loads = {}
        for core in ("support-1", "sales"):
            stack = runtime.stack("s")
            stack.on_attach(core)
            loads[core] = "lamp" in repr(stack.load())
        assert loads == {"support-1": True, "sales": False}


def test_a_forgotten_memory_is_withheld_in_a_dump_too(tmp_path: Path) -> None:
    with opened(tmp_path, {"global": SUPPORT}) as runtime:
        stack = runtime.stack("s")
        stack.save_note(Note("n1", "s", "The lamp is white."))
        Overseer(database=runtime.database, config=runtime.config).forget("n1", reason="old")
        stack.on_attach("sales")
        assert "lamp" not in stack.dump(include_forgotten=True)
        stack.view_as_operator()
        assert "lamp" in stack.dump(include_forgotten=True)


def test_the_purpose_on_record_is_that_of_the_scope_that_was_read(tmp_path: Path) -> None:
    rules = {"customer:*": {"purpose": "support"}, "project:*": {"purpose": "building"}}
    with opened(tmp_path, rules) as runtime:
        brain = runtime.brain("ada", scope="project:a")
        brain.search("lamp", scope="customer:a")
        brain.search("lamp")
        runtime.brain("ada", stack="s", scope="customer:a").remember("The lamp is white.")
        stack = runtime.stack("s")
        stack.on_attach("ada")
        stack.read_from("ada", "customer:a")
        assert len(stack.search("lamp")) == 1
        rows = runtime.database.query("SELECT purpose FROM broadcasts ORDER BY id")
        assert [purpose for (purpose,) in rows] == ["support", "building", "support"]


def test_operators_read_all_of_a_stack(tmp_path: Path) -> None:
    with opened(tmp_path, {"global": NOBODY}) as runtime:
        stack = runtime.stack("s")
        stack.save_note(Note("n1", "s", "The lamp is white."))
        stack.view_as_operator()
        assert [note.content for note in stack.get_notes()] == ["The lamp is white."]
        assert stack.get_memory("note", "n1") is not None
        assert denied_reads(runtime.database) == []


def test_what_a_stack_withheld_by_its_id_is_on_record(tmp_path: Path) -> None:
    with opened(tmp_path, {"global": SUPPORT}) as runtime:
        stack = runtime.stack("s")
        stack.save_note(Note("n1", "s", "The lamp is white."))
        stack.on_attach("sales")
        assert stack.get_memory("note", "n1") is None
        assert [(read.agent, read.record) for read in denied_reads(runtime.database)] == [("sales", "n1")]


def test_the_gate_compares_with_nothing_that_the_writer_may_not_read(tmp_path: Path) -> None:
    rules = {"global": {**SUPPORT, "read": ("ada",)}}
    with opened(tmp_path, rules) as runtime:
        runtime.brain("ada").remember("The lamp in the lighthouse is white and needs oil.", category="lesson")
        text = "The lamp in the lighthouse is white and needs oil every day."
        verdicts = {}
        for agent in ("bob", "ada"):
            brain = runtime.brain(agent)
            brain.remember(text, category="lesson", private=True)
            brain.remember(text, category="lesson")
            assert brain.verdict is not None
            verdicts[agent] = bool(brain.verdict.others or brain.verdict.content)
        assert verdicts == {"bob": False, "ada": True}


def test_without_rules_nothing_changes(tmp_path: Path) -> None:
    with opened(tmp_path, {}) as runtime:
        brain = runtime.brain("ada", scope="customer:a")
        brain.remember("The lamp is white.")
        assert len(brain.search("lamp")) == 1
        assert brain.space.reader.policy is None


def test_the_command_lists_what_was_denied(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    rules = "memory:\n  scopes:\n    'customer:*': {purpose: support, read: ['support-*'], write: ['*'], max_age: 30d}\n"
    (home / "config.yaml").write_text(rules, encoding="utf-8")
    env: dict[str, Any] = {"SB_HOME": str(home)}
    run = CliRunner().invoke
    command = ["memory", "remember", "The lamp is white.", "--agent", "support-1", "--scope", "customer:a"]
    assert run(app, command, env=env).exit_code == 0
    run(app, ["memory", "search", "lamp", "--agent", "sales", "--scope", "customer:a"], env=env)
    done = run(app, ["memory", "denied", "--json"], env=env)
    assert [item["reason"] for item in json.loads(done.stdout)["items"]] == [
        "its scope is read for support only"
    ]


def test_a_wrong_rule_is_named(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text(
        "memory: {scopes: {'a:*': {purposes: x, max_age: soon}}}\n", encoding="utf-8"
    )
    done = CliRunner().invoke(app, ["config", "check"], env={"SB_HOME": str(home)})
    assert done.exit_code == 1
    assert 'purposes: unknown key (did you mean "purpose"?)' in done.output
    assert "soon" in done.output


NAMES = st.none() | st.lists(st.sampled_from(["grace", "henry", ""]), max_size=3)


@given(subjects=NAMES, grants=NAMES)
def test_one_record_and_sql_have_the_same_rule_of_consent(
    subjects: list[str] | None, grants: list[str] | None
) -> None:
    fields = {"subject_ids": subjects, "consent_grants": grants}
    connection = driver.connect(":memory:")
    for document in (fields, {name: value for name, value in fields.items() if value is not None}):
        text = orjson.dumps(document).decode()
        sql = f"SELECT {LACKS_CONSENT} FROM (SELECT ? AS fields) AS r"
        assert connection.execute(sql, (text,)).fetchone()[0] == row_lacks_consent({"fields": text})
    connection.close()
