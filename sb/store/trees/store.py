"""Trees of projects in SB_HOME: one private git folder each, bounded in size and time.

A project's tree is stored before a call whose writes are not all known, and again when the call is reported. The
difference goes into the call's snapshot (a pack), so a tree itself is needed only in between; what stays makes the
next storing cheap.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from sb.base.files import write_atomic
from sb.base.sources import SYSTEM_CLOCK, Clock
from sb.base.text import human_bytes
from sb.store.packs import KEY
from sb.store.trees.git_program import CannotStore, Deadline, Git, TooSlow, git_path, make_git_folder
from sb.store.trees.mapped import mapped_files
from sb.store.trees.open_calls import OpenCall, OpenCalls, StoredTree, token
from sb.store.trees.part import Part, PartStoring, Rules
from sb.store.trees.pipes import Pipes
from sb.store.trees.repository_files import repository_of
from sb.store.trees.running import remove_contents
from sb.store.trees.watching import Watch

DAY_S = 86_400.0
_MOST_NESTED = 50  # repositories in one project
_LATEST, _FULL, _SLOW, _EXPIRED = "latest.json", "full", "slow", ".expired"
_PAUSE_S = 0.002
_MOST_LOCKED_S = 0.5  # to wait for another process
_OVER = 2  # times the room of a project, for the tree after a call
_MOST_PARTS = 64  # before those that nothing refers to are looked for
_YOUNG_S = 3600.0
_TRIED_AGAIN_S = 600.0


class TreesSize(NamedTuple):
    """Fill of the store: number of projects, bytes of their contents, and the most they may have."""

    projects: int
    stored: int
    cap: int


class TreeStore(OpenCalls):
    """Trees of projects, and the calls that wait for a second one.

    Args:
        folder: made on first use, readable by the owner alone.
        rules: what is stored.
        cap_bytes: the most that the contents of all projects may have.
        keep_days: days after which a project that nobody works in is removed.
    """

    def __init__(
        self,
        folder: Path,
        rules: Rules,
        *,
        cap_bytes: int = 1 << 30,
        keep_days: float = 14,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        super().__init__(folder, clock)
        self.rules = rules
        self.cap_bytes = cap_bytes
        self._keep_s = keep_days * DAY_S

    def store(
        self, project: str, seconds: float, *, by_watch: bool = False, after_call: bool = False
    ) -> StoredTree:
        """Store a project as it is now.

        Args:
            project: a real path. seconds: in which it has to be done.
            by_watch: where its watch saw no change, what was stored last is what it is.
            after_call: it may be more than there is room for, until the call ends.

        Raises:
            CannotStore: it cannot be stored; what was stored before stays. TooSlow: not in this time.
        """
        deadline = Deadline.after(self._clock, seconds)
        if not git_path():
            raise CannotStore("no git of the system is installed", "install git as a package of the system")
        try:
            with self._locked(project, deadline) as home:
                room = self.cap_bytes * (_OVER if after_call else 1)
                return self._store(project, home, deadline, room, by_watch=by_watch)
        except OSError as error:
            raise CannotStore(f"the tree cannot be stored: {error.strerror or error}") from None

    def watch(self, project: str, seconds: float) -> None:
        """Watch the folders of a stored project, if there is a queue for it and it does not watch all of them.

        Raises:
            CannotStore: as for `store`.
        """
        deadline = Deadline.after(self._clock, seconds)
        watched = set[str]()
        try:
            with self._locked(project, deadline) as home:
                watch = Watch(home, project)
                # A folder that is made meanwhile, in one that is not watched yet, is found by looking again.
                while watch.is_missing and (latest := self._latest(home)):
                    parts = list(self._read_parts(home, latest.get("parts", ())))
                    storings = (self._storing(project, it.work, home, it, deadline, 0.0) for it in parts)
                    folders = {folder for storing in storings for folder in storing.look_folders()}
                    if not watch.cover(folders) or folders <= watched:
                        break
                    watched = folders
                    self._store(project, home, deadline, self.cap_bytes)
                    watch = Watch(home, project)
        except OSError as error:
            raise CannotStore(f"the tree cannot be stored: {error.strerror or error}") from None

    def _store(
        self, project: str, home: Path, deadline: Deadline, room: int, *, by_watch: bool = False
    ) -> StoredTree:
        os.utime(home / "lock")
        begun = (home / "lock").stat().st_ctime  # by the clock that files get their times from
        make_git_folder(home / "git")
        latest = self._latest(home)
        known = tuple(self._read_parts(home, latest.get("parts", ())))
        watch, mapped = Watch(home, project), mapped_files(project)
        unseen = mapped or any(part.mapped for part in known)
        if by_watch and known and not unseen and watch.is_quiet():
            storings = [self._storing(project, item.work, home, item, deadline, begun) for item in known]
            if all(storing.is_same() for storing in storings):
                return StoredTree(project, begun, known, tuple(latest.get("skipped", ())))
        watch.begin()
        before = {part.work: part for part in known}
        parts, waiting, skipped = list[Part](), [project], list[str]()
        while waiting:
            work = min(waiting, key=lambda path: path not in before)  # new ones push out none that was stored
            waiting.remove(work)
            if len(parts) > _MOST_NESTED:
                skipped.append(work)
                continue
            storing = self._storing(project, work, home, before.get(work), deadline, begun, mapped)
            try:
                part = storing.store()
            except CannotStore:
                if work == project or os.path.lexists(f"{work}/.git"):
                    raise
                continue  # a repository that went meanwhile, such as the place of a mount
            parts.append(part)
            waiting += [f"{work}/{name}" for name in part.nested]
        written = [self._write_part(home, part.content()) for part in parts]
        stored = int(latest.get("bytes", 0)) + sum(part.added for part in parts)
        now = {"parts": written, "bytes": stored, "project": os.fsencode(project).hex(), "skipped": skipped}
        if stored > room and latest and self._is_awaited(project):
            raise CannotStore("the store of trees is full (undo.store_max_bytes)")
        if now != latest:
            write_atomic(home / _LATEST, json.dumps(now).encode(), durable=False)
            self._sweep(home, written)
        if stored > room:
            self._begin_anew(home, full=not latest)
        watch.settle(f"{part.work}/{name}".rstrip("/") for part in parts for name in part.new_folders)
        with suppress(FileNotFoundError):
            (home / _SLOW).unlink()
        return StoredTree(project, begun, tuple(parts), tuple(skipped))

    def _storing(
        self,
        project: str,
        work: str,
        home: Path,
        before: Part | None,
        deadline: Deadline,
        begun: float,
        mapped: Collection[str] = (),
    ) -> PartStoring:
        name = home / f"part-{token(work)}"
        with suppress(FileNotFoundError):
            os.unlink(f"{name}.index.lock")  # of a process that was killed: this one holds the project's lock
        if not os.path.exists(f"{name}.index"):
            before = None
        odd = (item for item, left in (before.left_out if before else {}).items() if left.is_odd)
        pipes = Pipes.of(work, odd)
        git = Git(str(home / "git"), work, f"{name}.index", f"{name}.excludes", pipes=pipes)
        return PartStoring(git, self.rules, before, repository_of(work, project), deadline, begun, mapped)

    def git_of(self, project: str) -> Git:
        """Git on a project's private folder, to read what is stored."""
        home = self.home_of(project)
        return Git(str(home / "git"), project, str(home / "none.index"))

    def recently_slow(self, project: str) -> str:
        """The reason why storing failed in the last minutes, so that a call need not wait for it again; "" for none."""
        path = self.home_of(project) / _SLOW
        with suppress(OSError):
            if abs(self._clock.now() - path.stat().st_mtime) < _TRIED_AGAIN_S:
                return path.read_text("utf-8", "replace")
        return ""

    def is_stored(self, project: str) -> bool:
        """True once a project's tree was stored, so that most of it need not be stored again."""
        return (self.home_of(project) / _LATEST).exists()

    def note_slow(self, project: str, why: str) -> None:
        """Note why a project could not be stored, for `sb doctor`."""
        with suppress(OSError):
            home = self.home_of(project)
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_atomic(home / _SLOW, why.encode(), durable=False)

    def slow_projects(self) -> dict[str, str]:
        """The projects whose trees could not be stored last, with the reasons."""
        result = {}
        for home in self._homes():
            project, why = self._project_of(home), ""
            for name in (_FULL, _SLOW):
                with suppress(OSError):
                    why = why or (home / name).read_text("utf-8", "replace")
            if why:
                result[project or home.name] = why
        return result

    def begin(self, call: OpenCall, project: str) -> None:
        """Keep the tree of a call until it is reported; a key that is there already is left as it is.

        Raises:
            CannotStore: it cannot be kept, or the last call before it has made room meanwhile.
        """
        if call.tree is None:
            super().begin(call, project)
            return
        home = self.home_of(project)
        try:
            with self._locked_home(home, Deadline.after(self._clock, _MOST_LOCKED_S)):
                if not self._latest(home):
                    raise CannotStore("the store of trees was full and begins anew")
                super().begin(call, project)
        except OSError as error:
            raise CannotStore(f"the tree cannot be stored: {error.strerror or error}") from None

    def project_of(self, key: str) -> str:
        """The project of a call that is not reported; "" for none."""
        homes = (home for home in self._homes() if KEY.fullmatch(key) and (home / "open" / key).exists())
        home = next(homes, None)
        return self._project_of(home) if home else ""

    def end(self, project: str, key: str) -> None:
        """Forget the tree of a call; the last one that waits makes room, where there is too little."""
        home = self.home_of(project)
        with suppress(FileNotFoundError):
            self._open_path(project, key).unlink()
        if self._bytes_of(home) > self.cap_bytes and not self.open_keys(project):
            with (
                suppress(OSError, TooSlow),
                self._locked_home(home, Deadline.after(self._clock, _MOST_LOCKED_S)),
            ):
                if not self.open_keys(project):  # another may have begun meanwhile
                    remove_contents(home)

    def expire_daily(self) -> None:
        """Remove projects that nobody works in, at most once a day; what cannot be removed stays for the next time."""
        marker, now = self.folder / _EXPIRED, self._clock.now()
        with suppress(OSError):
            if not self.folder.is_dir() or (marker.exists() and abs(now - marker.stat().st_mtime) < DAY_S):
                return
            marker.touch(0o600)
            os.utime(marker, (now, now))
            self.purge(now - self._keep_s)
            homes = sorted(self._homes(), key=_changed_at)
            while len(homes) > 1 and sum(map(self._bytes_of, homes)) > self.cap_bytes:
                self._remove(homes.pop(0))

    def purge(self, before: float | None = None) -> tuple[int, int]:
        """Remove the trees of all projects, or of those not stored since a time; returns how many, and their bytes."""
        number = stored = 0
        for home in self._homes():
            if before is not None and _changed_at(home) >= before:
                continue
            size = self._bytes_of(home)
            if self._remove(home):
                number, stored = number + 1, stored + size
        return number, stored

    def size(self) -> TreesSize:
        """Fill of the store, as counted while storing: contents before compression."""
        homes = self._homes()
        return TreesSize(len(homes), sum(map(self._bytes_of, homes)), self.cap_bytes)

    def _homes(self) -> list[Path]:
        with suppress(OSError):
            return [path for path in self.folder.iterdir() if path.is_dir()]
        return []

    def _bytes_of(self, home: Path) -> int:
        return int(self._latest(home).get("bytes", 0))

    def _project_of(self, home: Path) -> str:
        with suppress(ValueError):
            return os.fsdecode(bytes.fromhex(str(self._latest(home).get("project", ""))))
        return ""

    def _remove(self, home: Path) -> bool:
        """Remove a project's trees unless they are in use."""
        with suppress(OSError, TooSlow), self._locked_home(home, Deadline.after(self._clock, _MOST_LOCKED_S)):
            shutil.rmtree(home)
            return True
        return False

    def _begin_anew(self, home: Path, *, full: bool) -> None:
        """Make room: the next storing writes all contents again.

        Args:
            full: one tree alone has no room, so that none is stored until tomorrow.
        """
        remove_contents(home)
        if full:
            limit = human_bytes(self.cap_bytes)
            (home / _FULL).write_text(f"it has more than {limit} (undo.store_max_bytes)", "utf-8")
        raise CannotStore("the store of trees was full and begins anew")

    def _sweep(self, home: Path, latest: Iterable[str]) -> None:
        """Remove parts that neither the latest tree nor a call refers to; young ones may be a call's that begins."""
        paths = list((home / "parts").iterdir())
        if len(paths) < _MOST_PARTS:
            return
        named = set(latest)
        for path in (home / "open").glob("*"):
            with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
                if path.stat().st_mtime < self._clock.now() - self._keep_s:
                    path.unlink()
                    continue
                fields = json.loads(path.read_bytes())
                named.update((*fields.get("parts", ()), *fields.get("next", {}).get("parts", ())))
        before = self._clock.now() - _YOUNG_S
        for path in paths:
            with suppress(FileNotFoundError):
                if path.name not in named and path.stat().st_mtime < before:
                    path.unlink()

    def _latest(self, home: Path) -> dict[str, Any]:
        try:
            result = json.loads((home / _LATEST).read_bytes())
        except (OSError, ValueError):
            return {}
        return result if isinstance(result, dict) else {}

    @contextmanager
    def _locked(self, project: str, deadline: Deadline) -> Iterator[Path]:
        home = self.home_of(project)
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        with suppress(FileNotFoundError):
            if self._clock.now() - (home / _FULL).stat().st_mtime < DAY_S:
                raise CannotStore((home / _FULL).read_text("utf-8"))
            (home / _FULL).unlink()
        with self._locked_home(home, deadline):
            yield home

    @contextmanager
    def _locked_home(self, home: Path, deadline: Deadline) -> Iterator[None]:
        """Hold a project's trees against other processes; raises TooSlow."""
        handle = os.open(home / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            while True:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    deadline.left()
                    self._clock.sleep(_PAUSE_S)
            yield
        finally:
            os.close(handle)


def _changed_at(home: Path) -> float:
    with suppress(OSError):
        return (home / _LATEST).stat().st_mtime
    return 0.0
