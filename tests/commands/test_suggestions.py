"""Suggested memories on the command line: seen, accepted or dismissed, with a reason."""

from __future__ import annotations

from typing import Any

import pytest

from sb.config import current_config
from sb.kernel.authority.enrolment import login_name
from sb.protocols.types import MemorySuggestion, RawEntry
from sb.stack import SQLiteStack
from tests.conftest import CommandLine

HOSTILE = "\x1b]0;owned\x07[red]\u202eeve\nsug_fake  belief  pending"
CACHES = "caches that never expire serve what is not so any more"


@pytest.fixture
def stack(sb: CommandLine) -> SQLiteStack:
    assert sb("init").code == 0
    return SQLiteStack("default", current_config().database, components=[])


@pytest.fixture
def two(stack: SQLiteStack) -> tuple[str, str]:
    """A belief and an episode that are suggested, from what was captured."""
    raw = stack.save_raw(RawEntry("raw-1", "default", CACHES))
    return (
        stack.save_suggestion(
            MemorySuggestion("sug-1", "default", "belief", {"statement": CACHES}, 0.9, [raw])
        ),
        stack.save_suggestion(
            MemorySuggestion(
                "sug-2", "default", "episode", {"objective": "deploy", "outcome": "it worked"}, 0.5, [raw]
            )
        ),
    )


def memory(stack: SQLiteStack, kind: str, uid: str) -> Any:
    """The memory that the stack has under an id."""
    return stack.get_memory(kind, uid)


def history(sb: CommandLine, uid: str) -> list[tuple[str, str]]:
    """The changes of a memory, each with who made it."""
    items = sb("memory", "history", uid, "--json").json["items"]
    return [(item["operation"], item["actor"]) for item in items]


def listed(sb: CommandLine, *arguments: str) -> list[str]:
    return [item["id"] for item in sb("suggestions", "list", *arguments, "--json").json["items"]]


def test_what_waits_is_listed_and_narrowed(sb: CommandLine, two: tuple[str, str]) -> None:
    assert set(listed(sb)) == set(two)
    assert listed(sb, "--kind", "episode") == [two[1]]
    assert listed(sb, "--min-confidence", "0.6") == [two[0]]
    assert set(listed(sb, "--source", "raw-1")) == set(two)
    assert len(listed(sb, "--limit", "1")) == 1
    assert listed(sb, "--status", "dismissed") == []
    table = sb("suggestions", "list").out
    assert "sug-1       belief   pending  0.90" in table
    assert "deploy · it worked" in table


def test_one_is_shown_with_what_it_was_made_from(sb: CommandLine, two: tuple[str, str]) -> None:
    shown = sb("suggestions", "show", "sug-1").out
    assert f"statement: {CACHES}" in shown
    assert "derived from: raw-1" in shown


def test_the_history_names_the_operator_or_whoever_is_named(sb: CommandLine, two: tuple[str, str]) -> None:
    sb("suggestions", "dismiss", "sug-2", "--reason", "a guess", "--as", "grace")
    assert ("dismissed", "grace") in history(sb, "sug-2")
    assert sb("operator", "init", "ada", "--no-passphrase", "--yes").code == 0
    assert sb("suggestions", "accept", "sug-1", "--reason", "so it is").code == 0
    assert ("promoted", "ada") in history(sb, "sug-1")


def test_nobody_settles_in_the_name_of_who_is_no_operator(sb: CommandLine, two: tuple[str, str]) -> None:
    assert sb("operator", "init", "ada", "--no-passphrase", "--yes").code == 0
    refused = sb("suggestions", "accept", "sug-1", "--reason", "so it is", "--as", "grace")
    assert (refused.code, "'grace' is not an operator" in refused.err) == (4, True)
    assert sb("suggestions", "show", "sug-1", "--json").json["status"] == "pending"


def test_accepting_makes_the_memory_and_says_by_whom_and_why(
    sb: CommandLine, stack: SQLiteStack, two: tuple[str, str]
) -> None:
    done = sb("suggestions", "accept", "sug-1", "--reason", "seen twice")
    belief = memory(stack, "belief", done.out.strip())
    assert (belief.statement, belief.derived_from) == (CACHES, ["raw:raw-1"])
    assert done.err == "kept as belief in stack default\n"
    settled = sb("suggestions", "show", "sug-1", "--json").json
    assert (settled["status"], settled["resolution_reason"]) == ("promoted", "seen twice")
    assert ("promoted", f"local:{login_name()}") in history(sb, "sug-1")
    assert listed(sb) == ["sug-2"]
    again = sb("suggestions", "accept", "sug-1", "--reason", "seen twice")
    assert (again.code, "promoted already, as belief:" in again.err) == (1, True)


def test_it_can_be_said_differently(sb: CommandLine, stack: SQLiteStack, two: tuple[str, str]) -> None:
    done = sb(
        "suggestions", "accept", "sug-1", "--reason", "too broad", "--with", '{"statement": "some caches never expire"}', "--json"
    )  # fmt: skip
    assert memory(stack, "belief", done.json["id"]).statement == "some caches never expire"
    assert "with other statement" in sb("suggestions", "show", "sug-1").out


def test_dismissing_leaves_no_memory(sb: CommandLine, stack: SQLiteStack, two: tuple[str, str]) -> None:
    done = sb("suggestions", "dismiss", "sug-2", "--reason", "it never happened")
    assert (done.code, done.out) == (0, "sug-2 dismissed\n")
    assert stack.get_episodes() == []
    assert "reason: it never happened" in sb("suggestions", "show", "sug-2").out
    assert sb("suggestions", "dismiss", "sug-2", "--reason", "again").code == 1


@pytest.mark.parametrize("verb", ["accept", "dismiss"])
def test_a_decision_needs_a_reason(sb: CommandLine, two: tuple[str, str], verb: str) -> None:
    assert sb("suggestions", verb, "sug-1").code == 2
    assert set(listed(sb)) == set(two)


@pytest.mark.parametrize(
    ("changes", "code"),
    [('{"statement": "so"}', 1), ('{"nonsense": 1}', 2), ('{"confidence": 7}', 2), ("[1]", 2), ("{", 2)],
)
def test_what_can_be_no_memory_leaves_the_suggestion(
    sb: CommandLine, stack: SQLiteStack, two: tuple[str, str], changes: str, code: int
) -> None:
    stack.on_attach("ada")
    refused = sb("suggestions", "accept", "sug-1", "--reason", "?", "--with", changes)
    assert (refused.code, refused.out) == (code, ""), refused.err
    assert set(listed(sb)) == set(two)
    assert stack.get_beliefs() == []


def test_a_belief_that_says_nothing_is_kept_as_a_suggestion_only(sb: CommandLine, stack: SQLiteStack) -> None:
    episode = sb("entity", "episode", "deploy", "it worked", "--agent", "ada").out.strip()
    refused = sb("entity", "belief", "todo", "--from", f"episode:{episode}", "--agent", "ada")
    assert (refused.code, "this makes no belief" in refused.err) == (1, True)
    uid = refused.out.strip().removeprefix("suggestion:")
    assert sb("suggestions", "show", uid, "--json").json["status"] == "rejected"


def test_unknown_ones_and_nothing_at_all(sb: CommandLine, stack: SQLiteStack) -> None:
    empty = sb("suggestions", "list")
    assert (empty.code, empty.out, "sb stack maintain default" in empty.err) == (0, "", True)
    for verb in ("show", "accept", "dismiss"):
        reason = () if verb == "show" else ("--reason", "?")
        missing = sb("suggestions", verb, "nothing", *reason, "--json")
        assert (missing.code, missing.json["error"]["kind"]) == (1, "not_found")
    assert sb("suggestions", "list", "--status", "nonsense").code == 2
    assert sb("suggestions", "list", "--stack", "nowhere").code == 1


def test_what_is_suggested_does_nothing_to_a_terminal(sb: CommandLine, stack: SQLiteStack) -> None:
    stack.save_suggestion(
        MemorySuggestion("s", "default", "note", {"content": HOSTILE, HOSTILE: HOSTILE}, 0.5, [HOSTILE])
    )
    for shown in (sb("suggestions", "list"), sb("suggestions", "show", "s")):
        assert not set("\x1b\x07\u202e") & set(shown.out + shown.err)
        assert "\nsug_fake" not in shown.out
