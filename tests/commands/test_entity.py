"""An agent's core on the command line: what it remembers, where that comes from, and what it is composed of."""

from __future__ import annotations

import io
from typing import Any

import pytest

from sb.cli import load
from sb.config import current_config
from sb.stack import SQLiteStack
from tests.conftest import CommandLine

HOSTILE = "\x1b[31mred\x1b]0;owned\x07 [bold]markup[/bold] \u202egnp.exe\r\nmem_fake  note"


def saved_id(sb: CommandLine, *arguments: str) -> str:
    """The id of what a core kept."""
    done = sb("entity", *arguments, "--agent", "ada")
    assert done.code == 0, done.err
    return done.out.strip()


def memory(kind: str, uid: str, stack_id: str = "default") -> Any:
    """The memory that a stack has under an id."""
    with SQLiteStack(stack_id, current_config().database, components=[]) as stack:
        return stack.get_memory(kind, uid)


def test_every_operation_keeps_what_it_says_and_where_it_comes_from(sb: CommandLine) -> None:
    episode = saved_id(
        sb, "episode", "deploy to production", "zero downtime", "--lesson", "blue-green works", "--tag", "deploy",
        "--repeat", "announce it", "--avoid", "fridays", "--context", "project:shop",
    )  # fmt: skip
    known = memory("episode", episode)
    assert (known.objective, known.outcome, known.context) == (
        "deploy to production",
        "zero downtime",
        "project:shop",
    )
    assert (known.lessons, known.repeat, known.avoid, known.tags) == (
        ["blue-green works"],
        ["announce it"],
        ["fridays"],
        ["deploy"],
    )
    assert (known.source_entity, known.source_type) == ("core:ada", "direct_experience")
    source = ["--from", f"episode:{episode}"]
    belief = saved_id(
        sb, "belief", "blue-green deploys are safe", "--type", "learned", "--confidence", "0.9", *source
    )
    assert memory("belief", belief).derived_from == [f"episode:{episode}"]
    value = saved_id(
        sb,
        "value",
        "care",
        "Never deploy without a way back",
        "--priority",
        "80",
        "--from",
        f"belief:{belief}",
    )
    assert (memory("value", value).priority, memory("value", value).is_protected) == (80, True)
    goal = saved_id(sb, "goal", "deploy every day", "--type", "aspiration", "--priority", "high", *source)
    assert memory("goal", goal).goal_type == "aspiration"
    note = saved_id(
        sb, "note", "use Retry-After", "--type", "decision", "--reason", "the server knows", "--protect"
    )
    assert (memory("note", note).reason, memory("note", note).is_protected) == ("the server knows", True)
    drive = saved_id(sb, "drive", "curiosity", "--intensity", "0.9", "--focus", "latency", *source)
    assert saved_id(sb, "drive", "curiosity", "--focus", "caches") == drive
    assert (memory("drive", drive).intensity, memory("drive", drive).focus_areas) == (0.9, ["caches"])
    other = saved_id(
        sb, "relationship", "Eve", "--trust", "0.75", "--type", "person", "--notes", "reviews", *source
    )
    assert (memory("relationship", other).sentiment, memory("relationship", other).notes) == (0.5, "reviews")
    raw = saved_id(sb, "raw", "as it came")
    assert (memory("raw", raw).blob, memory("raw", raw).source) == ("as it came", "core:ada")


def test_what_is_kept_is_said_on_stderr_and_as_json(sb: CommandLine) -> None:
    done = sb("entity", "note", "the limit is 100", "--agent", "ada")
    assert done.err == "kept as note in stack default, from core ada\n"
    result = sb("entity", "note", "the limit is 200", "--agent", "ada", "--json").json
    assert (result["kind"], result["stack"], result["core"]) == ("note", "default", "ada")
    assert memory("note", result["id"]).content == "the limit is 200"


def test_what_an_agent_knows_a_brain_of_the_same_name_finds(sb: CommandLine) -> None:
    uid = saved_id(sb, "episode", "migrate the billing service", "no downtime")
    sb("memory", "remember", "billing runs nightly", "--private", "--agent", "ada")
    hits = sb("memory", "search", "billing migration", "--agent", "ada", "--json").json["items"]
    assert uid in [hit["id"] for hit in hits]
    found = sb("entity", "search", "billing", "--agent", "ada", "--json").json["items"]
    assert {item["memory_type"] for item in found} == {"episode", "belief"}
    assert [
        item["memory_id"]
        for item in sb("entity", "search", "billing", "--agent", "bob", "--json").json["items"]
    ] == [uid]


def test_a_search_shows_the_words_and_says_when_there_is_nothing(sb: CommandLine) -> None:
    uid = saved_id(sb, "note", "the office is in Bonn", "--context", "travel")
    shown = sb("entity", "search", "office", "--agent", "ada").out.splitlines()
    assert shown[0].startswith(f"{uid}  note  ")
    assert shown[1] == "    the office is in Bonn"
    assert sb("entity", "search", "office", "--kind", "belief", "--agent", "ada").err == (
        "nothing found: try other words\n"
    )
    assert sb("entity", "search", "office", "--context", "travel", "--agent", "ada").out != ""
    assert sb("entity", "search", "office", "--kind", "nonsense", "--agent", "ada").code == 2


def test_working_memory_is_loaded_within_its_budget(sb: CommandLine) -> None:
    saved_id(sb, "note", "the office is in Bonn")
    loaded = sb("entity", "load", "--tokens", "100", "--agent", "ada", "--json").json
    assert [note["content"] for note in loaded["notes"]] == ["the office is in Bonn"]
    assert loaded["_meta"]["budget_total"] == 100
    shown = sb("entity", "load", "--agent", "ada")
    assert "notes\n    the office is in Bonn · note\n" in shown.out
    assert "1 memory, " in shown.err


def test_the_status_tells_what_a_core_is_composed_of(sb: CommandLine) -> None:
    saved_id(sb, "note", "the office is in Bonn")
    shown = sb("entity", "status", "--agent", "ada").out.splitlines()
    assert shown[:2] == ["core: ada", "model: none"]
    assert shown[2].startswith("stack: default, active: ")
    assert "1 notes" in shown[2]
    status = sb("entity", "status", "--agent", "ada", "--json").json
    assert (status["core_id"], list(status["stacks"])) == ("ada", ["default"])


def test_a_named_stack_takes_it_and_a_slip_makes_none(sb: CommandLine) -> None:
    assert sb("stack", "create", "work").code == 0
    uid = saved_id(sb, "note", "the office is in Bonn", "--stack", "work")
    assert memory("note", uid) is None
    assert memory("note", uid, "work").content == "the office is in Bonn"
    slip = sb("entity", "note", "elsewhere", "--stack", "wrok", "--agent", "ada")
    assert (slip.code, 'did you mean "work"' in slip.err) == (1, True)


def test_long_texts_come_by_stdin(sb: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("first line\nand a second\n"))
    assert memory("note", saved_id(sb, "note", "-")).content == "first line\nand a second"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["belief", "it is so"], 1, "names no source"),
        (["belief", "it is so", "--from", "episode:none"], 1, "is not in stack default"),
        (["belief", "it is so", "--type", "nonsense"], 2, "must be one of"),
        (["note", "x", "--source", "nonsense"], 2, "must be one of"),
        (["note", "  "], 2, "the note is empty"),
        (["drive", "hunger"], 2, "must be one of"),
        (["relationship", "Eve", "--trust", "high"], 2, "--trust: must be a number, not 'high'"),
        (
            ["value", "care", "always", "--priority", "101"],
            2,
            "--priority: must be a whole number from 0 to 100, not '101'",
        ),
    ],
)
def test_what_cannot_be_kept_is_refused_and_nothing_is_written(
    sb: CommandLine, arguments: list[str], code: int, said: str
) -> None:
    assert sb("init").code == 0
    refused = sb("entity", *arguments, "--agent", "ada")
    assert (refused.code, refused.out, said in refused.err) == (code, "", True), refused.err
    counts = sb("entity", "status", "--agent", "ada", "--json").json["stacks"]["default"]["stats"]
    assert not any(counts.values())


def test_what_others_wrote_does_nothing_to_a_terminal(sb: CommandLine) -> None:
    saved_id(sb, "note", HOSTILE)
    saved_id(sb, "episode", HOSTILE, HOSTILE)
    for words in (["search", "red"], ["load"], ["status"]):
        shown = sb("entity", *words, "--agent", "ada")
        assert not set("\x1b\x07\u202e\r") & set(shown.out + shown.err)
        assert "\nmem_fake" not in shown.out


def test_the_shell_completes_words_and_stacks(sb: CommandLine, home: Any) -> None:
    assert sb("stack", "create", "work").code == 0
    group = load("entity")
    note = {param.name: param for param in group.commands["note"].params}
    assert [item.value for item in note["stack"].shell_complete(None, "wo")] == ["work"]
    assert [item.value for item in note["type_"].shell_complete(None, "dec")] == ["decision"]
    assert [item.value for item in note["source"].shell_complete(None, "obs")] == ["observation"]
