"""Packs: whole or not at all, within their bounds, and nothing that could not be restored as it was."""

from __future__ import annotations

import errno
import os
import socket
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from sb.base.sources import SteeredClock
from sb.errors import NotFoundError, SBError, UsageError
from sb.store.pack_file import Entry
from sb.store.packs import DAY_S, CannotKeep, Pack, PackStore, SnapshotStoreFull, TooMuch

NOW = 1_800_000_000.0


@pytest.fixture
def top(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "top"
    folder.mkdir()
    return folder


@pytest.fixture
def store(tmp_path: Path) -> PackStore:
    return PackStore(tmp_path / "packs", clock=SteeredClock())


def take(store: PackStore, key: str, *paths: Path, session: str = "run", **more: object) -> Pack:
    return store.take(key, [str(path) for path in paths], session=session, now=NOW, **more)  # type: ignore[arg-type]


def listed(store: PackStore) -> set[str]:
    """The files of the store beside its lock and its count."""
    return set(os.listdir(store.folder)) - {".lock", ".usage"} if store.folder.exists() else set()


def test_a_tree_is_listed_with_kinds_modes_and_contents(store: PackStore, top: Path) -> None:
    (top / "d" / "empty").mkdir(parents=True)
    (top / "d" / "f").write_bytes(b"x" * 5000)
    (top / "d" / "f").chmod(0o640)
    (top / "d" / "l").symlink_to("f")
    pack = take(store, "k", top / "d", top / "nothing", extra={"git-index": b"i"})
    assert store.get("k") == pack
    assert [
        (Path(entry.path).name, entry.kind, entry.mode) for entry in pack.entries if entry.kind != "link"
    ] == [
        ("d", "folder", 0o755),
        ("empty", "folder", 0o755),
        ("f", "file", 0o640),
        ("nothing", "absent", 0),
    ]
    assert next(entry.target for entry in pack.entries if entry.kind == "link") == "f"
    file = next(entry for entry in pack.entries if entry.kind == "file")
    assert store.content("k", file) == b"x" * 5000
    assert store.content("k", pack.extra["git-index"]) == b"i"
    assert pack.stored_bytes == (store.folder / "k.pack").stat().st_size < 1000


@pytest.mark.parametrize("content", [b"", os.urandom(40_000), b"text\n" * 300_000, os.urandom(1 << 20) * 2])
def test_contents_of_any_size_and_kind_come_back_and_equal_ones_are_stored_once(
    store: PackStore, top: Path, content: bytes
) -> None:
    for name in "ab":
        (top / name).write_bytes(content)
    pack = take(store, "k", top)
    assert all(store.content("k", entry) == content for entry in pack.entries if entry.kind == "file")
    assert pack.stored_bytes < len(content) * 1.01 + 1000


def test_a_key_is_written_once(store: PackStore, top: Path) -> None:
    (top / "f").write_bytes(b"before")
    first = take(store, "k", top)
    (top / "f").write_bytes(b"after")
    assert take(store, "k", top) == first


@pytest.mark.parametrize("key", ["", ".", "..", "../x", "a/b", ".hidden", "A", "a b", "a\n", "x" * 201])
def test_a_key_that_is_no_plain_name_is_refused(store: PackStore, top: Path, key: str) -> None:
    for use in (lambda: take(store, key, top), lambda: store.get(key), lambda: store.purge([key])):
        with pytest.raises(UsageError):
            use()


def fifo(path: Path) -> None:
    os.mkfifo(path)


def unix_socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # a socket's path must be short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def hard_link(path: Path) -> None:
    path.write_bytes(b"x")
    os.link(path, path.with_name("second"))


@pytest.mark.parametrize(
    ("make", "reason"),
    [(fifo, "not a regular file"), (unix_socket, "not a regular file"), (hard_link, "has a second name")],
)
def test_what_could_not_be_restored_as_it_was_is_not_kept(
    store: PackStore, top: Path, make: Callable[[Path], None], reason: str
) -> None:
    (top / "d").mkdir()
    make(top / "d" / "x")
    for path in (top / "d" / "x", top / "d"):
        with pytest.raises(CannotKeep, match=reason):
            take(store, "k", path)
    assert listed(store) == set()


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_not_kept(store: PackStore, top: Path) -> None:
    (top / "f").write_bytes(b"x")
    (top / "f").chmod(0)
    with pytest.raises(CannotKeep, match="cannot be read"):
        take(store, "k", top)


def test_another_file_system_is_not_entered(store: PackStore) -> None:
    with pytest.raises(CannotKeep, match="another file system"):
        store.take("k", ["/proc"], session="run", now=NOW)


def test_a_path_behind_a_link_is_not_kept_and_a_link_is_kept_as_one(store: PackStore, top: Path) -> None:
    (top / "real").mkdir()
    (top / "real" / "f").write_bytes(b"x")
    (top / "link").symlink_to("real")
    with pytest.raises(CannotKeep, match="is a link"):
        take(store, "k", top / "link" / "f")
    assert [entry.kind for entry in take(store, "k", top / "link").entries] == ["link"]


@pytest.mark.parametrize("path", ["", "relative", "/", "/a/../b", "/a//b", "/a/", "/a\0b"])
def test_a_path_that_is_not_absolute_and_normal_is_refused(store: PackStore, path: str) -> None:
    with pytest.raises(CannotKeep, match="not a plain absolute path"):
        store.take("k", [path], session="run", now=NOW)


def test_its_own_folder_and_protected_ones_are_not_kept(top: Path) -> None:
    store = PackStore(top / "home" / "packs", clock=SteeredClock(), protected=[top / "home" / "secret"])
    (top / "home").mkdir()
    (top / "home" / "secret").write_bytes(b"x")
    with pytest.raises(CannotKeep, match="belongs to SecondBrain"):
        take(store, "k", top)


def test_sizes_count_before_anything_is_read(store: PackStore, top: Path) -> None:
    with (top / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(TooMuch, match=r"more than 64\.0 MiB"):
        take(store, "k", top)
    assert listed(store) == set()


def test_the_limits_of_one_call_hold_to_the_byte_and_the_file(store: PackStore, top: Path) -> None:
    for name in "abc":
        (top / name).write_bytes(b"1234")
    assert take(store, "fits", top, max_bytes=12, max_files=4)
    with pytest.raises(TooMuch):
        take(store, "bytes", top, max_bytes=11)
    with pytest.raises(TooMuch, match="more than 3 files"):
        take(store, "files", top, max_files=3)


def test_a_file_that_changes_while_it_is_read_is_not_kept(
    store: PackStore, top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, read = top / "f", os.read
    path.write_bytes(b"x" * 100)

    def slow(handle: int, size: int) -> bytes:
        with path.open("ab") as file:
            file.write(b"more")
        return read(handle, size)

    monkeypatch.setattr(os, "read", slow)
    with pytest.raises(CannotKeep, match="changed while"):
        take(store, "k", path)


def test_a_file_that_becomes_a_link_in_between_is_not_followed(
    store: PackStore, top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (top / "secret").write_bytes(b"secret")
    path, opened = top / "f", os.open
    path.write_bytes(b"x")

    def slow(name: str, flags: int, *args: object, **more: object) -> int:
        if name == "f":
            path.unlink()
            path.symlink_to("secret")
        return opened(name, flags, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", slow)
    with pytest.raises(CannotKeep, match="cannot be read"):
        take(store, "k", path)


def random_file(top: Path, number: int, size: int = 10_000) -> Path:
    path = top / f"random{number}"
    path.write_bytes(os.urandom(size))
    return path


def test_a_full_store_refuses_and_removes_nothing(tmp_path: Path, top: Path) -> None:
    store = PackStore(tmp_path / "packs", cap_bytes=50_000, clock=SteeredClock())
    for number in range(4):
        take(store, f"k{number}", random_file(top, number), session=f"s{number}", session_share=1)
    with pytest.raises(SnapshotStoreFull, match="the snapshot store is full"):
        take(store, "more", random_file(top, 9), session="s9", session_share=1)
    assert listed(store) == {f"k{number}.pack" for number in range(4)}
    assert not store.has_room(10_000, "s9", 1)
    assert store.has_room(100, "s9", 1)


def test_a_session_uses_no_more_than_its_share(tmp_path: Path, top: Path) -> None:
    store = PackStore(tmp_path / "packs", cap_bytes=100_000, clock=SteeredClock())
    for number in range(2):
        take(store, f"k{number}", random_file(top, number))
    with pytest.raises(SnapshotStoreFull, match="the session's share"):
        take(store, "k2", random_file(top, 2))
    assert take(store, "k2", random_file(top, 2), session="another")


def test_room_is_made_of_packs_past_their_time_and_of_no_others(tmp_path: Path, top: Path) -> None:
    store = PackStore(tmp_path / "packs", cap_bytes=25_000, clock=SteeredClock())
    for number, day in enumerate((0, 10)):
        path = str(random_file(top, number))
        store.take(f"k{number}", [path], session=f"s{number}", now=NOW + day * DAY_S, session_share=1)
    late = NOW + 15 * DAY_S
    store.take("new", [str(random_file(top, 2))], session="s2", now=late, session_share=1)
    assert listed(store) == {"k1.pack", "new.pack"}


def test_packs_expire_after_their_days_unless_they_were_promised(store: PackStore, top: Path) -> None:
    (top / "f").write_bytes(b"x")
    for key in ("old", "promised"):
        take(store, key, top)
    assert store.expire(NOW + 14 * DAY_S - 1) == (0, 0)
    removed, stored = store.expire(NOW + 14 * DAY_S, lambda key: key == "promised")
    assert (removed, stored > 0, listed(store)) == (1, True, {"promised.pack"})


def test_a_shorter_setting_breaks_no_promise_that_was_made(tmp_path: Path, top: Path) -> None:
    take(PackStore(tmp_path / "packs", clock=SteeredClock()), "k", top)
    shorter = PackStore(tmp_path / "packs", clock=SteeredClock(), keep_days=1)
    assert shorter.expire(NOW + 2 * DAY_S) == (0, 0)


def test_purging_takes_nothing_from_packs_that_stay(store: PackStore, top: Path) -> None:
    (top / "f").write_bytes(b"same")
    for key in ("a", "b"):
        take(store, key, top)
    assert store.purge(["a"])[0] == 1
    file = store.get("b").entries[-1]
    assert store.content("b", file) == b"same"
    with pytest.raises(NotFoundError):
        store.get("a")
    assert store.purge(older_than=NOW)[0] == 0
    assert store.purge()[0] == 1
    assert store.size().packs == 0


def test_a_full_disk_leaves_nothing_behind(
    store: PackStore, top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (top / "f").write_bytes(b"x")

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CannotKeep, match="No space left"):
        take(store, "k", top)
    assert listed(store) == set()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_disk_that_fills_while_it_is_written_to_is_reported(
    store: PackStore, top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = random_file(top, 0, 3 << 20)
    opened = os.open

    def onto_a_full_disk(name: object, flags: int, *args: object, **more: object) -> int:
        if "@" in str(name):
            opened(name, flags, *args, **more)  # type: ignore[arg-type]
            return opened("/dev/full", os.O_RDWR)
        return opened(name, flags, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", onto_a_full_disk)
    with pytest.raises(CannotKeep, match="cannot be written"):
        take(store, "k", path)
    monkeypatch.undo()
    assert listed(store) == set()


@pytest.mark.parametrize("cut", [0, 1, 30, -1, -60])
def test_a_pack_that_was_cut_short_is_reported(store: PackStore, top: Path, cut: int) -> None:
    (top / "f").write_bytes(b"x" * 100)
    take(store, "k", top)
    path = store.folder / "k.pack"
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(SBError, match="damaged"):
        store.get("k")


def test_an_altered_pack_is_reported(store: PackStore, top: Path) -> None:
    (top / "f").write_bytes(os.urandom(2000))
    pack = take(store, "k", top)
    path = store.folder / "k.pack"
    content = bytearray(path.read_bytes())
    content[500] ^= 1
    path.write_bytes(content)
    with pytest.raises(SBError, match="damaged"):
        store.content("k", pack.entries[-1])
    content[-100] ^= 1
    path.write_bytes(content)
    with pytest.raises(SBError, match="damaged"):
        store.get("k")


def test_content_of_another_entry_is_not_given(store: PackStore, top: Path) -> None:
    take(store, "k", top)
    with pytest.raises(NotFoundError):
        store.content("k", Entry("/x", "file", 0o644, 1, "00"))


def test_the_store_is_readable_by_the_owner_alone(store: PackStore, top: Path) -> None:
    take(store, "k", top)
    assert stat.S_IMODE(store.folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in store.folder.iterdir()} == {0o600}


def test_many_at_once_stay_below_the_cap_and_agree_on_a_key(tmp_path: Path, top: Path) -> None:
    files = [random_file(top, number) for number in range(12)]
    keys: list[str] = []

    def take_and_read(number: int) -> None:
        store = PackStore(tmp_path / "packs", cap_bytes=66_000)
        take(store, "shared", top / "nothing", session="s")
        try:
            take(store, f"k{number}", files[number], session=f"s{number}", session_share=1)
        except SnapshotStoreFull:
            return
        keys.append(f"k{number}")

    threads = [threading.Thread(target=take_and_read, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    store = PackStore(tmp_path / "packs", cap_bytes=66_000)
    assert len(keys) == 6
    assert set(store.list_keys()) == {"shared", *keys}
    assert store.size().stored <= 66_000


def test_old_packs_are_removed_once_a_day(tmp_path: Path, top: Path) -> None:
    clock = SteeredClock()
    store = PackStore(tmp_path / "packs", clock=clock, keep_days=1)
    asked = list[int]()

    def promised() -> set[str]:
        asked.append(1)
        return set()

    store.expire_daily(promised)
    take(store, "k", top)
    for hours, packs in ((0, 1), (23, 1), (2, 0), (1, 0)):
        clock.time += hours * 3600
        store.expire_daily(promised)
        assert store.size().packs == packs
    assert len(asked) == 2
