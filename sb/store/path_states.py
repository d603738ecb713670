"""The present state of paths, as a pack describes them, and how it differs from a snapshot."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from sb.base.values.frozen import mutable
from sb.store.pack_file import ABSENT, FILE, FOLDER, LINK, Entry, Pack
from sb.store.pack_scan import CannotKeep, Scan, entry_of

OTHER = "other"  # kind of what is neither a file, nor a link, nor a folder, or cannot be read
MOST_ROWS = 1000  # of one call besides the paths that it names; each is a line of its undo record
# Bytes of a file whose content is hashed. Of a larger one, and one that may not be read, its size and time stand for it.
_LARGEST = 64 << 20
_ANY_SIZE = 1 << 62  # bytes in all: nothing is kept
_MOST_FILES = 20_000
_DEEPEST = 150  # components of a folder that is looked into


class _Hashing:
    """Hashes contents and keeps none."""

    def whole(self, content: bytes) -> str:
        return hashlib.sha256(content).hexdigest()

    def chunks(self, chunks: Iterable[bytes]) -> tuple[str, int]:
        hashed, size = hashlib.sha256(), 0
        for chunk in chunks:
            hashed.update(chunk)
            size += len(chunk)
        return hashed.hexdigest(), size


@mutable
class _States(Scan):
    """Reads states; what no pack could hold is recorded as OTHER."""

    deep: bool = True
    deepest: int = _DEEPEST

    def add(self, path: str) -> None:
        try:
            super().add(path)
        except (CannotKeep, OSError) as problem:
            self._other(path, problem)

    def _entry(self, folder: int, name: str, path: str, device: int, *, depth: int) -> None:
        try:
            super()._entry(folder, name, path, device, depth=depth)
        except (CannotKeep, OSError) as problem:
            self._other(path, problem)

    def _other(self, path: str, problem: Exception) -> None:
        """Record what cannot be read, with the reason in place of a link's target; raises for too much."""
        if len(self.entries) >= self.max_files:
            raise problem
        why = (problem.strerror or "") if isinstance(problem, OSError) else str(problem)
        self._record(Entry(path, OTHER, target=why))

    def _file(self, folder: int, name: str, path: str, found: os.stat_result) -> None:
        if found.st_size <= _LARGEST:
            with suppress(PermissionError):  # its mode may be what the call changed
                super()._file(folder, name, path, found)
                return
        token = f"{found.st_size}:{found.st_mtime_ns}"
        self._record(entry_of(path, FILE, found, size=found.st_size, sha256=token))

    def _folder(self, folder: int, name: str, path: str, found: os.stat_result, depth: int) -> None:
        if self.deep:
            super()._folder(folder, name, path, found, depth)
        else:
            self._record(entry_of(path, FOLDER, found))

    def _refuse(self, path: str, found: os.stat_result) -> None:
        """Refuse nothing: it is only looked at."""


def states(paths: Iterable[str], *, deep: bool = True) -> dict[str, Entry]:
    """The state of paths, and unless `deep` is False of everything below them, by path; absent ones are left out.

    Raises:
        CannotKeep: there are too many.
    """
    scan = _States(_Hashing(), _ANY_SIZE, _MOST_FILES, deep=deep)
    for path in paths:
        scan.add(path)
    return {entry.path: entry for entry in scan.entries if entry.kind != ABSENT}


def is_same(state: Entry | None, other: Entry | None) -> bool:
    """True if two states are equal in kind, content and mode; None and absent are the same."""
    if state is None or state.kind == ABSENT:
        return other is None or other.kind == ABSENT
    if other is None or (state.kind, state.sha256) != (other.kind, other.sha256):
        return False
    return state.kind in (LINK, OTHER) or state.mode == other.mode


def roots_of(pack: Pack) -> list[str]:
    """The paths that were named when a pack was taken."""
    folders = {entry.path for entry in pack.entries if entry.kind == FOLDER}
    return [entry.path for entry in pack.entries if os.path.dirname(entry.path) not in folders]


def rows_after(pack: Pack, *, only_changed: bool = False) -> list[dict[str, Any]]:
    """The states after a call at the paths of its pack: a row for each named path, and each that differs below.

    Of a folder that is gone there is one row. A path that was neither there before nor is now has none.

    Args:
        only_changed: no rows for named paths that are as they were.

    Raises:
        CannotKeep: there is too much to compare.
    """
    roots = roots_of(pack)
    before = {entry.path: entry for entry in pack.entries if entry.kind != ABSENT}
    now = states(roots)
    named, rows, gone = set(roots), list[dict[str, Any]](), ""
    for path in sorted({*before, *now}, key=lambda path: path.split("/")):
        if gone and path.startswith(gone):
            continue
        was, found = before.get(path), now.get(path)
        if (path in named and not only_changed) or not is_same(was, found):
            rows.append(row(path, found))
        if was is not None and was.kind == FOLDER and (found is None or found.kind != FOLDER):
            gone = f"{path}/"
    if len(rows) - len(named) <= MOST_ROWS:
        return rows
    # Of a folder in which too much differs, nobody can tell what was changed since: it takes --force to restore it.
    entries = {
        path: Entry(path, OTHER) if _both_folders(before, now, path) else now.get(path) for path in roots
    }
    return [row(path, state) for path, state in entries.items() if path in before or path in now]


def _both_folders(before: Mapping[str, Entry], now: Mapping[str, Entry], path: str) -> bool:
    return all(path in item and item[path].kind == FOLDER for item in (before, now))


def row(path: str, state: Entry | None) -> dict[str, Any]:
    """One state as undo records store it: path, sha256 and mode, and the kind of anything but a file."""
    found: dict[str, Any] = {"path": path, "sha256": None, "mode": None}
    raw = os.fsencode(path)
    if raw.decode("utf-8", "replace") != path:  # JSON holds no bytes that are not UTF-8
        found |= {"path": raw.decode("utf-8", "replace"), "raw": raw.hex()}
    if state is None or state.kind == ABSENT:
        return found
    found |= {"sha256": state.sha256 or None, "mode": None if state.kind in (LINK, OTHER) else state.mode}
    return found if state.kind == FILE else found | {"kind": state.kind}


def path_of(row: Mapping[str, Any]) -> str:
    """The path that a row is about."""
    raw = row.get("raw")
    return os.fsdecode(bytes.fromhex(raw)) if isinstance(raw, str) else str(row["path"])


def state_of(row: Mapping[str, Any]) -> Entry | None:
    """The state that a row describes; None for an absent path."""
    digest, mode = row.get("sha256"), row.get("mode")
    kind = row.get("kind") or (FILE if digest else ABSENT)
    if kind == ABSENT:
        return None
    return Entry(path_of(row), str(kind), mode if isinstance(mode, int) else -1, 0, str(digest or ""))


def is_unchanged(pack: Pack) -> bool:
    """True if everything that a pack holds is as it was; False if that cannot be told."""
    before = {entry.path: entry for entry in pack.entries if entry.kind != ABSENT}
    try:
        now = states(roots_of(pack))
    except CannotKeep:
        return False
    return before.keys() == now.keys() and all(is_same(before[path], now[path]) for path in now)
