"""Stacks on the command line: made, looked into, carried in files and kept in two databases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sb.commands.stacks import kinds

from sb.cli import load
from sb.stack.search import SEARCHED
from tests.conftest import CommandLine

HOSTILE = "\x1b]0;owned\x07[red]\u202eeve\nwork  active  9"


def keep(sb: CommandLine, text: str, *arguments: str) -> str:
    """The id of a note."""
    done = sb("entity", "note", text, "--agent", "ada", *arguments)
    assert done.code == 0, done.err
    return done.out.strip()


@pytest.fixture
def work(sb: CommandLine) -> str:
    """A stack of two notes, one of which is about caches, beside one in the default stack."""
    assert sb("stack", "create", "work").code == 0
    keep(sb, "the office is in Bonn")
    keep(sb, "caches expire after an hour", "--stack", "work", "--context", "project:shop")
    keep(sb, "deploys are blue-green", "--stack", "work")
    return "work"


def notes(sb: CommandLine, stack: str = "work", *database: str) -> set[str]:
    """The texts of a stack's notes."""
    dumped = json.loads(sb(*database, "stack", "dump", stack, "--format", "json").out)
    return {note["content"] for note in dumped["notes"]}


def test_stacks_are_listed_with_what_is_in_them(sb: CommandLine, work: str) -> None:
    found = sb("stack", "list", "--json").json["items"]
    assert [(item["stack_id"], item["state"], item["kinds"]) for item in found] == [
        ("default", "active", {"note": 1}),
        ("work", "active", {"note": 2}),
    ]
    assert sb("stack", "list").out.splitlines()[2].split() == ["work", "active", "2", "0", "0"]


def test_one_is_shown_with_its_components_and_what_waits(sb: CommandLine, work: str, home: Path) -> None:
    shown = sb("stack", "show", work)
    assert "memories: 2 (2 note)\n" in shown.out
    assert f"file: {home / 'brain.db'}" in shown.out
    document = sb("stack", "show", work, "--json").json
    assert document["components"][:2] == ["embedding", "forgetting"]
    assert (document["enforce_provenance"], document["changes_to_sync"]) == (True, 2)


def test_what_is_private_is_counted_for_its_owner_alone(sb: CommandLine) -> None:
    sb("memory", "remember", "mine alone", "--private", "--agent", "ada")
    assert [item["memories"] for item in sb("stack", "list", "--json").json["items"]] == [1]
    assert sb("stack", "show", "default", "--agent", "bob", "--json").json["memories"] == 0
    assert sb("stack", "search", "default", "mine").out == ""
    assert "mine alone" in sb("stack", "search", "default", "mine", "--agent", "ada").out


@pytest.mark.parametrize(
    "look",
    [
        ("stack", "search", "work", "caches"),
        ("stack", "load", "work"),
        ("stack", "dump", "work"),
        ("suggestions", "list", "--stack", "work"),
        ("entity", "search", "caches", "--stack", "work"),
        ("entity", "load", "--stack", "work"),
        ("entity", "status", "--stack", "work"),
        ("trust", "list", "--stack", "work"),
    ],
    ids=" ".join,
)
def test_a_stack_of_nobody_stays_so_whoever_looks_into_it(sb: CommandLine, look: tuple[str, ...]) -> None:
    sb("stack", "create", "work")
    done = sb(*look, "--agent", "ada")
    assert done.code == 0, done.err
    assert sb("stack", "show", "work", "--json").json["state"] == "initializing"


def test_only_the_named_stack_is_searched_and_loaded(sb: CommandLine, work: str) -> None:
    assert [item["content"] for item in sb("stack", "search", work, "caches", "--json").json["items"]] == [
        "caches expire after an hour"
    ]
    assert sb("stack", "search", "default", "caches", "--json").json["items"] == []
    assert sb("stack", "search", work, "caches", "--context", "elsewhere", "--json").json["items"] == []
    loaded = sb("stack", "load", work, "--json").json
    assert {note["content"] for note in loaded["notes"]} == {
        "caches expire after an hour",
        "deploys are blue-green",
    }
    assert "    the office is in Bonn" in sb("stack", "load", "default").out


def test_a_dump_is_a_document_or_json(sb: CommandLine, work: str) -> None:
    document = sb("stack", "dump", work).out
    assert document.startswith("# Memory Dump for work\n")
    assert "caches expire after an hour" in document
    assert notes(sb) == {"caches expire after an hour", "deploys are blue-green"}
    assert sb("stack", "dump", work, "--format", "yaml").code == 2


def test_a_dump_in_json_has_every_character_and_a_document_none_that_commands_a_terminal(
    sb: CommandLine, work: str
) -> None:
    sb("entity", "note", "left \u202eto right\u200b", "--stack", work)
    assert "left \u202eto right\u200b" in notes(sb, work)
    assert "left to right" in sb("stack", "dump", work).out


def test_what_was_forgotten_and_captured_is_dumped_if_asked_for(sb: CommandLine, work: str) -> None:
    sb("entity", "raw", "as it came", "--agent", "ada", "--stack", "work")
    uid = keep(sb, "the key is under the mat", "--stack", "work")
    assert sb("memory", "forget", uid, "--reason", "not any more").code == 0
    assert "under the mat" not in sb("stack", "dump", work).out
    assert "under the mat" in sb("stack", "dump", work, "--forgotten").out
    assert "as it came" in sb("stack", "dump", work).out
    assert "as it came" not in sb("stack", "dump", work, "--no-raw").out


def test_maintenance_says_what_each_component_did(sb: CommandLine, work: str) -> None:
    done = sb("stack", "maintain", work)
    assert (done.code, done.err) == (0, "maintaining work…\n")
    assert {"embedding", "forgetting", "suggestions"} <= {
        line.partition(":")[0] for line in done.out.splitlines()
    }
    assert "swept" in sb("stack", "maintain", work, "--json").json["forgetting"]


def test_a_stack_goes_into_a_file_that_opens_by_itself(sb: CommandLine, work: str, tmp_path: Path) -> None:
    file = tmp_path / "work.db"
    done = sb("stack", "export", work, str(file))
    assert (done.code, str(file) in done.out) == (0, True)
    assert notes(sb, "work", "--db", str(file)) == notes(sb)
    assert [item["stack_id"] for item in sb("--db", str(file), "stack", "list", "--json").json["items"]] == [
        "work"
    ]
    again = sb("stack", "export", work, str(file))
    assert (again.code, "already exists" in again.err) == (2, True)


@pytest.mark.parametrize("form", ["database", "json"])
def test_what_was_exported_comes_into_another_home(
    sb: CommandLine, work: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    file, before = tmp_path / "work.file", notes(sb)
    assert sb("stack", "export", work, str(file), "--format", form).code == 0
    monkeypatch.setenv("SB_HOME", str(tmp_path / "other"))
    done = sb("stack", "import", str(file))
    assert (done.code, done.out) == (0, "2 memories imported into stack work\n"), done.err
    assert notes(sb) == set(), "nobody of this home sealed it"
    sb("quarantine", "release", "--all", "--reason", "mine", "--yes")
    assert notes(sb) == before


def test_a_dump_may_get_another_name_in_another_home(
    sb: CommandLine, work: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, before = tmp_path / "work.json", notes(sb)
    assert sb("stack", "export", work, str(file), "--format", "json").code == 0
    again = sb("stack", "import", str(file))
    assert (again.code, "belongs to a core" in again.err) == (2, True)
    monkeypatch.setenv("SB_HOME", str(tmp_path / "other"))
    assert sb("stack", "import", str(file), "--stack", "copy").code == 0
    sb("quarantine", "release", "--all", "--reason", "mine", "--yes")
    assert notes(sb, "copy") == before


@pytest.mark.parametrize("content", ["", "{", "[]", '{"notes": []}', "# Memory Dump"])
def test_a_file_that_is_none_takes_nothing_in(sb: CommandLine, tmp_path: Path, content: str) -> None:
    file = tmp_path / "file"
    file.write_text(content, "utf-8")
    assert sb("init").code == 0
    refused = sb("stack", "import", str(file))
    assert (refused.code, refused.out) == (2, ""), refused.err
    assert sb("stack", "list", "--json").json == {"items": []}
    assert sb("stack", "import", str(tmp_path / "missing")).code == 2


def test_two_databases_are_kept_in_step(sb: CommandLine, work: str, tmp_path: Path) -> None:
    file = str(tmp_path / "work.db")
    sb("stack", "export", work, file)
    keep(sb, "alarms go to the chat", "--stack", "work")
    assert (
        sb("--db", file, "entity", "note", "the shop closes at six", "--agent", "ada", "--stack", "work").code
        == 0
    )
    done = sb("stack", "sync", work, file)
    assert (done.code, done.out) == (0, "1 change received, 1 sent\n"), done.err
    assert notes(sb) == notes(sb, "work", "--db", file)
    assert {"the shop closes at six", "alarms go to the chat"} < notes(sb)
    assert sb("stack", "sync", work, file, "--json").json["pulled"] == 0


def test_what_was_changed_on_both_sides_waits_for_a_choice(
    sb: CommandLine, work: str, tmp_path: Path
) -> None:
    file = str(tmp_path / "work.db")
    (source,) = sb("stack", "search", work, "caches", "--json").json["items"]
    belief = sb(
        "entity", "belief", "caches expire too late", "--from", f"note:{source['memory_id']}", "--stack", "work", "--agent", "ada"
    ).out.strip()  # fmt: skip
    drive = (
        "entity",
        "drive",
        "curiosity",
        "--stack",
        "work",
        "--agent",
        "ada",
        "--from",
        f"belief:{belief}",
    )
    assert sb(*drive, "--intensity", "0.5").code == 0
    sb("stack", "export", work, file)
    assert sb(*drive, "--intensity", "0.9").code == 0
    assert sb("--db", file, *drive, "--intensity", "0.1").code == 0
    done = sb("stack", "sync", work, file)
    assert (done.code, f"sb stack conflicts {work}" in done.err) == (1, True), done.err
    (conflict,) = sb("stack", "conflicts", work, "--json").json["items"]
    assert "fields.intensity" in conflict["differing"]
    listed = sb("stack", "conflicts", work)
    assert f"{conflict['id']}  drive {conflict['record_id']}: intensity" in listed.out
    assert f"sb stack resolve work {conflict['id']} --keep" in listed.err
    assert sb("stack", "resolve", work, conflict["id"], "--keep", "local").code == 2
    assert sb("stack", "resolve", work, conflict["id"], "--keep", "mine", "--reason", "?").code == 2
    outcome = sb(
        "stack",
        "resolve",
        work,
        conflict["id"],
        "--keep",
        "remote",
        "--reason",
        "it was late",
        "--as",
        "grace",
    )
    assert outcome.code == 0
    assert outcome.out.startswith("Kept remote: ")
    assert outcome.out.endswith(f"({conflict['record_id']}, by grace)\n")
    history = sb("memory", "history", conflict["record_id"]).out
    assert "keep remote by grace" in history
    assert ": it was late" in history
    assert sb("stack", "sync", work, file).code == 0
    (drives,) = (json.loads(sb("stack", "dump", work, "--format", "json").out)["drives"],)
    assert [item["intensity"] for item in drives] == [0.1]


def test_a_database_that_is_not_there_is_said_to_be(sb: CommandLine, work: str, tmp_path: Path) -> None:
    offline = sb("stack", "sync", work, str(tmp_path / "nowhere.db"))
    assert (offline.code, "Offline" in offline.err) == (1, True)
    assert sb("stack", "conflicts", work).err == "no conflicts\n"
    missing = sb("stack", "resolve", work, "nothing", "--keep", "local", "--reason", "?", "--json")
    assert (missing.code, missing.json["error"]["kind"]) == (1, "not_found")


def test_a_slip_of_the_keyboard_names_the_nearest(sb: CommandLine, work: str) -> None:
    for words in (["show"], ["load"], ["dump"], ["maintain"], ["conflicts"]):
        slip = sb("stack", *words, "wrok")
        assert (slip.code, 'did you mean "work"' in slip.err) == (1, True), words
    assert sb("stack", "create", "work").code == 2


def test_nothing_is_there_yet(sb: CommandLine) -> None:
    assert sb("stack", "list").code == 3
    assert sb("init").code == 0
    empty = sb("stack", "list")
    assert (empty.code, empty.out, "sb stack create" in empty.err) == (0, "", True)


def test_what_is_in_a_stack_does_nothing_to_a_terminal(sb: CommandLine) -> None:
    keep(sb, HOSTILE)
    for words in (
        ["list"],
        ["show", "default"],
        ["search", "default", "eve"],
        ["load", "default"],
        ["dump", "default"],
    ):
        shown = sb("stack", *words)
        assert not set("\x1b\x07\u202e") & set(shown.out + shown.err), words


def test_the_shell_completes_stacks_kinds_and_formats(work: str) -> None:
    commands = load("stack").commands
    completed = [
        [item.value for item in parameter.shell_complete(None, begun)]
        for command, name, begun in (
            ("show", "stack", "w"),
            ("search", "kind", "ep"),
            ("export", "format_", "j"),
        )
        for parameter in commands[command].params
        if parameter.name == name
    ]
    assert completed == [["work"], ["episode", "epoch"], ["json"]]
    assert set(kinds("")) == set(SEARCHED)
