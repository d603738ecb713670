"""Memories from other programs, as a person brings them."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sb.commands.memory_files import PROGRAMS

from sb.config import current_config
from sb.memory import Brain
from sb.memory.foreign.record import ForeignMemory, moment
from sb.memory.foreign.taking_in import SOURCES
from sb.memory.foreign.texts import LONGEST_LINE
from sb.memory.operator_view import Overseer
from sb.store import driver
from tests.conftest import CommandLine
from tests.rows import rows

# The columns that matter of brainctl 2.8 (init_schema.sql), kernle 0.15 (schema.py) and mem0 2.2 (storage.py).
BRAINCTL = """
CREATE TABLE memories (id INTEGER PRIMARY KEY, agent_id TEXT, category TEXT, scope TEXT, content TEXT, tags TEXT,
    created_at TEXT, retired_at TEXT, retracted_at TEXT);
CREATE TABLE decisions (id INTEGER PRIMARY KEY, title TEXT, rationale TEXT, project TEXT, reversed_at TEXT, created_at TEXT);
CREATE TABLE events (id INTEGER PRIMARY KEY, event_type TEXT, summary TEXT, project TEXT, created_at TEXT);
CREATE TABLE entities (id INTEGER PRIMARY KEY, name TEXT, entity_type TEXT, observations TEXT, scope TEXT,
    created_at TEXT, retired_at TEXT);
INSERT INTO memories VALUES (1, 'a', 'preference', 'project:shop', 'Ada likes tea', '["drinks"]', '2026-01-02 03:04:05', NULL, NULL),
    (2, 'a', 'lesson', 'global', 'Retired long ago', NULL, '2026-01-02 03:04:05', '2026-02-01', NULL);
INSERT INTO decisions VALUES (1, 'Refund by hand', 'The provider is down', 'shop', NULL, '2026-01-03 00:00:00');
INSERT INTO events VALUES (1, 'error', 'The refund failed', 'shop', '2026-01-03 00:00:00');
INSERT INTO entities VALUES (1, 'vault', 'service', '["It holds keys."]', 'global', '2026-01-03 00:00:00', NULL);
"""
KERNLE = """
CREATE TABLE episodes (id TEXT PRIMARY KEY, objective TEXT, outcome TEXT, lessons TEXT, tags TEXT, created_at TEXT);
CREATE TABLE beliefs (id TEXT PRIMARY KEY, statement TEXT, created_at TEXT);
CREATE TABLE agent_values (id TEXT PRIMARY KEY, name TEXT, statement TEXT, created_at TEXT);
CREATE TABLE goals (id TEXT PRIMARY KEY, title TEXT, description TEXT, created_at TEXT);
CREATE TABLE notes (id TEXT PRIMARY KEY, content TEXT, tags TEXT, created_at TEXT);
INSERT INTO episodes VALUES ('e1', 'Ship it', 'Shipped late', '["Ask earlier"]', NULL, '2026-01-02T03:04:05+00:00');
INSERT INTO beliefs VALUES ('b1', 'Small commits are safer', '2026-01-02T03:04:05+00:00');
INSERT INTO agent_values VALUES ('v1', 'Honesty', 'Say what is so', '2026-01-02T03:04:05+00:00');
INSERT INTO goals VALUES ('g1', 'Learn Rust', NULL, '2026-01-02T03:04:05+00:00');
INSERT INTO notes VALUES ('n1', 'The vault is blue', '["vault"]', '2026-01-02T03:04:05+00:00');
"""
MEM0 = """
CREATE TABLE history (id TEXT PRIMARY KEY, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT,
    created_at TEXT, updated_at TEXT, is_deleted INTEGER);
INSERT INTO history VALUES ('h1', 'm1', NULL, 'Ada likes coffee', 'ADD', '2026-01-01T00:00:00', NULL, 0),
    ('h2', 'm1', 'Ada likes coffee', 'Ada likes tea', 'UPDATE', '2026-01-01T00:00:00', '2026-01-02T00:00:00', 0),
    ('h3', 'm2', NULL, 'Gone', 'ADD', '2026-01-01T00:00:00', NULL, 0),
    ('h4', 'm2', 'Gone', NULL, 'DELETE', '2026-01-01T00:00:00', NULL, 1);
"""
GRAPH = """{"type": "entity", "name": "vault", "entityType": "service", "observations": ["It holds keys."]}
{"type": "relation", "from": "ada", "to": "vault", "relationType": "looks_after"}
"""
NOTE = """---
title: Tea
tags: [drink]
---
# Tea
- [method] Steep three minutes #brew
- relates_to [[Water]]
"""
LIST = [
    {"id": "1", "memory": "Ada likes tea", "created_at": "2026-01-02T03:04:05Z", "metadata": {"category": "preference"}},
    {"id": "2", "memory": "Grace lives in Arlington"},
]  # fmt: skip


def database(script: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.touch()
        with closing(driver.connect(path)) as connection:
            connection.executescript(script)

    return write


def text(content: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.write_text(content, encoding="utf-8")

    return write


# What each program's file holds, and the first lines of what comes of it.
FILES: dict[str, tuple[str, str, Callable[[Path], None], set[str]]] = {
    "brainctl": ("brainctl", "brain.db", database(BRAINCTL), {"Ada likes tea", "Refund by hand: The provider is down", "The refund failed", "vault: It holds keys."}),
    "kernle": (
        "kernle",
        "memory.db",
        database(KERNLE),
        {"Ship it: Shipped late", "Small commits are safer", "Honesty: Say what is so", "Learn Rust", "The vault is blue"},
    ),
    "mem0 database": ("mem0", "history.db", database(MEM0), {"Ada likes tea"}),
    "mem0 export": ("mem0", "m.json", text(json.dumps({"results": LIST})), {"Ada likes tea", "Grace lives in Arlington"}),
    "json lines": ("json", "m.jsonl", text("\n".join(map(json.dumps, LIST))), {"Ada likes tea", "Grace lives in Arlington"}),
    "json texts": ("json", "m.json", text('["Ada likes tea", "The vault is blue"]'), {"Ada likes tea", "The vault is blue"}),
    "csv": ("csv", "m.csv", text("content,tags\nThe vault is blue,a b\n"), {"The vault is blue"}),
    "markdown": ("markdown", "m.md", text("# Vault\n\nThe vault\nis blue.\n\n- Ada has the key\n"), {"The vault is blue.", "Ada has the key"}),
    "claude-memory": ("claude-memory", "memory.jsonl", text(GRAPH), {"vault: It holds keys.", "ada looks after vault"}),
    "basic-memory": ("basic-memory", "tea.md", text(NOTE), {"Tea: method: Steep three minutes", "Tea relates to Water"}),
}  # fmt: skip


def titles() -> set[str]:
    """The first lines of all that is kept, in quarantine or not."""
    with Overseer(config=current_config()) as brain:
        rows = brain.database.query("SELECT text FROM records WHERE state IN ('active', 'quarantined')")
        return {str(text).partition("\n")[0] for (text,) in rows}


@pytest.fixture
def prepared(sb: CommandLine, home: Path) -> CommandLine:
    assert sb("init").code == 0
    return sb


@pytest.mark.parametrize("name", FILES)
def test_every_program_is_read_once_and_into_quarantine(
    name: str, prepared: CommandLine, tmp_path: Path
) -> None:
    source, file, write, expected = FILES[name]
    path = tmp_path / file
    write(path)
    tried = prepared("memory", "import", str(path), "--from", source, "--dry-run", "--json").json
    assert (tried["added"], titles()) == (len(expected), set())
    done = prepared("memory", "import", str(path), "--from", source, "--json").json
    assert (done["added"], done["quarantined"], done["left_out"]) == (len(expected), len(expected), 0)
    assert titles() == expected
    again = prepared("memory", "import", str(path), "--from", source, "--json").json
    assert (again["added"], again["same"]) == (0, len(expected))
    with Brain("reader", config=current_config()) as brain:
        assert brain.search(" ".join(expected)) == []


def test_what_is_trusted_is_found_with_its_time_project_and_program(
    prepared: CommandLine, tmp_path: Path
) -> None:
    path = tmp_path / "brain.db"
    database(BRAINCTL)(path)
    assert prepared("memory", "import", str(path), "--from", "brainctl", "--trusted").code == 0
    with Brain("reader", config=current_config()) as brain:
        hit = brain.search("tea", project="shop")[0]
        assert (hit.scope, hit.category, hit.tags) == ("project:shop", "preference", ("drinks",))
        assert hit.happened_at == moment("2026-01-02T03:04:05Z").timestamp()  # type: ignore[union-attr]
        assert hit.agent_id == "imported"


@pytest.mark.parametrize("nothing", [" ", "", None])
def test_entries_that_say_nothing_are_left_out_with_the_reason(
    nothing: str | None, prepared: CommandLine, tmp_path: Path
) -> None:
    path = tmp_path / "m.json"
    entries = [{"id": "x", "memory": nothing}, {"id": "y", "memory": "Ada likes tea"}]
    path.write_text(json.dumps(entries), "utf-8")
    done = prepared("memory", "import", str(path), "--from", "json")
    assert done.code == 1
    assert "1 new (1 fact), 0 already here, 1 left out" in done.out
    assert "left out x: it says nothing" in done.out


@rows(
    "file, source, content, said",
    [
        ("m.json", "json", b'["a"', "no JSON"),
        ("m.json", "json", b"[" * 100_000, "m.json"),
        ("m.json", "json", b"3", "neither a list nor an object"),
        ("m.json", "json", b"[[]]", "entry 1 is neither a text nor an object"),
        ("m.json", "json", b'[{"title": "x"}]', "entry 1 has no text"),
        ("m.jsonl", "json", b'{"memory": "a"}\n{', "line 2: no JSON"),
        ("m.json", "json", b"\xff\xfe\x00", "is not UTF-8"),
        ("m.csv", "csv", b"name\nx\n", "entry 2 has no text"),
        ("m.db", "brainctl", b"no database at all, but long enough to look", "m.db"),
        ("m.md", "basic-memory", b"---\na: [\n---\n", "its header is no YAML"),
        ("m.md", "basic-memory", b"---\na: &a [x]\ntitle: [*a, *a]\n---\n", "aliases (*) are not used here"),
        ("m.md", "basic-memory", b"---\ntitle: " + b"[" * 20_000 + b"\n---\n", "nested too deeply"),
        ("m.md", "basic-memory", b"---\ntitle: 2026-13-41\n---\n", "its header is no YAML"),
        ("m.md", "basic-memory", b"---\nx: " + b"a" * 70_000 + b"\n---\n", "longer than 64 KiB"),
        ("m.jsonl", "json", b'"' + b"a" * (LONGEST_LINE + 1) + b'"', "line 1 is longer than 16 MiB"),
        ("m.jsonl", "claude-memory", b"[]\n", "line 1 is no object"),
        ("m.json", "jsn", b"[]", "no importer 'jsn' (did you mean \"json\"?)"),
    ],
)
def test_a_file_that_is_none_is_refused_in_one_line(
    file: str, source: str, content: bytes, said: str, prepared: CommandLine, tmp_path: Path
) -> None:
    path = tmp_path / file
    path.write_bytes(content)
    refused = prepared("memory", "import", str(path), "--from", source)
    assert (refused.code, refused.out) == (2, "")
    assert said in refused.err
    assert "Traceback" not in refused.err
    assert titles() == set()


@pytest.mark.parametrize("option", ["--dry-run", "--trusted", "--agent=ada", "--verify-only", "--embed"])
def test_an_option_of_the_other_kind_of_import_is_refused_and_nothing_comes(
    option: str, prepared: CommandLine, tmp_path: Path
) -> None:
    path = tmp_path / "m.json"
    path.write_text('["Ada likes tea"]', "utf-8")
    bundle = str(tmp_path / "b.sbmem")
    prepared("memory", "export", bundle)
    more = ["--from", "json"] if option in ("--verify-only", "--embed") else []
    refused = prepared("memory", "import", str(path) if more else bundle, *more, option)
    assert (refused.code, option.split("=", maxsplit=1)[0] in refused.err) == (2, True)
    assert titles() == set()


def test_the_command_line_completes_the_programs_that_there_are() -> None:
    assert PROGRAMS == SOURCES


def test_a_missing_file_is_named(prepared: CommandLine) -> None:
    assert "no such file" in prepared("memory", "import", "nowhere.json", "--from", "json").err


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (
            "CREATE VIEW memories AS WITH RECURSIVE t(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM t) "
            + "SELECT id AS rowid, id, 'x' AS content FROM t",
            "memories is no plain table",
        ),
        ("CREATE VIRTUAL TABLE memories USING fts5(id, content)", "memories is no plain table"),
        (
            "CREATE TABLE memories (id INTEGER PRIMARY KEY, content TEXT, tags AS (hex(zeroblob(400000000))))",
            "memories.tags is computed",
        ),
        ("CREATE TABLE memories (id INTEGER PRIMARY KEY)", "its table memories has no content"),
    ],
    ids=["view", "virtual", "computed", "other program"],
)
def test_a_database_runs_nothing_that_its_author_wrote(
    script: str, said: str, prepared: CommandLine, tmp_path: Path
) -> None:
    database(script)(tmp_path / "m.db")
    refused = prepared("memory", "import", str(tmp_path / "m.db"), "--from", "brainctl")
    assert (refused.code, titles()) == (2, set())
    assert said in refused.err


def test_odd_cells_are_taken_as_texts(prepared: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    database(BRAINCTL)(path)
    with closing(driver.connect(path)) as connection:
        rows = [
            (b"\x00\xff", None),
            (5.5, 3),
            ("deep", "[" * 50_000),
            ("object", '{"a": 1}'),
            ("late", 9e999),
        ]
        sql = "INSERT INTO memories (content, tags, created_at) VALUES (?, ?, ?)"
        connection.executemany(sql, [(content, tags, 1e300) for content, tags in rows])
    done = prepared("memory", "import", str(path), "--from", "brainctl", "--json").json
    assert (done["read"], done["added"]) == (9, 9)


def test_a_folder_is_read_no_further_than_itself(prepared: CommandLine, tmp_path: Path) -> None:
    secret, folder = tmp_path / "secret.md", tmp_path / "notes"
    secret.write_text("- The door code is 4711", "utf-8")
    (folder / "named.md").mkdir(parents=True)
    (folder / "a.md").write_text("- Ada likes tea", "utf-8")
    command = ("memory", "import", str(folder), "--from", "markdown")
    (folder / "link.md").symlink_to(secret)
    assert "links to a file elsewhere" in prepared(*command).err
    (folder / "link.md").unlink()
    os.mkfifo(folder / "pipe.md")
    assert "is no regular file" in prepared(*command).err
    assert titles() == set()
    (folder / "pipe.md").unlink()
    assert prepared(*command).code == 0
    assert titles() == {"Ada likes tea"}


@pytest.mark.parametrize(("file", "source"), [("m.json", "json"), ("m.csv", "csv"), ("m.db", "brainctl")])
def test_a_pipe_is_refused_and_not_waited_for(
    file: str, source: str, prepared: CommandLine, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / file)
    refused = prepared("memory", "import", str(tmp_path / file), "--from", source)
    assert (refused.code, "is no regular file" in refused.err) == (2, True)


def test_files_that_count_from_one_do_not_hide_each_other(prepared: CommandLine, tmp_path: Path) -> None:
    for name, item in [("a.csv", "Ada likes tea"), ("b.csv", "The vault is blue")]:
        (tmp_path / name).write_text(f"id,content\n1,{item}\n", "utf-8")
        assert (
            prepared("memory", "import", str(tmp_path / name), "--from", "csv", "--json").json["added"] == 1
        )
    assert titles() == {"Ada likes tea", "The vault is blue"}


def test_secrets_are_masked_on_the_way_in(prepared: CommandLine, tmp_path: Path) -> None:
    key = "sk-ant-api03-" + "a" * 93 + "AA"
    path = tmp_path / "m.json"
    path.write_text(json.dumps([f"The key is {key}"]), "utf-8")
    done = prepared("memory", "import", str(path), "--from", "json", "--trusted", "--json")
    assert done.json["masked"]
    assert not [title for title in titles() if key in title]


# `sb`, whose import says how much it has read, and goes on once its stdin has ended.
WAITS = """
import runpy, sys
from sb.memory.foreign import taking_in
take_in = taking_in.take_in
wait = lambda done: (print(done, flush=True), sys.stdin.read())
taking_in.take_in = lambda *given, **more: take_in(*given, **more | {"progress": wait})
runpy.run_module("sb", run_name="__main__", alter_sys=True)
"""


def test_an_import_that_was_killed_goes_on_where_it_was(
    prepared: CommandLine, tmp_path: Path, home: Path
) -> None:
    path = tmp_path / "m.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["content"])
        rows.writerows([f"Fact number {number} of many."] for number in range(1_200))

    def record_count() -> int:
        with closing(driver.connect(home / "brain.db", read_only=True)) as connection:
            return int(connection.execute("SELECT count(*) FROM records").fetchone()[0])

    command = [sys.executable, "-c", WAITS, "memory", "import", str(path), "--from", "csv", "--trusted"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"500\n"
        process.send_signal(signal.SIGKILL)
    before = record_count()
    assert (process.returncode, before) == (-signal.SIGKILL, 500)
    done = prepared("memory", "import", str(path), "--from", "csv", "--trusted", "--json").json
    assert (done["added"], done["same"]) == (1_200 - before, before)
    assert record_count() == 1_200


@example(10**400)
@given(st.one_of(st.none(), st.text(), st.integers(), st.floats(), st.booleans(), st.lists(st.text())))
def test_whatever_stands_for_a_time_is_one_or_none(value: Any) -> None:
    found = moment(value)
    assert found is None or found.tzinfo is not None


@given(st.text(min_size=1), st.text(min_size=1), st.sampled_from(["fact", "decision", "event", "entity"]))
def test_an_id_belongs_to_one_memory_of_one_program(reference: str, other: str, kind: str) -> None:
    memory = ForeignMemory(reference, "x", kind)
    assert memory.id("mem0") == ForeignMemory(reference, "changed since", kind).id("mem0")
    assert memory.id("mem0") != memory.id("kernle")
    assert (memory.id("mem0") == ForeignMemory(other, "x", kind).id("mem0")) == (reference == other)
