"""Contracts with programs: schemas of JSON output, exit codes, and the list of commands that write."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from sb.commands.interface import COMMON_EXITS, declaration, exits, schema_name, writes

from evals.docs import SCHEMAS
from evals.output_schemas import output_schemas
from sb.errors import ExitCode
from sb.store import driver
from tests.commands.every_command import LEAVES, WITH_JSON, Session, documents, run_all
from tests.conftest import CommandLine
from tests.hosts.install import conftest as install

made = install.made  # what hooks run from, as those tests make it

# Tables in which reading leaves a mark: when something was read, and by whom.
MARKS = ("access_log", "broadcasts", "record_stats", "vectors")


def rows() -> list[tuple[str, int]]:
    """The number of rows of each table of the home's database."""
    file = Path(os.environ["SB_HOME"]) / "brain.db"
    if not file.exists():
        return []
    connection = driver.connect(file)
    names = [
        name
        for (name,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
        ).fetchall()
    ]
    found = [(name, connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]) for name in names]
    connection.close()
    return [(name, count) for name, count in found if not name.startswith(MARKS)]


def files() -> list[tuple[str, int]]:
    """Every file below the current folder with its size, without the database's own."""
    found = (
        f"{folder}/{name}" for folder, _, names in os.walk(".") for name in names if "brain.db" not in name
    )
    return sorted((path, os.stat(path).st_size) for path in found if os.path.isfile(path))


@pytest.fixture
def session(sb: CommandLine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, made: Path) -> Session:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "user").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    return Session(sb, lambda: (rows(), files()), made)


def mismatches(name: str, document: Any, schemas: dict[str, Any]) -> list[str]:
    """Where a document differs from the schema of that name."""
    validator = Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": schemas["$defs"]})
    return [f"{name}: {error.json_path}: {error.message[:200]}" for error in validator.iter_errors(document)]


def test_every_command_prints_what_its_schema_says_and_ends_and_writes_as_declared(
    session: Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With closed schemas: a field that is not declared is a mismatch too."""
    schemas = output_schemas(closed=True)
    assert list(run_all(session, monkeypatch, tmp_path)) == [], "not run"
    wrong = []
    for name, outcomes in session.outcomes.items():
        for done in outcomes:
            for document in documents(done):
                wrong += mismatches(
                    "error" if "error" in document and len(document) == 1 else schema_name(name),
                    document,
                    schemas,
                )
            if done.code not in exits(name):
                wrong.append(f"{name}: exit code {int(done.code)} is not declared")
    wrong += [f"{name} wrote: {lines[0]}" for name, lines in session.wrote.items() if not writes(name)]
    assert wrong == [], "\n".join(sorted(set(wrong)))


def test_every_command_is_declared_and_has_a_schema_if_it_prints_json() -> None:
    declared = declaration()["commands"]
    assert sorted(declared) == sorted(LEAVES)
    assert sorted(name for name, what in declared.items() if {"json", "lines"} & what.keys()) == sorted(
        WITH_JSON
    )
    known = [int(code) for code in ExitCode]
    assert [name for name in declared if not {*exits(name)} <= {*known}] == []


def test_the_schemas_are_valid_and_those_of_the_documentation() -> None:
    Draft202012Validator.check_schema(output_schemas())
    assert json.loads(SCHEMAS.read_text("utf-8")) == output_schemas()


def test_a_schema_takes_fields_that_are_added_and_misses_those_that_are_gone() -> None:
    schemas = output_schemas()
    saved = {"home": "/h", "made": []}
    assert mismatches("init", saved | {"more": 1}, schemas) == []
    assert mismatches("init", {"home": "/h"}, schemas) == ["init: $: 'made' is a required property"]
    assert mismatches("init", saved | {"made": "x"}, schemas) == ["init: $.made: 'x' is not of type 'array'"]


def test_commands_describes_every_command(sb: CommandLine) -> None:
    found = sb("commands", "--json").json
    items = {item["name"]: item for item in found["items"]}
    assert sorted(items) == sorted(LEAVES)
    listed = items["approvals list"]
    assert (listed["writes"], listed["schema"], listed["section"]) == (False, "approvals.list", "Decide")
    assert listed["exits"] == sorted({*COMMON_EXITS, 3})
    assert {"name": "words", "repeated": True, "required": False}.items() <= listed["arguments"][0].items()
    limit = next(option for option in listed["options"] if option["name"] == "--limit")
    assert (limit["type"], limit["default"], limit["min"], limit["max"]) == ("integer", 50, 0, None)
    assert items["install"]["options"][0]["choices"] == ["user", "project"]
    assert "--db" in [option["name"] for option in found["options"]]
    assert all(item["example"].startswith(f"sb {name}") for name, item in items.items())
    assert len(sb("commands").out.splitlines()) == len(items) + 1
