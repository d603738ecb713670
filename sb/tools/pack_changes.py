"""The changes that restoring a pack would make, and what keeps a path from being restored."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sb.base.values.frozen import frozen
from sb.errors import NotFoundError
from sb.kernel.recovery_loop.variants import NOT_RESTORED
from sb.store.file_age import is_older
from sb.store.pack_file import ABSENT, FILE, FOLDER, LINK, Entry, Pack
from sb.store.path_states import OTHER, is_same, path_of, state_of, states
from sb.tools.failures import display

_KINDS = {FILE: "file", LINK: "symbolic link", FOLDER: "folder"}
OWN_WHILE_FILLED = 0o700  # mode of a folder until its contents are there
_ONLY_COPY = "is older than the call and stored nowhere else, so it stays"

Rows = Sequence[Mapping[str, Any]]


@frozen
class Change:
    """One path that differs from its snapshot.

    Args:
        before: what it was, None for absent. now: what it is.
        obstacle: why it must not be restored, "" if it may.
        only_copy: restoring would remove content that was there before the call, and is in no snapshot.
    """

    path: str
    before: Entry | None
    now: Entry | None
    obstacle: str = ""
    only_copy: bool = False

    @property
    def unreadable(self) -> bool:
        """True for anything but a readable file, link or folder: it stays, even if restoring is forced."""
        return self.now is not None and self.now.kind == OTHER

    @property
    def stays(self) -> bool:
        """True for what is left where it is, and the others do not wait for it."""
        return self.unreadable or self.only_copy


def conflicts(changes: Sequence[Change]) -> list[str]:
    """The conflicts that keep a restore from beginning: paths that somebody changed since."""
    return [change.obstacle for change in changes if change.obstacle and not change.stays]


def changes_of(rows: Rows, pack: Pack, *, force: bool = False) -> list[Change]:
    before = {entry.path: entry for entry in pack.entries}
    left = {path_of(row): state_of(row) for row in rows}
    staged = {path_of(row): {"tracked": str(row["tracked"])} for row in rows if "tracked" in row}
    unknown = next((path for path in left if not _known(path, before)), "")
    if unknown:
        raise NotFoundError(f"snapshot {pack.header.key} does not hold {display(unknown)}")
    now = _present(left, before)
    found = []
    for path in sorted(_concerned(left, before, now), key=lambda path: path.split("/")):
        was, present = _existing(before.get(path)), now.get(path)
        if not is_same(was, present):
            obstacle = _obstacle(path, was, left.get(path), present, path in left)
            if obstacle and path in staged and tracked_by({"path": path}) == staged[path]:
                obstacle = ""  # written again with the same content
            found.append(Change(path, was, present, obstacle))
    return found if force else _without_only_copies(found, rows, pack)


def _without_only_copies(changes: Sequence[Change], rows: Rows, pack: Pack) -> list[Change]:
    """The changes, of which those stay that would remove content of before the call that no snapshot holds.

    A repository of which a part stays, stays as a whole.
    """
    stored = {entry.sha256 for entry in pack.entries}
    older = {path_of(row) for row in rows if is_older(row)}
    only = {
        change.path
        for change in changes
        if change.before is None
        and change.path in older
        and not change.obstacle
        and change.now is not None
        and change.now.sha256 not in stored
    }
    repositories = [
        f"{above}/.git" for above, inside, _ in (path.partition("/.git/") for path in only) if inside
    ]
    return [
        replace(change, obstacle=f"{display(change.path)} {_ONLY_COPY}", only_copy=True)
        if change.path in only
        or (change.before is None and not change.obstacle and is_below(change.path, repositories))
        else change
        for change in changes
    ]


def tracked_by(row: Mapping[str, Any]) -> dict[str, str]:
    """The staged state by git's index, as a field of its row; git also rewrites an index without changing it."""
    if not row["path"].endswith("/index") or "/.git/" not in row["path"]:
        return {}
    from sb.shell.snapshots.git_index import tracked_digest  # few calls change one

    digest = tracked_digest(path_of(row))
    return {"tracked": digest} if digest else {}


def is_below(path: str, tops: Sequence[str]) -> bool:
    return any(path == top or path.startswith(f"{top}/") for top in tops)


def _concerned(
    left: Mapping[str, Entry | None], before: Mapping[str, Entry], now: Mapping[str, Entry]
) -> set[str]:
    """The paths of the rows, what was below a folder that went, and what is below one that has to go."""
    concerned = set(left)
    for path, state in left.items():
        if is_folder(before.get(path)) and not is_folder(state):
            concerned.update(item for item in before if item.startswith(f"{path}/"))
    going = ""
    for path in sorted(now, key=lambda path: path.split("/")):
        if going and path.startswith(going):
            concerned.add(path)
        elif path in concerned and is_folder(now[path]) and not is_folder(before.get(path)):
            going = f"{path}/"
    return concerned


def _known(path: str, before: Mapping[str, Entry]) -> bool:
    """True if a pack says what was at a path: also below a folder that it holds or an absence, where nothing was."""
    while path not in before:
        path = os.path.dirname(path)
        if path == "/" or not path:
            return False
    return True


def _present(left: Mapping[str, Entry | None], before: Mapping[str, Entry]) -> dict[str, Entry]:
    """The present states of paths, and of what is below where a whole folder comes or goes."""
    deep, flat, covered = list[str](), list[str](), ""
    for path in sorted(left, key=lambda path: path.split("/")):
        if covered and path.startswith(covered):
            continue  # looked at from above: what was a folder there may be a link now
        if is_folder(before.get(path)) and is_folder(left[path]):
            flat.append(path)
        else:
            deep.append(path)
            covered = f"{path}/"
    return states(flat, deep=False) | states(deep)


def _existing(entry: Entry | None) -> Entry | None:
    return None if entry is None or entry.kind == ABSENT else entry


def is_folder(entry: Entry | None) -> bool:
    return entry is not None and entry.kind == FOLDER


def another_kind(before: Entry, now: Entry | None) -> bool:
    return now is not None and FOLDER in (before.kind, now.kind) and before.kind != now.kind


def _obstacle(path: str, before: Entry | None, left: Entry | None, now: Entry | None, recorded: bool) -> str:
    """The reason why a path must not be restored: it is not what the call left; "" if it may be."""
    if now is not None and now.kind == OTHER:
        return f"{display(path)}: {now.target or 'cannot be read'}{NOT_RESTORED}"
    if recorded and _is_left(left, now):
        return ""
    if not recorded and now is None:  # below a folder that the call removed
        return ""
    if now is None and left is not None and left.kind == OTHER:  # what was in the way
        return ""
    if now is None and before is not None and left is not None and another_kind(before, left):
        return ""  # removed by an earlier attempt
    if is_folder(before) and is_folder(now) and (not is_folder(left) or _is_being_filled(now)):
        return ""  # made by an earlier attempt, which did not come to its mode
    what = "was changed since"
    if now is None:
        what = "was deleted since"
    elif left is None:
        what = "was created again" if before is not None else "was created since"
    elif now.kind != left.kind:
        what = f"is a {_KINDS[now.kind]} now"
    elif now.sha256 == left.sha256:
        what = f"its mode was changed since, from {left.mode:04o} to {now.mode:04o}"
        return f"{display(path)}: {what}{NOT_RESTORED}"
    return f"{display(path)} {what}{NOT_RESTORED}"


def _is_being_filled(folder: Entry | None) -> bool:
    return folder is not None and folder.mode == OWN_WHILE_FILLED


def _is_left(left: Entry | None, now: Entry | None) -> bool:
    """True if a state is the one that the call left; a mode that was not recorded does not matter."""
    if left is not None and now is not None and left.mode < 0 and left.kind == FILE:
        return (now.kind, now.sha256) == (left.kind, left.sha256)
    return is_same(left, now)
