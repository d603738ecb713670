"""Saved filters: kept in one file of the home, by one process at a time, without secrets; nothing of it gets lost."""

from __future__ import annotations

import json
import multiprocessing
import stat
from pathlib import Path

import pytest

from sb.config.home import Home
from sb.errors import NotFoundError, SBError, UsageError
from sb.operator.saved_filters import MOST_SAVED, SavedFilter, SavedFilters
from tests.conftest import CommandLine
from tests.rows import rows

SECRET = "_".join(("ghp", "a1" * 18))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "sb"


@pytest.fixture
def saved(folder: Path) -> SavedFilters:
    return SavedFilters(Home(folder))


def test_a_filter_is_found_by_its_name_until_it_is_deleted(saved: SavedFilters) -> None:
    assert (saved.all(), saved.text("")) == ({}, "")
    saved.save("ada's", "by:ada   since:7d", "newest")
    assert saved.all() == {"ada's": SavedFilter("by:ada since:7d", "newest")}
    assert saved.text("ada's") == "by:ada since:7d"
    saved.delete("ada's")
    for act in (saved.text, saved.delete):
        saved.save("leak", "agent:x")
        with pytest.raises(NotFoundError, match="did you mean"):
            act("leek")


def test_the_file_is_private_and_holds_no_secret(saved: SavedFilters, folder: Path) -> None:
    saved.save("leak", f"{SECRET} agent:clerk")
    saved.keep_place("inbox", SavedFilter(SECRET))
    [file] = folder.iterdir()
    assert SECRET not in file.read_text(encoding="utf-8")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert saved.all()["leak"].problem == ""
    with pytest.raises(UsageError, match="holds a secret"):
        saved.save(SECRET, "agent:x")


@rows("name", ["日本 💥", "it's", '"x"', "-x", "--json", "../up", "%s", "a b", "x" * 40, "é"])
def test_any_printable_name_will_do(saved: SavedFilters, name: str) -> None:
    saved.save(name, "agent:x")
    assert saved.text(name) == "agent:x"
    saved.delete(name)


@rows("name", ["", " ", " x", "x ", "a\nb", "a\x1b[31m", "a\u202eb", "x" * 41, "\udcff"])
def test_a_name_that_a_list_cannot_show_is_refused(saved: SavedFilters, name: str) -> None:
    with pytest.raises(UsageError, match="a filter's name has 1 to 40 characters"):
        saved.save(name, "agent:x")
    assert saved.all() == {}


def test_a_taken_name_a_wrong_filter_and_one_too_many_are_refused(saved: SavedFilters) -> None:
    saved.save("mine", "agent:x")
    saved.save("mine", "agent:x")
    with pytest.raises(UsageError, match="is saved already, as agent:x"):
        saved.save("mine", "agent:y")
    saved.save("mine", "agent:y", replace=True)
    assert saved.text("mine") == "agent:y"
    for text, wrong in (("byy:x", "no key"), ("  ", "no filter to save")):
        with pytest.raises(UsageError, match=wrong):
            saved.save("wrong", text)
    for number in range(MOST_SAVED - 1):
        saved.save(f"f{number}", "by:ada")
    with pytest.raises(UsageError, match="100 saved filters"):
        saved.save("more", "by:ada")


def test_a_filter_that_cannot_be_read_any_more_is_listed_and_not_applied(
    saved: SavedFilters, folder: Path
) -> None:
    folder.mkdir()
    old = {"filters": {"old": {"filter": "colour:red"}, "odd": 3}, "later": {"x": 1}}
    (folder / "filters.json").write_text(json.dumps(old), encoding="utf-8")
    assert saved.all()["old"].problem == "filter: no key 'colour'"
    with pytest.raises(UsageError, match="saved filter 'old': filter: no key 'colour'"):
        saved.text("old")
    saved.save("new", "agent:x \udcff")
    left = json.loads((folder / "filters.json").read_text(encoding="utf-8"))
    assert (left["filters"]["odd"], left["later"]) == (3, {"x": 1}), "what we do not know stays"


@rows("content", ["[", "[]", '{"filters": []}', "\udcff"])
def test_a_damaged_file_is_neither_read_nor_replaced(saved: SavedFilters, folder: Path, content: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "filters.json").write_bytes(content.encode(errors="surrogateescape"))
    for act in (saved.all, lambda: saved.save("x", "agent:x"), lambda: saved.delete("x")):
        with pytest.raises(SBError, match="is damaged"):
            act()
    assert saved.places() == {}
    assert (folder / "filters.json").read_bytes() == content.encode(errors="surrogateescape")


def save_many(folder: Path, name: str) -> None:
    for number in range(20):
        SavedFilters(Home(folder)).save(f"{name}{number}", "agent:x")


def test_processes_that_save_at_once_lose_nothing(saved: SavedFilters, folder: Path) -> None:
    start = multiprocessing.get_context("spawn").Process
    processes = [start(target=save_many, args=(folder, name)) for name in "ab"]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert set(saved.all()) == {f"{name}{number}" for name in "ab" for number in range(20)}


def test_a_read_only_home_says_so_in_one_line(sb: CommandLine, home: Path) -> None:
    assert sb("filters", "save", "mine", "agent:x").code == 0
    (home / "filters.json").unlink()
    (home / "filters.json").mkdir()  # in the way, also where root may write anywhere
    done = sb("filters", "save", "mine", "agent:x")
    assert (done.code, done.err.count("\n")) == (1, 1), done.err
    assert "filters.json: Is a directory" in done.err


def test_filters_are_listed_saved_and_deleted_by_commands(sb: CommandLine, home: Path) -> None:
    assert "no saved filters" in sb("filters", "list").err
    assert (
        sb("filters", "save", "two words", "rm -rf", "agent:x").out == 'saved two words: "rm -rf" agent:x\n'
    )
    item = {"name": "two words", "filter": '"rm -rf" agent:x', "sort": "", "problem": ""}
    assert sb("filters", "list", "--json").json == {"items": [item]}
    assert "two words" in sb("filters", "list").out
    taken = sb("filters", "save", "two words", "agent:y")
    assert (taken.code, "--replace" in taken.err) == (2, True)
    assert sb("filters", "save", "two words", "agent:y", "--replace", "--json").json["filter"] == "agent:y"
    assert sb("filters", "delete", "two words", "--json").json == {"name": "two words", "deleted": True}
    assert sb("filters", "delete", "two words").code == 1
