"""Snapshots of the files that a host is about to change, and their restoration."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextvars import ContextVar
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from sb.base.text import counted, human_bytes
from sb.errors import NotFoundError, SBError
from sb.kernel.contracts import ToolError, ToolErrorCode
from sb.tools.failures import MOST_NAMED, denied, display, failures_of_packs, invalid, os_failures_about

if TYPE_CHECKING:
    from sb.store.pack_file import Pack
    from sb.store.snapshots import SnapshotStore
    from sb.tools.file_restoring import FileRestoring
    from sb.tools.hosted.trees import HostedTrees
    from sb.tools.pack_changes import Change
    from sb.tools.pack_restoring import PackRestoring
    from sb.tools.roots import Roots

MOST_FILES = 500  # of one call
DESTROYS = "host.shell.destructive"
# The session whose call is judged, which its snapshots count for; "" outside of one.
SESSION: ContextVar[str] = ContextVar("session", default="")

# The paths of a line that are stored although a person is asked about it: no part of what that person approves, since
# others may be there by then.
PART: ContextVar[Sequence[str]] = ContextVar("part", default=())
# Contents by path that the snapshot of the judged line needs besides: git's objects.
EXTRA: ContextVar[Mapping[str, bytes]] = ContextVar("extra", default=MappingProxyType({}))


class CallLimits(NamedTuple):
    """The most that the snapshot of one call may hold.

    Args:
        max_bytes: of all contents. max_files: files, links and folders.
        session_share: the part of the store that one session may use.
    """

    max_bytes: int = 64 << 20
    max_files: int = 2000
    session_share: float = 0.25


class HostedFiles:
    """Files that hosts change, wherever they are, except protected ones.

    Args:
        snapshots: opens the store that takes what they were, under the call's idempotency key.
        protected: files and folders that no host may change: SB_HOME, and the database.
        limits: of the snapshot of one call.
        trees: of projects, for calls whose changes are not all known; None to store none.
    """

    def __init__(
        self,
        snapshots: Callable[[], SnapshotStore],
        protected: Sequence[Path],
        limits: CallLimits | None = None,
        trees: HostedTrees | None = None,
    ) -> None:
        self._open = snapshots
        self._protected = protected
        self._limits = limits or CallLimits()
        self.trees = trees

    # Built for the calls that change files: most others are judged without.
    @cached_property
    def _snapshots(self) -> SnapshotStore:
        return self._open()

    @cached_property
    def _roots(self) -> Roots:
        from sb.tools.roots import Roots

        return Roots([Path("/")], self._protected)

    @cached_property
    def _restoring(self) -> FileRestoring:
        from sb.tools.file_restoring import FileRestoring

        return FileRestoring(self._roots, self._snapshots)

    @cached_property
    def _packs(self) -> PackRestoring:
        from sb.tools.pack_restoring import PackRestoring

        return PackRestoring(self._roots, self._snapshots.packs)

    def keep(
        self,
        tool: str,
        paths: list[str],
        input: dict[str, Any],
        keep: bool = True,
        *,
        idempotency_key: str = "",
    ) -> None:
        """Take a snapshot of the files that a call is about to change.

        Raises:
            ToolError: one is protected, no regular file, or too large to keep; or the store has no room.
        """
        if len(paths) > MOST_FILES:
            raise denied(f"the call changes {len(paths)} files; at most {MOST_FILES} can be undone at once")
        real = [self._checked(path, wanted=keep) for path in paths]
        if keep:
            self.take(real, idempotency_key, hard_links=True, files_only=True)

    def keep_line(
        self,
        command: str,
        paths: list[str],
        *,
        stands_for: Sequence[str] = (),
        tree: str = "",
        idempotency_key: str = "",
        **_: Any,
    ) -> None:
        """Take a snapshot of what a command line is about to delete and overwrite; an empty one if that is scratch alone.

        Args:
            stands_for: the calls that it would be without. tree: the project whose tree is stored besides, if it can be
                in time; "" for none.

        Raises:
            ToolError: the snapshot cannot be taken, or the tree of a call that destroys, with the reason.
        """
        if paths or not tree:
            self.take(paths, idempotency_key, extra=EXTRA.get(), hard_links=True)
        if tree and self.trees is not None:
            destroys = DESTROYS in stands_for
            why = self.trees.begin(tree, idempotency_key, SESSION.get(), whole=destroys)
            if why and destroys:
                self.trees.forget(tree, idempotency_key)
                raise denied(f"the project's tree was not stored: {why}")

    def keep_part(self, command: str, *, idempotency_key: str = "", **_: Any) -> None:
        """Take a snapshot of the part of a line's changes that one may hold; raises ToolError."""
        if PART.get():
            self.take(PART.get(), idempotency_key, extra=EXTRA.get(), hard_links=True)

    def take(
        self,
        paths: Sequence[str],
        key: str,
        *,
        extra: Mapping[str, bytes] | None = None,
        hard_links: bool = False,
        files_only: bool = False,
    ) -> Pack:
        """Take one snapshot of all paths of a call: files, links and whole folders.

        Args:
            extra, hard_links, files_only: as `PackStore.take`.

        Raises:
            ToolError: it cannot be taken, with the reason.
        """
        limits = self._limits
        for path in paths:
            self._roots.locate(path)
        try:
            return self._snapshots.packs.take(
                key,
                paths,
                session=SESSION.get(),
                max_bytes=limits.max_bytes,
                max_files=limits.max_files,
                session_share=limits.session_share if SESSION.get() else 1.0,
                extra=extra,
                hard_links=hard_links,
                files_only=files_only,
            )
        except SBError as error:
            raise denied(f"{error.message}, so the call could not be undone") from None

    def _checked(self, path: str, *, wanted: bool) -> str:
        """The path without links of a file that may be changed; raises ToolError."""
        try:
            with (
                self._roots.parent(path) as (folder, name),
                folder.open_present(name) as fd,
                os_failures_about(folder.path / name),
            ):
                if wanted and fd is not None and os.fstat(fd).st_size > self._snapshots.max_bytes:
                    limit = human_bytes(self._snapshots.max_bytes)
                    raise denied(
                        f"{display(path)} is larger than {limit}, the limit of a snapshot (files.keep_max_bytes)"
                    )
                return str(folder.path / name)
        except ToolError as error:
            if error.code is not ToolErrorCode.NOT_FOUND:
                raise
            return os.path.normpath(path)  # its folder is not there either

    def expire(self, promised: Callable[[], Collection[str]]) -> None:
        """Remove snapshots that are past their time, at most once a day.

        Args:
            promised: gives the keys of calls whose undo window is open.
        """
        self._snapshots.packs.expire_daily(promised)
        if self.trees is not None:
            self.trees.expire()

    def too_large(self, paths: Sequence[str]) -> bool:
        """True if no snapshot can be taken for want of room, so that a person must approve first."""
        total = 0
        for path in paths:
            try:
                size = Path(path).stat().st_size
            except OSError:
                continue
            total += size
            if size > self._snapshots.max_bytes or total > self._limits.max_bytes:
                return True
        return not self._snapshots.packs.has_room(total, SESSION.get(), self._limits.session_share)

    def with_snapshots(self, paths: Sequence[str], key: str) -> list[str]:
        """The paths that have a snapshot of the call."""
        pack = self._pack(key)
        if pack is None:
            from sb.store.snapshots import key_of_file

            return [path for path in paths if self._has_snapshot(key_of_file(key, path))]
        stored = {entry.path for entry in pack.entries}
        return [path for path in paths if path in stored]

    def stored_paths(self, key: str) -> list[str]:
        """The paths that the snapshot of a call was taken of."""
        from sb.store.path_states import roots_of

        pack = self._pack(key)
        return [] if pack is None else list(roots_of(pack))

    def _pack(self, key: str) -> Pack | None:
        try:
            return self._snapshots.packs.get(key)
        except NotFoundError:
            return None

    def _has_snapshot(self, key: str) -> bool:
        try:
            self._snapshots.get(key)
        except NotFoundError:
            return False
        return True

    def states(self, paths: Sequence[str]) -> list[dict[str, Any]]:
        """The state of files: path, sha256 and mode each, None for one that is missing or unreadable."""
        return [self._state(path) for path in paths[:MOST_FILES]]

    def _state(self, path: str) -> dict[str, Any]:
        from sb.tools.file_changes import sha256_of

        try:
            with (
                self._roots.parent(path) as (folder, name),
                folder.open_present(name) as fd,
                os_failures_about(folder.path / name),
            ):
                if fd is not None:
                    return {"path": path, "sha256": sha256_of(fd), "mode": os.fstat(fd).st_mode & 0o777}
        except ToolError:
            pass  # neither there nor readable: restoring it says which
        return {"path": path, "sha256": None, "mode": None}

    def states_after(
        self, paths: Sequence[str], key: str, *, only_changed: bool = False
    ) -> list[dict[str, Any]]:
        """The state of what a call named after it, as `sb.store.path_states.rows_after` gives it.

        Args:
            paths: of the call, where it has no snapshot. only_changed: leave out what is as it was.
        """
        pack = self._pack(key)
        if pack is None:
            return self.states(paths)
        from sb.store.file_age import marked, older_files
        from sb.store.pack_file import ABSENT, Entry
        from sb.store.path_states import OTHER, path_of, roots_of, row, rows_after
        from sb.tools.pack_changes import tracked_by

        try:
            rows = rows_after(pack, only_changed=only_changed)
            there = {entry.path for entry in pack.entries if entry.kind != ABSENT}
            made = {path_of(item) for item in rows if item["sha256"]} - there
            older = older_files(made, pack.header.taken)
            return marked((item | tracked_by(item) for item in rows), older)
        except SBError:  # too much to compare: it takes --force to restore it
            return [row(path, Entry(path, OTHER)) for path in roots_of(pack)]

    def have_changed(self, paths: Sequence[str], key: str) -> bool:
        """True if something of a call differs from its snapshot, or has none."""
        from sb.store.path_states import is_unchanged

        pack = self._pack(key)
        return pack is None or not is_unchanged(pack)

    def changed(self, key: str) -> dict[str, Any]:
        """The differences of a call's paths from its snapshot, for a call whose report was lost.

        Returns:
            done and detail, and as result what the report would have said; no `done` where there is no snapshot.
        """
        if self.trees is not None:
            self.trees.end_found(key)
        pack = self._pack(key)
        if pack is None:
            return {"detail": "there is no snapshot of it"}
        if not self.have_changed([], key):
            return {"done": False, "detail": "all is as it was before"}
        rows = self.states_after([], key)
        return {"done": True, "detail": "its files differ from the snapshot", "result": {"files": rows}}

    def restore(self, files: list[dict[str, Any]], key: str, *, idempotency_key: str = "") -> dict[str, Any]:
        """Restore paths from the snapshot of a call: none where one was changed since.

        Raises:
            ToolError: VALIDATION_ERROR when one of them is not what the call left, or some could not be restored.
        """
        if not self._snapshots.packs.has(key):
            return self._restore_old(files, key)
        with failures_of_packs():
            changes = self._packs.restore(files, key)
        return {"files": [_restored(change) for change in changes] or [_named(file) for file in files]}

    def restore_over(
        self, files: list[dict[str, Any]], key: str, *, idempotency_key: str = ""
    ) -> dict[str, Any]:
        """Restore paths from a snapshot also where somebody changed them since; what is there now is kept first.

        Raises:
            ToolError: what is there now cannot be kept, or restoring fails.
        """
        with failures_of_packs():
            changes = self._packs.changes(files, key)
            present = topmost(change.path for change in changes if not change.unreadable)
            pack = self.take(present, idempotency_key, hard_links=True)
            done = self._packs.restore(files, key, force=True)
        after = self.states_after(present, pack.header.key)
        return {"files": after, "restored": [_restored(change) for change in done]}

    def restorable(self, files: list[dict[str, Any]], key: str) -> dict[str, Any]:
        """Preview of `restore` with the same arguments: whether it would work now, and its changes."""
        if not self._snapshots.packs.has(key):
            return self._restorable_old(files, key)
        try:
            with failures_of_packs():
                changes = self._packs.changes(files, key)
        except ToolError as error:
            return {"ok": False, "detail": str(error)}
        from sb.tools.pack_changes import conflicts

        staying = [change.obstacle for change in changes if change.stays]
        going = [change for change in changes if not change.stays]
        why = conflicts(changes) or ([] if going else staying)
        does = [would(going, files), *staying]
        return {"ok": not why, "detail": "; ".join((why or does)[:MOST_NAMED])}

    def difference(self, files: list[dict[str, Any]], key: str) -> str:
        """A unified diff from the present files to their snapshots; sizes for files that are not text.

        Raises:
            ToolError: no such snapshot, or it is damaged.
        """
        from sb.tools.pack_diff import difference

        with failures_of_packs():
            changes = self._packs.changes(files, key)
            with self._snapshots.packs.open(key) as reader:
                return difference(changes, reader)

    def _restore_old(self, files: list[dict[str, Any]], key: str) -> dict[str, Any]:
        """Restore from snapshots of earlier versions, one for each file."""
        from sb.store.snapshots import key_of_file

        answer = self._restorable_old(files, key)
        if not answer["ok"]:
            raise invalid(str(answer["detail"]))
        return {
            "files": [
                self._restoring.restore(
                    file["path"], key_of_file(key, file["path"]), file["sha256"], file["mode"]
                )
                for file in files
            ]
        }

    def _restorable_old(self, files: list[dict[str, Any]], key: str) -> dict[str, Any]:
        from sb.store.snapshots import key_of_file

        answers = [
            self._restoring.restorable(
                file["path"], key_of_file(key, file["path"]), file["sha256"], file["mode"]
            )
            for file in files
        ]
        blocked = [answer for answer in answers if not answer["ok"]]
        shown = blocked or answers
        return {"ok": not blocked, "detail": "; ".join(str(answer["detail"]) for answer in shown)}


def topmost(paths: Iterable[str]) -> list[str]:
    """The paths that lie below no other of them."""
    found: list[str] = []
    for path in sorted(paths, key=lambda path: path.split("/")):
        if not found or not path.startswith(f"{found[-1]}/"):
            found.append(path)
    return found


def would(changes: Sequence[Change], files: Sequence[Mapping[str, Any]]) -> str:
    """One line: the changes of restoring these."""
    if not files:
        return "nothing that it changed was kept"
    if not changes:
        named = ", ".join(display(file["path"]) for file in files[:MOST_NAMED])
        return f"{named} {'is' if len(files) == 1 else 'are'} already restored"
    by_path = {change.path: change for change in changes}
    tops = topmost(by_path)
    lines = [_would_do(by_path[top], changes) for top in tops[:MOST_NAMED]]
    more = len(tops) - MOST_NAMED
    return "; ".join(lines) + (f"; and {more} more" if more > 0 else "")


def _would_do(change: Change, changes: Sequence[Change]) -> str:
    """The changes of restoring one path with all below it."""
    below = sum(item.path.startswith(f"{change.path}/") for item in changes)
    with_it = f" with {counted(below, 'path')} in it" if below else ""
    if change.before is None:
        return f"would delete {change.path}{with_it}, which did not exist before"
    facts = [human_bytes(change.before.size)] if change.before.kind == "file" else [change.before.kind]
    facts += [f"mode {change.before.mode:04o}"] if change.before.kind != "link" else []
    return f"would restore {change.path} ({', '.join(facts)}){with_it}"


def _restored(change: Change) -> dict[str, Any]:
    """A restored path as results say it."""
    from sb.store.path_states import row

    return {**row(change.path, change.before), "existed": change.before is not None}


def _named(row: Mapping[str, Any]) -> dict[str, Any]:
    return {**row, "existed": True}
