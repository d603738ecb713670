"""SecondBrain's own files stay out of reach, also where they do not exist yet."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from sb.config.groups import Files
from sb.kernel.contracts import ToolError, ToolErrorCode
from sb.kernel.registry.registry import ToolRegistry
from sb.store.database import database_files
from sb.store.snapshots import SnapshotStore
from sb.tools.files import register_files
from sb.tools.roots import Roots


@pytest.fixture
def registry(tmp_path: Path) -> ToolRegistry:
    """File tools over a root in which SB_HOME and the database lie."""
    home = tmp_path / "root" / "home"
    home.mkdir(parents=True)
    (home / "config.yaml").write_text("safety_mode: strict\n", encoding="utf-8")
    protected = [home, *database_files(tmp_path / "root" / "brain.db")]
    files = Files(roots=(tmp_path / "root",))
    registry = ToolRegistry()
    snapshots = SnapshotStore(home / "kept", files.keep_max_bytes)
    register_files(registry, files, Roots(files.roots, protected), snapshots)
    return registry


def call(registry: ToolRegistry, tool_id: str, **args: Any) -> Any:
    fn = registry.get_callable(tool_id)
    assert fn is not None
    return fn(**args)


@pytest.mark.parametrize(
    "path",
    [
        "brain.db",
        "brain.db-journal",
        "brain.db-wal",
        "brain.db-shm",
        "BRAIN.DB-journal",
        "home",
        "home/x",
        "Home/x",
    ],
)
@pytest.mark.parametrize("tool_id", ["files.write", "files.delete", "files.read"])
def test_database_and_its_side_files_are_not_touched(
    registry: ToolRegistry, tmp_path: Path, tool_id: str, path: str
) -> None:
    args = {"path": path} | ({"content": "x", "parents": True} if tool_id == "files.write" else {})
    with pytest.raises(ToolError) as caught:
        call(registry, tool_id, **args)
    assert caught.value.code is ToolErrorCode.PERMISSION_DENIED
    assert sorted(entry.name for entry in (tmp_path / "root").iterdir()) == ["home"]


def test_the_same_names_elsewhere_are_free(registry: ToolRegistry, tmp_path: Path) -> None:
    assert call(registry, "files.write", path="other/brain.db-journal", content="x", parents=True)["created"]


@pytest.mark.parametrize("name", ["config.yaml", "keys/ada.key", "backups/2026-11-21/brain.db"])
def test_another_link_to_a_file_of_the_home_is_refused(
    registry: ToolRegistry, tmp_path: Path, name: str
) -> None:
    theirs = tmp_path / "root" / "home" / name
    theirs.parent.mkdir(parents=True, exist_ok=True)
    theirs.write_text("ours", encoding="utf-8")
    os.link(theirs, tmp_path / "root" / "innocent.yaml")
    (tmp_path / "root" / "twice").write_text("theirs", encoding="utf-8")
    os.link(tmp_path / "root" / "twice", tmp_path / "root" / "again")
    assert call(registry, "files.read", path="again")["content"] == "theirs"
    for tool_id, more in (("files.read", {}), ("files.write", {"content": "safety_mode: normal\n"})):
        with pytest.raises(ToolError) as caught:
            call(registry, tool_id, path="innocent.yaml", **more)
        assert caught.value.code is ToolErrorCode.PERMISSION_DENIED


@pytest.mark.parametrize("path", ["a/" * 65 + "x", "x" * 5000, "a/" * 60_000 + "x"])
def test_a_path_that_is_too_long_or_too_deep_makes_nothing(
    registry: ToolRegistry, tmp_path: Path, path: str
) -> None:
    with pytest.raises(ToolError) as caught:
        call(registry, "files.write", path=path, content="x", parents=True)
    assert caught.value.code is ToolErrorCode.VALIDATION_ERROR
    assert sorted(entry.name for entry in (tmp_path / "root").iterdir()) == ["home"]


def test_a_glob_or_query_that_is_too_long_is_refused(registry: ToolRegistry) -> None:
    for args in ({"query": "x", "glob": "[" * 200_000}, {"query": "x" * 2000}):
        with pytest.raises(ToolError) as caught:
            call(registry, "files.search", **args)
        assert caught.value.code is ToolErrorCode.VALIDATION_ERROR
