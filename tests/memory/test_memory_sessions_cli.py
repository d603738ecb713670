"""Sessions from a shell: begin one knowing what the last one left, and end it for the next."""

from __future__ import annotations

from pathlib import Path

import pytest

from sb.store.database import open_database
from tests.conftest import CommandLine

PROJECT = ("--project", "api")


def day_one(sb: CommandLine) -> None:
    """The handoff that ada leaves behind."""
    as_ada = (*PROJECT, "--agent", "ada", "--session", "monday")
    for arguments in (
        ("remember", "rate limit: 100/15s", "--category", "integration"),
        ("decide", "use Retry-After for backoff", "the server controls the window"),
        ("log", "pagination not yet implemented", "--type", "task_update"),
    ):
        assert sb("memory", *arguments, *as_ada).code == 0
    assert sb("memory", "wrap-up", "the fetcher works", *as_ada).code == 0


def test_a_new_project_has_nothing_to_say(sb: CommandLine) -> None:
    done = sb("memory", "orient", *PROJECT, "--agent", "ada")
    assert (done.code, done.out) == (0, "Nothing is remembered of project:api yet.\n")
    assert "--scope project:api --session ses_" in done.err


def test_the_next_session_begins_with_what_the_last_one_left(sb: CommandLine) -> None:
    day_one(sb)
    shown = sb("memory", "orient", *PROJECT, "--agent", "bob").out
    for text in ("use Retry-After", "rate limit: 100/15s", "the fetcher works", "pagination not yet"):
        assert text in shown
    package = sb("memory", "orient", *PROJECT, "--agent", "eve", "--json").json
    assert package["handoff"]["verified"] is True
    assert package["handoff"]["current_state"] == "the fetcher works"
    assert package["handoff"]["created_at"].endswith("Z")
    assert package["decisions"][0]["details"]["title"] == "use Retry-After for backoff"


def test_wrap_up_derives_what_it_is_not_told_from_the_sessions_own_writes(sb: CommandLine) -> None:
    day_one(sb)
    packet = sb("memory", "resume", *PROJECT, "--agent", "bob", "--json").json
    assert packet["open_loops"] == ["pagination not yet implemented"]
    assert packet["sender"] == "ada"
    handoff = sb("memory", "wrap-up", "done", *PROJECT, "--goal", "g", "--open-loop", "a", "--open-loop", "b",
              "--next-step", "n", "--agent", "bob", "--json").json  # fmt: skip
    assert (handoff["goal"], handoff["open_loops"], handoff["next_step"]) == ("g", ["a", "b"], "n")


def test_a_handoff_is_taken_over_once_and_by_whom_it_is_for(sb: CommandLine) -> None:
    sb("memory", "handoff", "page by cursor", "half done", "write the tests", *PROJECT, "--to", "bob")
    assert sb("memory", "resume", *PROJECT, "--agent", "eve").code == 1
    taken = sb("memory", "resume", *PROJECT, "--agent", "bob")
    assert taken.out.splitlines()[1:] == ["goal: page by cursor", "state: half done", "next: write the tests"]
    again = sb("memory", "resume", *PROJECT, "--agent", "bob")
    assert (again.code, again.err.splitlines()[0]) == (1, "sb: error: no open handoff")


def test_an_altered_handoff_is_not_handed_out(sb: CommandLine, home: Path) -> None:
    sb("memory", "handoff", "page by cursor", "half done", "write the tests", *PROJECT)
    database = open_database(home / "brain.db")
    with database.write() as execute:
        execute("UPDATE records SET fields = replace(fields, 'half done', 'all done') WHERE kind = 'handoff'")
    database.close()
    refused = sb("memory", "resume", *PROJECT, "--agent", "bob")
    assert (refused.code, refused.out) == (1, "")
    assert "is not reliable" in refused.err


def test_thinking_follows_relations_and_says_which(sb: CommandLine) -> None:
    for name in ("gateway", "orders", "billing"):
        sb("memory", "entity", name, "service")
    sb("memory", "relate", "gateway", "calls", "orders")
    sb("memory", "relate", "orders", "bills", "billing")
    found = {item["content"]: item for item in sb("memory", "think", "gateway", "--json").json["items"]}
    assert {"gateway", "orders", "billing"} <= set(found)
    shown = sb("memory", "think", "gateway").out
    assert "activation 1.00" in shown


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("wrap-up", " "), 2, "the summary is empty"),
        (("handoff", "", "b", "c"), 2, "the goal is empty"),
        (("think", "x", "--decay", "0"), 2, "hops must be"),
        (("orient", "--tokens", "1"), 2, "--tokens: must be a whole number"),
        (("orient", "--project", "a b"), 2, "'project:a b' is not a scope"),
        (("orient", "--project", "a", "--scope", "global"), 2, "give project or scope"),
        (("remember", "x", "--agent", "eve", "--session", "monday"), 2, "session 'monday' is ada's"),
        (("resume",), 1, "no open handoff"),
    ],
)
def test_bad_input_is_one_clear_line(
    sb: CommandLine, arguments: tuple[str, ...], code: int, said: str
) -> None:
    day_one(sb)
    done = sb("memory", *arguments)
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith(f"sb: error: {said}")


def test_hostile_text_of_a_session_does_nothing_on_a_terminal(sb: CommandLine) -> None:
    hostile = "\x1b[31mred\x1b]0;owned\x07 [bold]m[/bold]\r\ngoal: forged"
    sb("memory", "wrap-up", hostile, "--goal", hostile, "--open-loop", hostile, *PROJECT)
    for arguments in (("orient", *PROJECT), ("think", "red"), ("resume", *PROJECT)):
        shown = sb("memory", *arguments)
        assert not set("\x1b\x07\r") & set(shown.out + shown.err)
        assert sum(line.startswith("goal: forged") for line in shown.out.splitlines()) == 0


def test_what_orient_says_about_going_on_in_its_session_works_as_it_stands(sb: CommandLine) -> None:
    begun = sb("memory", "orient", "--project", "shop", "--agent", "scribe")
    options = begun.err.strip().removeprefix("continue this session with ").split()
    written = sb("memory", "log", "the till is short", *options, "--json")
    assert (written.json["agent_id"], written.json["scope"]) == ("scribe", "project:shop")
