"""Memories carried from one home to another on the command line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.conftest import CommandLine


@pytest.fixture
def bundle(sb: CommandLine, tmp_path: Path) -> Path:
    """A file that an enrolled operator exported; another home is used from here on."""
    assert sb("init").code == 0
    assert sb("operator", "init", "ada", "--no-passphrase").code == 0
    sb("memory", "remember", "the limit is 100", "--project", "shop")
    sb("memory", "decide", "page by cursor", "offsets skip orders", "--project", "shop", "--private")
    sb("memory", "remember", "of another project", "--project", "garden")
    file = tmp_path / "shop.memory"
    done = sb("memory", "export", str(file), "--scope", "project:shop")
    assert (done.code, done.out.startswith(f"2 memories in {file}, signed by ada (")) == (0, True), done.err
    return file


@pytest.fixture
def elsewhere(bundle: Path, sb: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SB_HOME", str(tmp_path / "elsewhere"))
    assert sb("init").code == 0


def contents(sb: CommandLine, query: str) -> set[str]:
    return {hit["content"] for hit in sb("memory", "search", query, "--json").json["items"]}


def released(sb: CommandLine) -> None:
    assert len(sb("quarantine", "release", "--all", "--reason", "mine", "--yes", "--json").json["ids"]) == 2


@pytest.mark.usefixtures("elsewhere")
def test_a_bundle_is_looked_at_then_taken_in_and_again_without_harm(sb: CommandLine, bundle: Path) -> None:
    looked = sb("memory", "import", str(bundle), "--verify-only")
    assert "2 memories of" in looked.out
    assert "not an operator of this home" in looked.out
    assert sb("memory", "stats", "--json").json["records"] == 0
    assert sb("memory", "import", str(bundle), "--embed").out.startswith("2 new, 0 already here, 0 left out")
    assert contents(sb, "limits and cursors") == set(), "no operator of this home signed it"
    released(sb)
    assert contents(sb, "limits and cursors") == {"the limit is 100", "page by cursor: offsets skip orders"}
    again = sb("memory", "import", str(bundle), "--json").json
    assert (again["added"], again["same"], again["conflicting"]) == (0, 2, 0)


@pytest.mark.usefixtures("elsewhere")
def test_a_bundle_may_go_into_one_scope(sb: CommandLine, bundle: Path) -> None:
    assert sb("memory", "import", str(bundle), "--into", "project:copy").code == 0
    released(sb)
    assert sb("memory", "stats", "--json").json["scopes"] == {"project:copy": 2}
    elsewhere = sb("memory", "import", str(bundle))
    assert elsewhere.code == 1
    assert "it stands elsewhere here" in elsewhere.out


@pytest.mark.usefixtures("elsewhere")
def test_a_byte_that_was_changed_is_noticed(sb: CommandLine, bundle: Path) -> None:
    content = bundle.read_bytes()
    bundle.write_bytes(content.replace(b"limit is 100", b"limit is 900"))
    for options in ((), ("--verify-only",), ("--from-anybody",)):
        refused = sb("memory", "import", str(bundle), *options)
        assert (refused.code, refused.out) == (1, "")
        assert "the bundle was changed" in refused.err
    assert sb("memory", "stats", "--json").json["records"] == 0


@pytest.mark.usefixtures("elsewhere")
def test_where_operators_are_enrolled_a_strangers_bundle_needs_a_word(sb: CommandLine, bundle: Path) -> None:
    assert sb("operator", "init", "bob", "--no-passphrase").code == 0
    refused = sb("memory", "import", str(bundle))
    assert refused.code == 4
    assert "was signed by a stranger" in refused.err
    assert sb("memory", "import", str(bundle), "--from-anybody").code == 0


def test_an_export_never_overwrites_and_names_what_is_not_there(sb: CommandLine, bundle: Path) -> None:
    before = bundle.read_bytes()
    assert sb("memory", "export", str(bundle)).code == 2
    assert bundle.read_bytes() == before
    assert sb("memory", "export", f"{bundle}.2", "--scope", "project:none").code == 1
    assert sb("memory", "export", "-", "--format", "csv").code == 2
    assert sb("memory", "import", f"{bundle}.2").code == 2


def test_a_document_is_for_reading(sb: CommandLine, bundle: Path, tmp_path: Path) -> None:
    file = tmp_path / "shop.md"
    done = sb("memory", "export", str(file), "--scope", "project:shop", "--markdown")
    assert (done.code, done.out) == (0, f"memories in {file}\n")
    assert "- **page by cursor**: offsets skip orders" in file.read_text(encoding="utf-8")
    assert file.stat().st_mode & 0o777 == 0o600
    assert sb("memory", "export", str(file), "--markdown").code == 2
    assert sb("memory", "export", f"{file}.2", "--scope", "project:none", "--markdown").code == 1
    assert not Path(f"{file}.2").exists()
    refused = sb("memory", "import", str(file))
    assert (refused.code, "not a bundle of memories" in refused.err) == (1, True)


def test_a_table_is_for_spreadsheets_and_programs(sb: CommandLine, bundle: Path, tmp_path: Path) -> None:
    files = {name: tmp_path / f"shop.{name}" for name in ("csv", "json")}
    for name, file in files.items():
        done = sb("memory", "export", str(file), "--scope", "project:shop", "--format", name)
        assert (done.code, done.out) == (0, f"2 memories in {file}\n"), done.err
        assert file.stat().st_mode & 0o777 == 0o600
        assert sb("memory", "export", str(file), "--format", name).code == 2
        assert sb("memory", "export", f"{file}.2", "--scope", "project:none", "--format", name).code == 1
        assert not Path(f"{file}.2").exists()
    items = json.loads(files["json"].read_bytes())
    with files["csv"].open(encoding="utf-8", newline="") as opened:
        rows = list(csv.DictReader(opened))
    assert [item["content"] for item in items] == ["the limit is 100", "page by cursor: offsets skip orders"]
    assert [row["content"] for row in rows] == [item["content"] for item in items]
    assert [row["private"] for row in rows] == ["false", "true"]
    assert json.loads(rows[1]["details"]) == items[1]["details"]
    shown = sb("memory", "show", items[0]["id"], "--json").json["memory"]
    assert shown.pop("review_at") < shown.pop("fades_at")  # which a table has no need of
    assert shown == items[0]


def test_a_format_that_is_not_there_is_named(sb: CommandLine, bundle: Path, tmp_path: Path) -> None:
    wrong = sb("memory", "export", str(tmp_path / "x"), "--format", "cvs")
    assert (wrong.code, "no format 'cvs' (did you mean \"csv\"?)" in wrong.err) == (2, True)
    both = sb("memory", "export", str(tmp_path / "x"), "--format", "csv", "--markdown")
    assert (both.code, "two formats" in both.err) == (2, True)
