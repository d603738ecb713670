"""One memory on the command line: all of it, what it came from, what was changed in it, what it is related to."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import CommandLine
from tests.memory.test_memory_cli import saved_id

HOSTILE = "\x1b[31mred\x1b]0;owned\x07 [bold]m[/bold]\r\nmem_fake forged"


@pytest.fixture
def fact(sb: CommandLine) -> str:
    """A fact that was related, read and made something of."""
    sb("memory", "entity", "orders", "service")
    record = saved_id(
        sb,
        "remember",
        "the limit is 100",
        "--tag",
        "api",
        "--source",
        "ingested-document",
        "--project",
        "shop",
    )
    saved_id(sb, "decide", "page by cursor", "the limit is low", "--from", record, "--project", "shop")
    sb("memory", "relate", record, "about", "orders")
    sb("memory", "search", "limit", "--agent", "ada", "--project", "shop")
    sb("memory", "protect", record, "--reason", "a rule")
    return record


def test_an_operator_is_shown_everything_about_a_memory(sb: CommandLine, fact: str) -> None:
    shown = sb("memory", "show", fact).out
    for text in (
        "the limit is 100",
        "source: ingested-document",
        "tags: api",
        "state: active, protected, version 1",
        "related: about → entity orders",
        "made of it: mem_",
        "by ada, search 'limit'",
        "keep by operator",
        "protect by operator, version 1: a rule",
        "is_protected: False → True",
    ):
        assert text in shown
    found = sb("memory", "show", fact, "--json").json
    assert (found["memory"]["id"], found["state"], found["read"]) == (fact, "active", 1)
    assert found["changes"][1]["at"].endswith("Z")


def test_an_operator_is_shown_who_restated_a_memory_and_how_much_that_counted(sb: CommandLine) -> None:
    first = saved_id(sb, "remember", "the office is in Bonn", "--agent", "ada")
    sb("trust", "set", "eve", "general", "0.1", "--reason", "it invents")
    for agent in ("ada", "eve"):
        assert saved_id(sb, "remember", "The office is in Bonn.", "--agent", agent) == first
    sb("memory", "outcome", first, "--reason", "seen", "--refuted")
    out = sb("memory", "show", first).out
    assert [line.partition(" now ")[2] for line in out.splitlines() if line.startswith("evidence:")] == [
        "refuted by operator, counts 1",
        "restated by eve, agent-written, 1.00 alike, without effect",
        "restated by ada, agent-written, 1.00 alike, counts 0.35",
    ]
    found = sb("memory", "show", first, "--json").json
    assert (found["evidence_count"], found["evidence"][2]["agent"]) == (3, "ada")
    assert found["evidence"][2]["at"].endswith("Z")


def test_texts_that_were_merged_are_listed_found_and_split(sb: CommandLine) -> None:
    first = saved_id(sb, "remember", "The large parcels were removed at night.")
    merged = sb("memory", "remember", "The big parcels were deleted at night.")
    assert "sb memory split mem_" in merged.err
    text = "restated as: The big parcels were deleted at night."
    shown = sb("memory", "show", first)
    assert text in shown.out
    assert "restated as" not in sb("memory", "search", "large parcels").out
    assert text in sb("memory", "search", "deleted").out
    restatement = sb("memory", "show", first, "--json").json["restatements"][0]["id"]
    done = sb("memory", "split", restatement, "--reason", "other parcels")
    assert done.out == f"{restatement} split from {first}\n"
    assert "split by operator" in sb("memory", "history", restatement).out
    assert text not in sb("memory", "show", first).out
    assert sb("memory", "split", first, "--reason", "no").code == 1
    assert sb("memory", "split", restatement, "--revert", "--reason", "the same").code == 0
    assert text in sb("memory", "show", first).out


def test_an_agent_is_shown_what_it_says_and_nothing_of_others(sb: CommandLine, fact: str) -> None:
    assert sb("memory", "show", fact, "--agent", "bob").code == 1  # bob's session is in another scope
    assert "the limit is 100" in sb("memory", "show", fact, "--agent", "bob", "--project", "shop").out
    hidden = saved_id(sb, "remember", "of ada alone", "--private", "--agent", "ada")
    assert sb("memory", "show", hidden, "--agent", "bob").code == 1
    own = sb("memory", "show", hidden, "--agent", "ada")
    assert "of ada alone" in own.out
    assert "read:" not in own.out


def test_where_a_memory_came_from_is_a_tree(sb: CommandLine, fact: str) -> None:
    decision = sb("memory", "search", "cursor", "--kind", "decision", "--json").json["items"][0]["id"]
    last = saved_id(sb, "remember", "cursors it is", "--from", decision, "--from", "call_7")
    lines = sb("memory", "why", last).out.splitlines()
    assert lines[0].startswith("fact cursors it is")
    assert lines[1].startswith("├─ derived_from → decision page by cursor")
    assert lines[2].startswith("│  └─ derived_from → fact the limit is 100")
    assert lines[3] == "└─ derived_from → call_7 (call)"
    tree = sb("memory", "why", last, "--json").json
    assert tree["origins"][0]["origins"][0]["reference"] == fact
    assert "derived from nothing: ingested-document, by operator" in sb("memory", "why", fact).err


def test_a_history_says_who_changed_what_and_why(sb: CommandLine) -> None:
    record = saved_id(sb, "entity", "Ada", "person", "-o", "likes tea")
    saved_id(sb, "entity", "ada", "person", "-o", "likes coffee", "--agent", "bob")
    sb("memory", "forget", record, "--reason", "she left")
    shown = sb("memory", "history", record).out
    assert "update by bob, version 2" in shown
    assert "observations: ['likes tea'] → ['likes tea', 'likes coffee']" in shown
    assert "forget by operator, version 2: she left" in shown
    items = sb("memory", "history", record, "--json").json["items"]
    assert [item["operation"] for item in items] == ["keep", "update", "forget"]


def test_hostile_text_forges_no_line(sb: CommandLine) -> None:
    record = saved_id(sb, "entity", HOSTILE, "service", "-o", HOSTILE, "--tag", HOSTILE)
    other = saved_id(sb, "decide", HOSTILE, HOSTILE, "--from", record)
    sb("memory", "relate", other, HOSTILE, record)
    sb("memory", "search", HOSTILE, "--agent", HOSTILE)
    sb("memory", "protect", record, "--reason", HOSTILE)
    for verb in ("show", "why", "history", "graph"):
        for item in (record, other):
            shown = sb("memory", verb, item)
            assert shown.code == 0
            assert not set("\x1b\x07\r") & set(shown.out + shown.err)
            assert not any(line.startswith("mem_fake") for line in shown.out.splitlines())


@pytest.mark.parametrize("verb", ["show", "why", "history", "graph"])
def test_an_unknown_id_is_one_clear_line(sb: CommandLine, home: Path, verb: str) -> None:
    sb("init")
    done = sb("memory", verb, "mem_none")
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines()[0] == "sb: error: no memory 'mem_none', or not visible to you"


def test_what_an_agent_knows_is_shown_and_what_is_outdated_of_it(sb: CommandLine, fact: str) -> None:
    sb("memory", "protect", fact, "--lift", "--reason", "moved")
    new = sb("memory", "correct", fact, "the limit is 50", "--reason", "moved", "--yes", "--json").json[
        "winner"
    ]
    shown = sb("memory", "knows", "ada", "limit", "--project", "shop").out
    assert "    ada: does not know it" in shown
    assert "    ada: told just now\n" in shown
    assert f"    superseded since: the limit is 100; now the limit is 50  {new}" in shown
    items = {item["id"]: item for item in sb("memory", "knows", "ada", "limit", "--json").json["items"]}
    assert items[fact]["told_at"].endswith("Z")
    assert items[fact]["outdated"]["now"] == new
    assert items[new]["told_at"] is None
    assert "eve neither wrote nor was told" in sb("memory", "knows", "eve", "limit").err
    assert sb("memory", "knows", "operator", "limit", "--agent", "eve", "--json").json["items"] == []
    assert sb("memory", "knows", "", "limit").code == 2
