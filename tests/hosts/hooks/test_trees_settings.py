"""Undo of a call beside a program that makes settings of hosts: it brings back those alone that were there before."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

import pytest

from sb.hosts.confinement.store import ConfineStore
from sb.store.trees.open_calls import StoredTree
from sb.store.trees.store import TreeStore
from tests.hosts.hooks.conftest import Host
from tests.hosts.hooks.test_confining import confined, repository  # noqa: F401 - fixtures
from tests.hosts.hooks.test_snapshots import undo_all

SETTINGS = (
    ".mcp.json",
    ".vscode/tasks.json",
    ".vscode/x",
    ".cursor/hooks.json",
    ".github/hooks/a",
    "opencode.json",
)
OTHERS = ("mcp.json", ".github/workflows/a.yml", "sub/.vscode/tasks.json", "a.vscode/tasks.json")


def write(host: Host, names: Sequence[str]) -> None:
    for name in names:
        path = host.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('{"x": "./evil"}')


def there(host: Host, names: Sequence[str]) -> list[str]:
    return [name for name in names if (host.project / name).exists()]


def begin(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent starts a program that runs from then on."""
    host.before("Bash", "t1", command="make")
    monkeypatch.setattr(ConfineStore, "is_alive", lambda _: True)
    host.after("Bash", "t1", command="make")


def call_that_removes(host: Host, names: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The program makes files after others were put back, and the call removes them and changes a file."""
    store = TreeStore.store

    def stored_after(self: TreeStore, project: str, *given: float, **more: bool) -> StoredTree:
        write(host, names)
        return store(self, project, *given, **more)

    with monkeypatch.context() as patched:
        patched.setattr(TreeStore, "store", stored_after)
        host.before("Bash", "t2", command="make")
    for top in {name.split("/", maxsplit=1)[0] for name in names}:
        path = host.project / top
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    (host.project / "cart.py").write_text("changed")
    host.after("Bash", "t2", command="make")


def test_settings_that_a_program_made_do_not_come_back(
    repository: Host,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begin(repository, monkeypatch)
    call_that_removes(repository, (*SETTINGS, *OTHERS), monkeypatch)
    results = str([(event.payload or {}).get("result") for event in repository.events()])
    assert [name for name in SETTINGS if f"shop/{name}'" not in results] == []
    assert undo_all(repository) == ["reversed"]
    assert (repository.project / "cart.py").read_text() == "x = 1\n"
    assert there(repository, SETTINGS) == []
    assert there(repository, OTHERS) == list(OTHERS)


def test_settings_of_the_person_come_back(
    repository: Host,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write(repository, SETTINGS)
    begin(repository, monkeypatch)
    call_that_removes(repository, SETTINGS, monkeypatch)
    assert undo_all(repository) == ["reversed"]
    assert there(repository, SETTINGS) == list(SETTINGS)


def test_settings_come_back_where_no_program_ran_before(
    repository: Host,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    call_that_removes(repository, SETTINGS, monkeypatch)
    assert undo_all(repository) == ["reversed"]
    assert there(repository, SETTINGS) == list(SETTINGS)


def test_folder_of_settings_is_no_change_of_the_first_call(repository: Host) -> None:  # noqa: F811
    repository.before("Bash", "t1", command="make")
    (repository.project / "cart.py").write_text("changed")
    repository.after("Bash", "t1", command="make")
    assert undo_all(repository) == ["reversed"]
    assert (repository.project / ".claude").is_dir()
