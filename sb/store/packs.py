"""Packs: snapshots of what one call is about to change, bounded in size and time.

One file per call in one folder. It appears complete, by a hard link to a temporary file, or not at all. Nothing is
shared between packs, so that removing one never takes content from another.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import field
from pathlib import Path
from typing import BinaryIO, NamedTuple

from sb.base.files import write_atomic
from sb.base.sources import SYSTEM_CLOCK, SYSTEM_IDS, Clock
from sb.base.text import human_bytes
from sb.base.values.frozen import mutable
from sb.errors import UsageError
from sb.store.pack_file import Entry, Header, Pack, PackReader, PackWriter, merged, read_header
from sb.store.pack_scan import CannotKeep, Scan, TooMuch

__all__ = ["CannotKeep", "Entry", "Pack", "PackStore", "Size", "SnapshotStoreFull", "TooMuch"]

DAY_S = 86_400.0
KEY = re.compile(r"[a-z0-9_-][a-z0-9_.-]{0,199}")  # no leading dot: those names are unfinished files
_SUFFIX = ".pack"
_LOCK, _USAGE, _EXPIRED = ".lock", ".usage", ".expired"
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LONGEST_WAIT_S = 5.0  # for another process that adds or removes packs
_COUNTED_AGAIN_S = 60.0  # at the earliest, when there is no room


class SnapshotStoreFull(CannotKeep):
    """The store, or a session's share of it, has no room; nothing is removed to make some."""

    kind = "snapshot_store_full"


class Size(NamedTuple):
    """Size of the store.

    Args:
        packs: number of packs. stored: bytes of their files. cap: bytes that they may have.
    """

    packs: int
    stored: int
    cap: int


@mutable
class _Usage:
    """Bytes in the store, by session; written before a pack appears, so that it may be too high, never too low."""

    sessions: dict[str, int] = field(default_factory=dict)
    packs: int = 0
    counted_at: float = 0.0

    @property
    def total(self) -> int:
        return sum(self.sessions.values())

    def add(self, session: str, size: int) -> None:
        self.sessions[session] = self.sessions.get(session, 0) + size
        self.packs += 1

    def remove(self, session: str, size: int) -> None:
        left = self.sessions.pop(session, 0) - size
        if left > 0:
            self.sessions[session] = left
        self.packs -= 1


class PackStore:
    """Snapshots of what calls change, by the call's key.

    A key is written once: a second attempt of a call does not replace the snapshot of the first.

    Args:
        folder: made on first use, readable by the owner alone.
        cap_bytes: the most that all packs may take on disk.
        keep_days: days for which a pack is promised.
        protected: files and folders that no pack may hold.
        durable: return from `take` once the pack survives power loss (one fsync).
    """

    def __init__(
        self,
        folder: Path,
        *,
        cap_bytes: int = 1 << 30,
        clock: Clock = SYSTEM_CLOCK,
        keep_days: float = 14,
        protected: Sequence[Path] = (),
        durable: bool = True,
    ) -> None:
        self.folder = folder
        self.cap_bytes = cap_bytes
        self._clock = clock
        self._keep_s = keep_days * DAY_S
        self._protected = tuple(protected)
        self._durable = durable

    def take(
        self,
        key: str,
        paths: Sequence[str],
        *,
        session: str,
        now: float | None = None,
        max_bytes: int = 64 << 20,
        max_files: int = 2000,
        session_share: float = 0.25,
        extra: Mapping[str, bytes] | None = None,
        hard_links: bool = False,
        files_only: bool = False,
        again: bool = False,
    ) -> Pack:
        """Take a snapshot of files, links and whole folders; a key that already exists is left unchanged.

        Args:
            paths: absolute and normal; links are kept as links, and none may lead to a path.
            session: the run that the call belongs to.
            now: seconds since the epoch; the clock's by default.
            max_bytes: of the contents. max_files: of the entries, folders and links included.
            session_share: the part of `cap_bytes` that one session may use.
            extra: named contents that belong to the call. One that is named by an absolute path is put back there on
                restoring where nothing is, such as a git object that was collected meanwhile.
            hard_links: take files that have a second name too; restoring one gives it a file of its own.
            files_only: refuse links and folders. again: replace the key's pack, if there is one.

        Returns:
            The key's pack, of this call or an earlier one.

        Raises:
            CannotKeep: a path is no file, link or folder of this file system, has a second name, cannot be read, or
                changes meanwhile; or the pack cannot be written.
            TooMuch: more than `max_bytes` or `max_files`.
            SnapshotStoreFull: no room in the store, or in the session's share.
            UsageError: the key is not a plain name.
        """
        path = self._path(key)
        old = self.get(key) if self.has(key) else None
        if old is not None and not again:
            return old
        replaced = old.stored_bytes if old else None
        taken = self._clock.now() if now is None else now
        header = Header(key, session, taken, taken + self._keep_s)
        with self._new_file(key) as (partial, file):
            writer = PackWriter(file, header)
            scan = Scan(writer, max_bytes, max_files, self._identities(), hard_links, files_only)
            for item in paths:
                scan.add(item)
            for name, content in (extra or {}).items():
                scan.add_extra(name, content)
            pack = writer.finish(scan.entries, scan.extra)
            self._flush(file)
            if not self._publish(partial, path, pack, session_share, taken, replaced=replaced):
                return self.get(key)
        return pack

    def extend(
        self,
        key: str,
        before: Iterable[tuple[Entry, bytes]],
        *,
        session: str,
        session_share: float = 0.25,
        extra: Mapping[str, bytes] | None = None,
    ) -> Pack:
        """Add what was at further paths to the snapshot of a call, or make it; what it holds already stays.

        Args:
            before: paths with their contents, parents before what is in them; a link's content is its target.
            session, session_share, extra: as `take`.

        Raises:
            CannotKeep: the pack cannot be written. SnapshotStoreFull: no room for it.
            SBError: the snapshot that is there is damaged.
        """
        path = self._path(key)
        with ExitStack() as opened:
            old = opened.enter_context(self.open(key)) if self.has(key) else None
            taken = self._clock.now()
            header = old.pack.header if old else Header(key, session, taken, taken + self._keep_s)
            with self._new_file(key) as (partial, file):
                pack = merged(PackWriter(file, header), old, before, extra or {})
                self._flush(file)
                replaced = old.pack.stored_bytes if old else None
                self._publish(partial, path, pack, session_share, taken, replaced=replaced)
        return pack

    @contextmanager
    def _new_file(self, key: str) -> Iterator[tuple[Path, BinaryIO]]:
        """An empty pack beside the others, gone at the end unless it was published."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            partial = self.folder / f".{key}@{SYSTEM_IDS.token(8)}"
            handle = os.open(partial, _NEW, 0o600)
        except OSError as error:
            raise _unwritable(error) from error
        try:
            with open(handle, "w+b", buffering=1 << 20) as file:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # says that its process lives
                yield partial, file
        except OSError as error:
            raise _unwritable(error) from error
        finally:
            partial.unlink(missing_ok=True)

    def _flush(self, file: BinaryIO) -> None:
        file.flush()
        if self._durable:
            os.fsync(file.fileno())

    def has(self, key: str) -> bool:
        """True if there is a pack of that key; raises UsageError."""
        return self._path(key).exists()

    def get(self, key: str) -> Pack:
        """The entries of a pack.

        Raises:
            NotFoundError: no pack of that key.
            SBError: it is damaged.
        """
        with self.open(key) as reader:
            return reader.pack

    def content(self, key: str, entry: Entry) -> bytes:
        """The content of an entry; raises NotFoundError, SBError."""
        with self.open(key) as reader:
            return reader.content(entry)

    def open(self, key: str) -> PackReader:
        """A reader of one pack, for several contents; raises NotFoundError, SBError."""
        return PackReader(self._path(key), key)

    def list_keys(self) -> list[str]:
        """The keys of all packs."""
        return [name[: -len(_SUFFIX)] for name, _ in self._files()]

    def size(self) -> Size:
        """The size of the store, counted now."""
        sizes = [size for _, size in self._files()]
        return Size(len(sizes), sum(sizes), self.cap_bytes)

    def has_room(self, size: int, session: str, session_share: float) -> bool:
        """True if contents of that many bytes would fit, if they could not be compressed at all."""
        share = session_share if session else 1.0
        if not self._obstacle(self._usage(), session, size, share):
            return True
        try:
            with self._locked():
                return not self._room(session, size, share, self._clock.now())[1]
        except (CannotKeep, OSError):
            return False

    def expire(
        self, now: float | None = None, promised: Callable[[str], bool] = lambda key: False
    ) -> tuple[int, int]:
        """Remove packs that are past their time, and files that killed processes left.

        Args:
            promised: whether the undo window of a key is still open; such a pack stays.

        Returns:
            Number of packs removed, and their bytes.

        Raises:
            CannotKeep: another process holds the store.
        """
        time = self._clock.now() if now is None else now
        return self._remove(lambda header: header.until <= time and not promised(header.key))

    def expire_daily(self, promised: Callable[[], Collection[str]]) -> None:
        """Remove what is past its time, at most once a day; a store that cannot be changed is left for the next time.

        Args:
            promised: gives the keys whose undo window is still open.
        """
        marker, now = self.folder / _EXPIRED, self._clock.now()
        with suppress(OSError, CannotKeep):
            if marker.exists() and abs(now - marker.stat().st_mtime) < DAY_S:
                return
            if self.folder.is_dir():
                marker.touch(0o600)
                os.utime(marker, (now, now))
                keys = frozenset(promised())
                self.expire(now, lambda key: key in keys)

    def fill(self) -> Size:
        """The size of the store as counted last: cheaper than `size`."""
        usage = self._usage()
        return Size(max(usage.packs, 0), usage.total, self.cap_bytes)

    def purge(
        self, keys: Collection[str] | None = None, *, older_than: float | None = None
    ) -> tuple[int, int]:
        """Remove packs by key, or those taken before a time (seconds since the epoch), or all of them.

        Returns:
            Number of packs removed, and their bytes.
        """
        if keys is not None:
            for key in keys:
                self._path(key)
        return self._remove(
            lambda header: (
                (keys is None or header.key in keys) and (older_than is None or header.taken < older_than)
            ),
            damaged=keys,
        )

    def _path(self, key: str) -> Path:
        require_key(key)
        return self.folder / f"{key}{_SUFFIX}"

    def _identities(self) -> frozenset[tuple[int, int]]:
        found = set()
        for path in (self.folder, *self._protected):
            with suppress(OSError):
                status = path.stat()
                found.add((status.st_dev, status.st_ino))
        return frozenset(found)

    def _files(self) -> Iterator[tuple[str, int]]:
        """Name and size of each pack file."""
        try:
            with os.scandir(self.folder) as entries:
                for entry in entries:
                    if entry.name.endswith(_SUFFIX) and not entry.name.startswith("."):
                        with suppress(FileNotFoundError):
                            yield entry.name, entry.stat(follow_symlinks=False).st_size
        except FileNotFoundError:
            return

    def _publish(
        self,
        partial: Path,
        path: Path,
        pack: Pack,
        session_share: float,
        now: float,
        *,
        replaced: int | None = None,
    ) -> bool:
        """Give a complete pack its name if there is room; False if the key has one already.

        Args:
            replaced: bytes of the key's pack that this one takes the place of; None to leave one that is there.
        """
        session, size = pack.header.session, pack.stored_bytes - (replaced or 0)
        with self._locked():
            usage, obstacle = self._room(session, size, session_share, now)
            if obstacle:
                raise SnapshotStoreFull(
                    obstacle, "sb undo --purge makes room; undo.store_max_bytes is the limit"
                )
            usage.add(session, size)
            usage.packs -= replaced is not None
            self._write_usage(usage)
            if replaced is not None:
                os.replace(partial, path)
                return True
            try:
                os.link(partial, path)
            except FileExistsError:
                usage.remove(session, size)
                self._write_usage(usage)
                return False
            return True

    def _room(self, session: str, size: int, session_share: float, now: float) -> tuple[_Usage, str]:
        """The content of the store, and the reason why it has too little room, or "".

        Where there is none, packs past their time are removed and the rest is counted again, at most once a minute.
        """
        usage = self._usage()
        obstacle = self._obstacle(usage, session, size, session_share)
        if obstacle and abs(now - usage.counted_at) >= _COUNTED_AGAIN_S:
            self._remove_locked(lambda header: header.until <= now)
            usage = self._count(now)
            obstacle = self._obstacle(usage, session, size, session_share)
            self._write_usage(usage)
        return usage, obstacle

    def _obstacle(self, usage: _Usage, session: str, size: int, session_share: float) -> str:
        share = int(self.cap_bytes * session_share)
        if usage.total + size > self.cap_bytes:
            return f"the snapshot store is full ({human_bytes(self.cap_bytes)})"
        if usage.sessions.get(session, 0) + size > share:
            return f"the session's share of the snapshot store is full ({human_bytes(share)})"
        return ""

    def _usage(self) -> _Usage:
        """Bytes by session, as written last; counted where that cannot be read."""
        try:
            found = json.loads((self.folder / _USAGE).read_bytes())
            sessions = {str(name): int(size) for name, size in found["sessions"].items()}
            return _Usage(sessions, int(found["packs"]), float(found["counted_at"]))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return self._count(self._clock.now())

    def _write_usage(self, usage: _Usage) -> None:
        fields = {"sessions": usage.sessions, "packs": usage.packs, "counted_at": usage.counted_at}
        write_atomic(self.folder / _USAGE, json.dumps(fields).encode(), durable=False)

    def _count(self, now: float) -> _Usage:
        usage = _Usage(counted_at=now)
        for name, size in self._files():
            header = read_header(str(self.folder / name))
            usage.add(header.session if header else "", size)
        return usage

    def _remove(
        self, chosen: Callable[[Header], bool], *, damaged: Collection[str] | None = ()
    ) -> tuple[int, int]:
        if not self.folder.is_dir():
            return 0, 0
        with self._locked():
            found = self._remove_locked(chosen, damaged=damaged)
            self._remove_leftovers()
            self._write_usage(self._count(self._clock.now()))
        return found

    def _remove_locked(
        self, chosen: Callable[[Header], bool], *, damaged: Collection[str] | None = ()
    ) -> tuple[int, int]:
        """Remove the packs that are chosen.

        Args:
            damaged: keys of packs that go even where their first line cannot be read; None for all such.
        """
        packs = stored = 0
        for name, size in list(self._files()):
            path = self.folder / name
            header = read_header(str(path))
            key = name[: -len(_SUFFIX)]
            goes = chosen(header) if header else damaged is None or key in damaged
            if goes:
                path.unlink(missing_ok=True)
                packs, stored = packs + 1, stored + size
        return packs, stored

    def _remove_leftovers(self) -> None:
        """Remove unfinished files whose process has died: a live one holds a lock on its own."""
        for path in self.folder.glob(".*@*"):
            with suppress(OSError), path.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink(missing_ok=True)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the store against other processes; raises CannotKeep after a bounded wait."""
        handle = os.open(self.folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            self._wait_for(handle)
            yield
        finally:
            os.close(handle)

    def _wait_for(self, handle: int) -> None:
        begun = self._clock.monotonic()
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if self._clock.monotonic() - begun > _LONGEST_WAIT_S:
                    raise CannotKeep(
                        "another process holds the snapshot store", "repeat the call later"
                    ) from None
                self._clock.sleep(0.005)


def require_key(key: str) -> None:
    """Refuse a key that could lead elsewhere as a file name; raises UsageError."""
    if not KEY.fullmatch(key):
        raise UsageError(f"{key!r} is no valid snapshot key", "use [a-z0-9_.-]+, without a dot at the start")


def _unwritable(error: OSError) -> CannotKeep:
    return CannotKeep(f"the snapshot cannot be written: {error.strerror or error}")
