"""Snapshots of files: taken once, complete, private, and read back to the byte."""

from __future__ import annotations

import stat
import threading
from pathlib import Path

import pytest

from sb.errors import NotFoundError, SBError, UsageError
from sb.store.packs import CannotKeep
from sb.store.snapshots import Snapshot, SnapshotStore, SnapshotTooLarge


@pytest.fixture
def snapshots(tmp_path: Path) -> SnapshotStore:
    return SnapshotStore(tmp_path / "kept", max_bytes=1000)


def take(store: SnapshotStore, path: Path, key: str) -> Snapshot | None:
    return store.take(str(path), key=key)


def packs(store: SnapshotStore) -> list[str]:
    """The keys in the store; nothing unfinished is beside them."""
    names = {path.name for path in store.packs.folder.iterdir()} - {".lock", ".usage"}
    keys = store.packs.list_keys()
    assert names == {f"{key}.pack" for key in keys}
    return keys


@pytest.mark.parametrize("content", [b"", b"text\n", bytes(range(256)) * 3, b"sb-kept 1 none\n"])
def test_snapshot_is_read_back_to_the_byte(snapshots: SnapshotStore, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    path.chmod(0o640)
    copy = take(snapshots, path, "call_1")
    assert copy == snapshots.get("call_1")
    assert copy is not None
    assert (copy.size, copy.mode) == (len(content), 0o640)
    assert snapshots.read("call_1") == content


def test_second_attempt_does_not_replace_the_first_snapshot(snapshots: SnapshotStore, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"before")
    first = take(snapshots, path, "k")
    path.write_bytes(b"after")
    assert take(snapshots, path, "k") == first
    assert snapshots.read("k") == b"before"


def test_a_missing_file_is_recorded_and_stays_recorded(snapshots: SnapshotStore, tmp_path: Path) -> None:
    assert take(snapshots, tmp_path / "file", "k") is None
    (tmp_path / "file").write_bytes(b"made meanwhile")
    assert take(snapshots, tmp_path / "file", "k") is None
    with pytest.raises(NotFoundError):
        snapshots.read("k")


def test_many_attempts_at_once_agree_on_one_copy(snapshots: SnapshotStore, tmp_path: Path) -> None:
    found: list[Snapshot | None] = []
    start = threading.Barrier(8)

    def attempt(number: int) -> None:
        path = tmp_path / f"file{number}"
        path.write_bytes(b"%d" % number * 100)
        start.wait(60)
        found.append(take(snapshots, path, "k"))

    threads = [threading.Thread(target=attempt, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [snapshots.get("k")] * 8
    assert packs(snapshots) == ["k"]


def test_folder_and_copies_are_readable_by_the_owner_alone(snapshots: SnapshotStore, tmp_path: Path) -> None:
    snapshots.folder.mkdir(mode=0o755)
    path = tmp_path / "file"
    path.write_bytes(b"x")
    take(snapshots, path, "k")
    folder = snapshots.packs.folder
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def test_content_of_the_limit_is_taken_and_one_byte_more_is_not(
    snapshots: SnapshotStore, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * snapshots.max_bytes)
    assert take(snapshots, path, "fits")
    path.write_bytes(b"x" * (snapshots.max_bytes + 1))
    with pytest.raises(SnapshotTooLarge) as failure:
        take(snapshots, path, "not")
    assert failure.value.limit == snapshots.max_bytes
    assert packs(snapshots) == ["fits"]


def test_file_that_outgrows_its_size_is_not_taken(tmp_path: Path) -> None:
    """A file of /proc says that it is empty and is not."""
    store = SnapshotStore(tmp_path / "kept", max_bytes=10_000)
    with pytest.raises(CannotKeep, match="changed while"):
        take(store, Path("/proc/self/status").resolve(), "k")
    assert packs(store) == []


@pytest.mark.parametrize(
    "key", ["", ".", "..", "../x", "a/b", ".hidden", "A", "a b", "a\n", "a\0", "x" * 201, "é"]
)
def test_a_key_that_is_not_a_plain_name_is_refused(snapshots: SnapshotStore, key: str) -> None:
    for use in (snapshots.read, snapshots.get, lambda key: snapshots.take("/x", key=key)):
        with pytest.raises(UsageError):
            use(key)
    assert not snapshots.folder.exists()


@pytest.mark.parametrize(
    ("written", "snapshot", "content"),
    [(b"sb-kept 1 0640\nold", (3, 0o640), b"old"), (b"sb-kept 1 none\n", None, None)],
)
def test_snapshots_of_earlier_versions_are_still_read(
    snapshots: SnapshotStore, written: bytes, snapshot: tuple[int, int] | None, content: bytes | None
) -> None:
    snapshots.folder.mkdir()
    (snapshots.folder / "idem_1.aa").write_bytes(written)
    found = snapshots.get("idem_1.aa")
    assert (found and (found.size, found.mode)) == snapshot
    if content is None:
        with pytest.raises(NotFoundError):
            snapshots.read("idem_1.aa")
    else:
        assert snapshots.read("idem_1.aa") == content


def test_a_damaged_snapshot_of_an_earlier_version_is_reported(snapshots: SnapshotStore) -> None:
    snapshots.folder.mkdir()
    (snapshots.folder / "k").write_bytes(b"something else")
    with pytest.raises(SBError, match="damaged"):
        snapshots.read("k")
