"""Memory on the command line: what people and scripts can rely on."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from sb.memory import Brain
from sb.memory.housekeeping import is_due
from sb.store.database import open_database
from tests.conftest import CommandLine
from tests.rows import rows

HOSTILE = "\x1b[31mred\x1b]0;owned\x07 [bold]markup[/bold] \u202egnp.exe\r\nmem_fake  fact  global"


def saved_id(sb: CommandLine, *arguments: str) -> str:
    """The id of what a command kept."""
    done = sb("memory", *arguments)
    assert done.code == 0, done.err
    return done.out.strip()


def contents(sb: CommandLine, query: str, *arguments: str) -> list[str]:
    """The contents of what a search finds."""
    return [hit["content"] for hit in sb("memory", "search", query, *arguments, "--json").json["items"]]


def error(sb: CommandLine, *arguments: str) -> tuple[int, str]:
    """The exit code and what went wrong, which is one line and perhaps a hint."""
    done = sb("memory", *arguments)
    assert (done.out, len(done.err.splitlines()) <= 2) == ("", True), done.err
    return done.code, done.err.splitlines()[0].removeprefix("sb: error: ")


def test_what_one_process_keeps_the_next_one_finds(sb: CommandLine) -> None:
    record = saved_id(
        sb, "remember", "the limit is 100 requests", "--category", "integration", "--project", "api"
    )
    hits = sb("memory", "search", "request limits", "--json").json["items"]
    assert [(hit["id"], hit["kind"], hit["category"], hit["scope"]) for hit in hits] == [
        (record, "fact", "integration", "project:api")
    ]
    shown = sb("memory", "search", "request limits").out.splitlines()
    assert shown[0].startswith(f"{record}  fact integration  project:api  just now  by operator")
    assert shown[1] == "    the limit is 100 requests"


def test_every_kind_is_kept_with_its_fields_and_found_by_its_words(sb: CommandLine) -> None:
    saved_id(sb, "decide", "use Retry-After", "the server controls the window", "--tag", "http")
    saved_id(sb, "log", "the deployment failed", "--type", "error")
    saved_id(sb, "entity", "RateLimitAPI", "service", "-o", "100 req/15s")
    saved_id(sb, "entity", "RateLimitAPI", "service", "-o", "returns 429")
    by_kind = {
        kind: sb("memory", "search", "window deployment api", "--kind", kind, "--json").json["items"]
        for kind in ("decision", "event", "entity")
    }
    assert by_kind["decision"][0]["details"]["rationale"] == "the server controls the window"
    assert by_kind["decision"][0]["tags"] == ["http"]
    assert by_kind["event"][0]["category"] == "error"
    assert [item["details"]["observations"] for item in by_kind["entity"]] == [["100 req/15s", "returns 429"]]


def test_long_texts_come_by_stdin(sb: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "first line\n" + "words " * 5_000 + "zebra"
    monkeypatch.setattr("sys.stdin", io.StringIO(text + "\n"))
    record = saved_id(sb, "remember", "-")
    assert contents(sb, "first line") == [text]
    shown = sb("memory", "search", "first line").out
    assert shown.startswith(record)
    assert len(shown) < 1_000
    assert shown.rstrip().endswith("…")


def test_an_agent_sees_its_scopes_and_an_operator_everything(sb: CommandLine) -> None:
    saved_id(sb, "remember", "limits of everybody")
    saved_id(sb, "remember", "limits of the project", "--project", "api", "--agent", "ada")
    saved_id(sb, "remember", "limits of ada", "--private", "--agent", "ada", "--project", "api")
    assert set(contents(sb, "limits")) == {"limits of everybody", "limits of the project", "limits of ada"}
    assert contents(sb, "limits", "--scope", "global") == ["limits of everybody"]
    assert contents(sb, "limits", "--agent", "bob") == ["limits of everybody"]
    assert set(contents(sb, "limits", "--agent", "bob", "--project", "api")) == {
        "limits of everybody",
        "limits of the project",
    }
    assert "limits of ada" in contents(sb, "limits", "--agent", "ada", "--project", "api")


def test_only_what_agents_look_at_counts_as_read(sb: CommandLine, home: Path) -> None:
    saved_id(sb, "remember", "the limit is 100")
    sb("memory", "search", "limit")
    database = open_database(home / "brain.db")
    assert database.query("SELECT count(*) FROM broadcasts") == [(0,)]
    sb("memory", "search", "limit", "--agent", "ada")
    assert database.query("SELECT agent, operation FROM broadcasts") == [("ada", "search")]
    database.close()


def test_filters_narrow_a_search(sb: CommandLine) -> None:
    saved_id(sb, "remember", "limits for tests", "--category", "lesson", "--agent", "ada")
    saved_id(sb, "remember", "limits for people", "--category", "convention", "--agent", "bob")
    assert contents(sb, "limits", "--category", "lesson") == ["limits for tests"]
    assert contents(sb, "limits", "--agent-filter", "bob") == ["limits for people"]
    assert contents(sb, "limits", "--since", "1h", "-k", "1", "--kind", "fact") != []
    assert contents(sb, "limits", "--kind", "decision") == []


def test_an_explanation_adds_up_to_the_score(sb: CommandLine) -> None:
    saved_id(sb, "remember", "the limit is 100 requests")
    saved_id(sb, "remember", "cursors page through orders")
    for options in ((), ("--fusion",), ("--benchmark",)):
        (hit, *_) = sb("memory", "search", "limits", "--explain", *options, "--json").json["items"]
        stages = hit["explanation"].values()
        assert sum(stage["value"] * stage["weight"] for stage in stages) == pytest.approx(hit["score"])
        assert " = " in sb("memory", "search", "limits", "--explain", *options).out


@pytest.mark.parametrize("whose", [(), ("--agent", "operator", "--project", "shop")])
def test_what_nothing_is_known_of_finds_nothing_however_little_there_is(
    sb: CommandLine, whose: tuple[str, ...]
) -> None:
    saved_id(sb, "remember", "the orders API allows 100 requests", "--project", "shop")
    saved_id(sb, "decide", "use Retry-After for backoff", "the server knows its window", "--project", "shop")
    for query in ("zebra quantum nonsense", "mitochondria", "who won the 1998 world cup", "??"):
        assert contents(sb, query, *whose) == []
    first, *_ = contents(sb, "waiting between attempts", *whose)  # by what it means: they share no word
    assert first == "use Retry-After for backoff: the server knows its window"


def test_nothing_found_says_what_to_try(sb: CommandLine) -> None:
    saved_id(sb, "remember", "the limit is 100", "--category", "lesson")
    done = sb("memory", "search", "limit", "--category", "lessn")
    assert (done.code, done.out) == (0, "")
    assert 'did you mean "lesson"?' in done.err
    assert "sb memory stats" in done.err


def test_without_an_embedder_words_find_and_that_is_said(
    sb: CommandLine, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sb("init")
    (home / "config.yaml").write_text("memory: {embedder: none}\n", encoding="utf-8")
    saved_id(sb, "remember", "the limit is 100")
    done = sb("memory", "search", "limits")
    assert "the limit is 100" in done.out
    assert "words alone: memory.embedder is none" in done.err
    assert sb("memory", "search", "limits", "--json").json["words_alone"].startswith("words alone")
    assert "words alone" in sb("memory", "stats").out


def test_tidying_makes_the_vectors_that_are_missing(sb: CommandLine, home: Path) -> None:
    sb("init")
    (home / "config.yaml").write_text("memory: {embedder: none}\n", encoding="utf-8")
    saved_id(sb, "remember", "the limit is 100")
    assert "words alone" in sb("memory", "tidy").err
    (home / "config.yaml").write_text("", encoding="utf-8")
    assert sb("memory", "stats", "--json").json["to_embed"] == 1
    assert sb("memory", "tidy").out == "1 record checked, 1 vector made, 0 records left\n"
    assert sb("memory", "stats", "--json").json["to_embed"] == 0
    assert sb("memory", "tidy", "--rebuild", "--json").json["embedded"] == 0
    assert contents(sb, "limit") == ["the limit is 100"]


def test_who_works_in_a_shell_has_housekeeping_done_by_orient(sb: CommandLine, home: Path) -> None:
    saved_id(sb, "remember", "the first fact")
    database = open_database(home / "brain.db")
    brain = Brain("operator", database=database)
    for number in range(60):
        brain.remember(f"fact {number} of the shop")
    assert is_due(brain.space)
    assert len(contents(sb, "fact")) == 10
    assert is_due(brain.space), "who only asks waits for nothing"
    saved_id(sb, "remember", "the last fact")
    assert is_due(brain.space), "nor does who writes"
    for _ in range(10):
        assert sb("memory", "orient", "--agent", "scribe").code == 0
    assert not is_due(brain.space)
    database.close()


def test_what_is_forgotten_is_not_found_until_it_is_recovered(sb: CommandLine) -> None:
    record = saved_id(sb, "remember", "the limit is 100")
    assert sb("memory", "forget", record, "--reason", "wrong").out == f"{record} forgotten\n"
    assert contents(sb, "limit") == []
    assert sb("memory", "recover", record, "--reason", "right after all").code == 0
    assert contents(sb, "limit") == ["the limit is 100"]
    sb("memory", "protect", record, "--reason", "a rule")
    assert error(sb, "forget", record, "--reason", "x") == (
        2,
        f"{record} is protected: lift that first, with sb memory protect ID --lift --reason WHY",
    )
    sb("memory", "protect", record, "--lift", "--reason", "not any more")
    assert sb("memory", "forget", record, "--reason", "x", "--json").json == {
        "id": record,
        "state": "forgotten",
    }


def test_an_operator_may_forget_what_is_private_to_an_agent_and_other_agents_may_not(sb: CommandLine) -> None:
    record = saved_id(sb, "remember", "a secret of ada", "--private", "--agent", "ada")
    assert error(sb, "forget", record, "--reason", "x", "--agent", "bob")[0] == 1
    assert sb("memory", "forget", record, "--reason", "x").code == 0


def test_the_graph_is_a_tree_in_which_each_memory_stands_once(sb: CommandLine) -> None:
    for name in ("gateway", "orders", "billing"):
        saved_id(sb, "entity", name, "service")
    for item, other in (("gateway", "orders"), ("orders", "billing"), ("billing", "gateway")):
        assert sb("memory", "relate", item, "calls", other).code == 0
    shown = sb("memory", "graph", "Gateway", "--depth", "5").out
    assert [shown.count(f"entity {name} ") for name in ("gateway", "orders", "billing")] == [1, 1, 1]
    assert "─ calls → entity orders" in shown
    assert "─ ← calls entity billing" in shown
    tree = sb("memory", "graph", "gateway", "--json").json
    assert {neighbour["memory"]["content"] for neighbour in tree["neighbours"]} == {"orders", "billing"}
    alone = saved_id(sb, "entity", "mail", "service")
    assert "related to nothing" in sb("memory", "graph", alone).err


def test_a_name_that_two_scopes_have_has_to_be_told_apart_by_its_id(sb: CommandLine) -> None:
    first = saved_id(sb, "entity", "Ada", "person", "--project", "one")
    saved_id(sb, "entity", "Ada", "person", "--project", "two")
    code, message = error(sb, "forget", "ada", "--reason", "x")
    assert (code, message) == (2, "2 entities are named 'ada'")
    assert sb("memory", "forget", first, "--reason", "x").code == 0


def test_stats_count_kinds_scopes_and_states(sb: CommandLine) -> None:
    record = saved_id(sb, "remember", "one", "--project", "api")
    saved_id(sb, "decide", "two", "because")
    sb("memory", "forget", record, "--reason", "x")
    counts = sb("memory", "stats", "--json").json
    assert (counts["records"], counts["kinds"], counts["scopes"]) == (1, {"decision": 1}, {"global": 1})
    assert counts["states"] == {"forgotten": 1, "active": 1}
    assert counts["bytes"] > 0
    shown = sb("memory", "stats").out
    assert "decision  1" in shown
    assert "records: 1 active" in shown


def test_a_session_goes_on_over_several_commands(sb: CommandLine) -> None:
    options = ("--agent", "ada", "--session", "monday")
    saved_id(sb, "remember", "it began", "--project", "api", *options)
    saved_id(sb, "remember", "it went on", *options)
    hits = sb("memory", "search", "it began", "--json").json["items"]
    assert {(hit["session"], hit["scope"]) for hit in hits} == {("monday", "project:api")}


@rows(
    "arguments, code, said",
    [
        (("remember", ""), 2, "the memory is empty"),
        (("remember", "  \n"), 2, "the memory is empty"),
        (("decide", "x", ""), 2, "the rationale is empty"),
        (("remember", "x", "--scope", "Team"), 2, "'Team' is not a scope"),
        (("remember", "x", "--project", "a b"), 2, "'project:a b' is not a scope"),
        (("remember", "x", "--project", "a", "--scope", "global"), 2, "name a project or a scope, not both"),
        (("remember", "x", "--category", "misc"), 2, "category is 'misc', must be one of convention"),
        (("remember", "x", "--confidence", "1.5"), 2, "confidence is 1.5"),
        (("remember", "\udcff"), 2, "content is not valid text"),
        (("log", "x", "--type", "misc"), 2, "event_type is 'misc'"),
        (("entity", "x", "misc"), 2, "entity_type is 'misc'"),
        (("search", "x", "--kind", "thought"), 2, "'thought' is not a memory kind"),
        (("search", "x", "--since", "yesterday"), 2, "'yesterday' is not a duration"),
        (("search", "x", "-k", "0"), 2, "-k: must be a whole number from 1 to 100, not '0'"),
        (("graph", "mem_none"), 1, "no memory 'mem_none'"),
        (("forget", "mem_none", "--reason", "x"), 1, "no memory 'mem_none'"),
        (("forget", "mem_none"), 2, "this needs a reason"),
        (("relate", "mem_1", "calls", "mem_2"), 1, "no memory 'mem_1'"),
    ],
)
def test_bad_input_is_one_clear_line_and_changes_nothing(
    sb: CommandLine, arguments: tuple[str, ...], code: int, said: str
) -> None:
    sb("init")
    found_code, message = error(sb, *arguments)
    assert (found_code, message[: len(said)]) == (code, said)
    assert sb("memory", "stats", "--json").json["states"] == {}


def test_reading_needs_a_database_and_writing_makes_one(sb: CommandLine, home: Path) -> None:
    assert error(sb, "search", "x")[0] == 3
    assert not (home / "brain.db").exists()
    saved_id(sb, "remember", "x")
    assert (home / "brain.db").exists()


def test_a_database_of_an_older_schema_is_refused_with_the_way_out(sb: CommandLine, home: Path) -> None:
    sb("init")
    database = open_database(home / "brain.db")
    database.query("PRAGMA user_version = 6")
    database.close()
    for arguments in (("remember", "x"), ("search", "x"), ("stats",)):
        done = sb("memory", *arguments)
        assert done.code == 3
        assert "sb migrate" in done.err


def test_hostile_text_does_nothing_on_a_terminal_and_forges_no_line(sb: CommandLine) -> None:
    record = saved_id(sb, "remember", HOSTILE, "--tag", "[red]")
    saved_id(sb, "entity", "\x1b[2Jclear [@click=app.quit]", "service", "--agent", "\x1b[31mada")
    sb(
        "memory",
        "relate",
        record,
        "\x1b[5mblinks\n",
        sb("memory", "search", "clear", "--json").json["items"][0]["id"],
    )
    for arguments in (("search", "red markup clear"), ("graph", record), ("stats",)):
        shown = sb("memory", *arguments)
        assert not set("\x1b\x07\r\u202e") & set(shown.out + shown.err)
        assert not any(line.startswith("mem_fake") for line in shown.out.splitlines())
    assert contents(sb, "red markup")[0] == HOSTILE  # JSON has it as it is


def test_the_words_that_were_asked_for_are_set_off_on_a_terminal(home: Path, sb: CommandLine) -> None:
    environment = {**os.environ, "SB_HOME": str(home), "TERM": "xterm", "COLUMNS": "60"}
    environment.pop("NO_COLOR", None)
    command = [sys.executable, "-m", "sb", "memory"]
    text = "the limits [bold]are[/bold] 100 requests " + "and so on " * 20
    assert sb("memory", "remember", text).code == 0
    shown = on_terminal([*command, "search", "limit"], environment)
    assert "the \x1b[1mlimits\x1b[0m [bold]are[/bold]" in shown
    assert all(len(line) < 90 for line in shown.splitlines())
    plain = on_terminal([*command, "search", "limit"], {**environment, "NO_COLOR": "1"})
    assert "the limits [bold]are" in plain


def on_terminal(command: list[str], environment: dict[str, str]) -> str:
    """Output of a command on a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, env=environment, stdout=theirs, stderr=subprocess.DEVNULL):
        os.close(theirs)
        shown = b""
        try:
            while part := os.read(ours, 4096):
                shown += part
        except OSError:  # how a terminal says that nobody writes to it any more
            return shown.decode()
    return shown.decode()


def test_the_shell_completes_scopes_kinds_and_categories(
    home: Path, sb: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def completed(line: str) -> list[str]:
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(line.split()) - 1))
        done = sb()
        assert done.err == ""
        return done.out.split()

    saved_id(sb, "remember", "x", "--project", "api")
    monkeypatch.setattr(sys, "argv", ["sb"])
    monkeypatch.setenv("_SB_COMPLETE", "complete_bash")
    assert completed("sb memory search x --scope pro") == ["project:api"]
    assert completed("sb memory search x --kind dec") == ["decision"]
    assert completed("sb memory remember x --category less") == ["lesson"]
    monkeypatch.setenv("SB_HOME", str(home / "none"))
    assert completed("sb memory search x --scope pro") == []


def test_json_of_every_command_is_one_document(sb: CommandLine) -> None:
    memory = json.loads(sb("memory", "remember", "x", "--json").out)
    assert memory["created_at"].endswith("Z")
    assert memory["content"] == "x"
    for arguments in (("search", "x"), ("graph", memory["id"]), ("stats",)):
        assert sb("memory", *arguments, "--json").json
    assert sb("memory", "graph", "mem_none", "--json").json["error"]["kind"] == "not_found"


def test_erasing_removes_a_memory_from_the_files_and_says_what_keeps_it(sb: CommandLine, home: Path) -> None:
    record = saved_id(sb, "remember", "zygomorphic quagga")
    assert sb("backup").code == 0
    assert error(sb, "erase", record) == (2, "this needs a reason")
    refused = sb("memory", "erase", record, "--reason", "asked for")
    assert refused.code == 2
    assert "pass --yes" in refused.err
    done = sb("memory", "erase", record, "--reason", "asked for", "--yes")
    assert (done.code, done.out) == (0, f"{record} erased\n")
    assert "is older, and still has it" in done.err
    files = b"".join(path.read_bytes() for path in home.glob("brain.db*"))
    assert b"quagga" not in files
    assert error(sb, "recover", record, "--reason", "x") == (1, f"memory {record} is erased")
    again = sb("memory", "erase", record, "--reason", "asked for", "--yes", "--json").json
    assert (again["ids"], again["held_back"]) == ([], False)


def test_gate_says_what_is_not_saved_and_what_is_quarantined_and_compares_neither(
    home: Path, sb: CommandLine
) -> None:
    sb("memory", "remember", "The lamp is lit at six.")
    (home / "config.yaml").write_text(
        "memory: {scopes: {'global': {personal_data: drop}}}\n", encoding="utf-8"
    )
    dropped = sb("memory", "gate", "Call Ada at +1 415 555 0199.", "--scope", "global")
    assert dropped.out.splitlines() == [
        "not saved",
        "reason: personal data (phone), which global does not keep",
    ]
    outcome = sb("memory", "gate", "The queue drains at night.", "--source", "tool-output")
    assert outcome.out.splitlines() == [
        "saved, and quarantined until a person releases it",
        "reason: tool-output is an untrusted source",
    ]
    assert (
        sb("memory", "gate", "The queue drains at night.").out.splitlines()[0] == "saved as a separate memory"
    )
