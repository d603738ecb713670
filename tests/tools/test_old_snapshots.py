"""Undo records of earlier versions, whose snapshots are one file each, are still restored, and never over later changes."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from sb.kernel.contracts import ToolError
from sb.store.snapshots import SnapshotStore, key_of_file
from sb.tools.file_restoring import FileRestoring
from sb.tools.hosted.files import HostedFiles
from sb.tools.roots import Roots

OLD, NEW = b"old\n", b"new\n"


@pytest.fixture
def store(tmp_path: Path) -> SnapshotStore:
    (tmp_path / "kept").mkdir()
    return SnapshotStore(tmp_path / "kept", 1000)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path.resolve() / "f"
    path.write_bytes(NEW)
    path.chmod(0o644)
    return path


def row(path: Path) -> dict[str, Any]:
    """The undo record that the call left."""
    return {"path": str(path), "sha256": hashlib.sha256(NEW).hexdigest(), "mode": 0o644}


def write_old_snapshot(store: SnapshotStore, key: str, bits: bytes, content: bytes) -> None:
    """A snapshot as an earlier version wrote it."""
    (store.folder / key).write_bytes(b"sb-kept 1 " + bits + b"\n" + content)


def test_a_host_s_edit_is_restored_to_bytes_and_mode(store: SnapshotStore, path: Path) -> None:
    write_old_snapshot(store, key_of_file("idem_1", str(path)), b"0600", OLD)
    files = HostedFiles(lambda: store, [store.folder])
    assert files.restorable([row(path)], "idem_1")["ok"]
    assert files.with_snapshots([str(path), "/other"], "idem_1") == [str(path)]
    assert store.holds("idem_1", [str(path)])
    files.restore([row(path)], "idem_1")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (OLD, 0o600)


def test_a_host_s_new_file_is_removed(store: SnapshotStore, path: Path) -> None:
    write_old_snapshot(store, key_of_file("idem_1", str(path)), b"none", b"")
    HostedFiles(lambda: store, [store.folder]).restore([row(path)], "idem_1")
    assert not path.exists()


def test_what_somebody_changed_since_stays(store: SnapshotStore, path: Path) -> None:
    write_old_snapshot(store, key_of_file("idem_1", str(path)), b"0600", OLD)
    path.write_bytes(b"mine")
    files = HostedFiles(lambda: store, [store.folder])
    assert not files.restorable([row(path)], "idem_1")["ok"]
    with pytest.raises(ToolError, match="was changed since"):
        files.restore([row(path)], "idem_1")
    assert path.read_bytes() == b"mine"


def test_a_file_tool_s_write_is_restored(store: SnapshotStore, path: Path) -> None:
    write_old_snapshot(store, "idem_2", b"0600", OLD)
    tools = FileRestoring(Roots([path.parent]), store)
    left = row(path)
    assert tools.restorable(str(path), "idem_2", left["sha256"], left["mode"])["ok"]
    tools.restore(str(path), "idem_2", left["sha256"], left["mode"])
    assert path.read_bytes() == OLD


def test_purging_removes_old_snapshots_too(store: SnapshotStore, path: Path) -> None:
    write_old_snapshot(store, "idem_2", b"0600", OLD)
    assert (store.size().packs, store.purge()[0], store.size().packs) == (1, 1, 0)
