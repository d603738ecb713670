from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from sb.errors import NotFoundError, SBError, UsageError
from sb.store.kept import KeptCopy, KeptStore, TooLargeToKeep


def keep(store: KeptStore, path: Path, key: str) -> KeptCopy | None:
    fd = os.open(path, os.O_RDONLY)
    try:
        return store.keep(fd, key=key)
    finally:
        os.close(fd)


@pytest.mark.parametrize("content", [b"", b"text\n", bytes(range(256)) * 3, b"sb-kept 1 none\n"])
def test_kept_content_comes_back_byte_for_byte_with_its_facts(
    kept: KeptStore, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    path.chmod(0o640)
    copy = keep(kept, path, "call_1")
    assert copy == kept.facts("call_1")
    assert copy is not None
    assert (copy.size, copy.mode) == (len(content), 0o640)
    assert kept.read("call_1") == content


def test_keeping_leaves_the_position_of_the_descriptor_alone(kept: KeptStore, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abcdef")
    fd = os.open(tmp_path / "file", os.O_RDONLY)
    os.lseek(fd, 3, os.SEEK_SET)
    kept.keep(fd, key="k")
    assert os.read(fd, 10) == b"def"
    os.close(fd)
    assert kept.read("k") == b"abcdef"


def test_a_second_attempt_keeps_the_first_copy(kept: KeptStore, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"before")
    first = keep(kept, path, "k")
    path.write_bytes(b"after")
    assert keep(kept, path, "k") == first
    assert kept.read("k") == b"before"


def test_a_missing_file_is_recorded_and_stays_recorded(kept: KeptStore, tmp_path: Path) -> None:
    assert kept.keep(None, key="k") is None
    (tmp_path / "file").write_bytes(b"made meanwhile")
    assert keep(kept, tmp_path / "file", "k") is None
    with pytest.raises(NotFoundError):
        kept.read("k")


def test_many_attempts_at_once_agree_on_one_copy(kept: KeptStore, tmp_path: Path) -> None:
    found: list[KeptCopy | None] = []
    start = threading.Barrier(8)

    def attempt(number: int) -> None:
        path = tmp_path / f"file{number}"
        path.write_bytes(b"%d" % number * 100)
        start.wait(5)
        found.append(keep(kept, path, "k"))

    threads = [threading.Thread(target=attempt, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert found == [kept.facts("k")] * 8
    assert os.listdir(kept.folder) == ["k"]


def test_folder_and_copies_are_readable_by_the_owner_alone(kept: KeptStore, tmp_path: Path) -> None:
    kept.folder.mkdir(mode=0o755)
    path = tmp_path / "file"
    path.write_bytes(b"x")
    keep(kept, path, "k")
    assert stat.S_IMODE(kept.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((kept.folder / "k").stat().st_mode) == 0o600


def test_the_limit_itself_is_kept_and_one_byte_more_is_not(kept: KeptStore, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * kept.max_bytes)
    assert keep(kept, path, "fits")
    path.write_bytes(b"x" * (kept.max_bytes + 1))
    with pytest.raises(TooLargeToKeep) as failure:
        keep(kept, path, "not")
    assert failure.value.limit == kept.max_bytes
    assert os.listdir(kept.folder) == ["fits"]


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs a file that understates its size")
def test_a_file_that_turns_out_longer_than_it_said_is_not_kept(tmp_path: Path) -> None:
    store = KeptStore(tmp_path / "kept", max_bytes=10)
    with pytest.raises(TooLargeToKeep):
        keep(store, Path("/proc/self/status"), "k")
    assert os.listdir(store.folder) == []


@pytest.mark.parametrize(
    "key", ["", ".", "..", "../x", "a/b", ".hidden", "A", "a b", "a\n", "a\0", "x" * 201, "é"]
)
def test_a_key_that_is_not_a_plain_name_is_refused(kept: KeptStore, key: str) -> None:
    for use in (kept.read, kept.facts, kept.remove, lambda key: kept.keep(None, key=key)):
        with pytest.raises(UsageError):
            use(key)
    assert not kept.folder.exists()


def test_removing_forgets_the_key_and_its_unfinished_copies_only(kept: KeptStore, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x")
    keep(kept, path, "a")
    keep(kept, path, "a.b")
    (kept.folder / ".a@0123").write_bytes(b"cut off by a crash")
    (kept.folder / ".a.b@0123").write_bytes(b"of another key")
    kept.remove("a")
    kept.remove("a")
    assert sorted(os.listdir(kept.folder)) == [".a.b@0123", "a.b"]
    with pytest.raises(NotFoundError):
        kept.facts("a")


def test_a_damaged_copy_is_reported(kept: KeptStore) -> None:
    kept.keep(None, key="k")
    (kept.folder / "k").write_bytes(b"something else")
    with pytest.raises(SBError, match="damaged"):
        kept.read("k")
