"""Contents of settings and hooks in a project, compared and put back where the engine cannot hold them.

Landlock cannot close a file inside of a folder that it opens. Before a call each such file is copied to
SB_HOME/confine/copies, under its digest; afterwards what differs is moved away and written anew.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from sb.base.files import write_atomic
from sb.base.text import plain
from sb.base.values.frozen import frozen
from sb.hosts.confinement import no_links
from sb.hosts.confinement.own_files import read_own
from sb.hosts.confinement.profile import compared_in, is_work_folder

_LARGEST = (
    8_000_000  # bytes of a file that is copied; a larger one that changes is moved away and not written anew
)
_LINK = "link"
_DEEPEST = 40  # folders in each other that are looked into


@frozen
class Contents:
    """Files and links as they were.

    Args:
        places: settings and folders of hooks. entries: each path in them to a file's mode and digest, or a link's text.
        copies: the folder with the files.
    """

    places: list[str]
    entries: dict[str, list[str]]
    copies: str


def contents(project: str, copies: Path, started: Sequence[str] = ()) -> Contents:
    """The settings and hooks of a project, copied.

    Args:
        project: its root, real path. copies: made where it is missing.
        started: folders of it in which hosts were started.

    Raises:
        OSError: a copy cannot be written.
    """
    copies.mkdir(mode=0o700, parents=True, exist_ok=True)
    places = list(dict.fromkeys(compared_in(project, started)))
    return Contents(places, _entries(places, copies), str(copies))


def contents_with(before: Contents, paths: Collection[str]) -> Contents:
    """The contents as they were, but for paths that a call was let change, which are copied anew.

    Raises:
        OSError: a copy cannot be written.
    """
    copies = Path(before.copies)
    there = [path for path in paths if no_links.status(path) is not None]
    now = _entries(there, copies)
    others = {
        path: entry
        for path, entry in before.entries.items()
        if not any(_is_in(path, place) for place in paths)
    }
    places = [
        *before.places,
        *(path for path in there if not any(_is_in(path, place) for place in before.places)),
    ]
    return Contents(places, {**others, **now}, before.copies)


def put_back(
    project: str, before: Contents, move: Callable[[str], str], is_allowed: Callable[[str], bool]
) -> Iterator[str]:
    """Put back the files that changed since; yields what was done, and what could not be, a clause each.

    Args:
        move: moves a path away; returns a note of where it is. is_allowed: a call since then was let change a path.
    """
    now = _entries(before.places, None)
    for path, entry in now.items():
        if before.entries.get(path) == entry or is_allowed(path) or no_links.status(path) is None:
            continue
        shown = plain(path, one_line=True)
        try:
            note = move(path)
        except OSError as error:
            yield f"could not move {shown} away: {error.strerror}"
            continue
        if path not in before.entries:
            yield f"moved {shown} away, which only an approved call may create{note}"
    for path, entry in before.entries.items():
        if now.get(path) != entry and not is_allowed(path):
            try:
                _clear_way(project, path, move)
                yield _written(path, entry, Path(before.copies))
            except OSError as error:
                yield f"could not put {plain(path, one_line=True)} back: {error.strerror}"


def _is_in(path: str, place: str) -> bool:
    return f"{path}/".startswith(f"{place}/")


def remove_unused(copies: Path, used: Collection[str]) -> None:
    """Remove copies that no comparison needs any more.

    Args:
        used: digests.
    """
    with suppress(OSError):
        for path in copies.iterdir():
            if path.name not in used:
                path.unlink()


def _clear_way(project: str, path: str, move: Callable[[str], str]) -> None:
    """Move away links and files that stand where the folders of a path were, so that nothing is written through them."""
    parts = os.path.relpath(path, project).split("/")
    if parts[0] == "..":  # hooks of a repository elsewhere, which names the project
        parts, project = path.split("/")[1:], "/"
    for count in range(1, len(parts)):
        folder = os.path.join(project, *parts[:count])
        if no_links.status(folder) is not None and not no_links.is_folder(folder):
            move(folder)
    if no_links.status(path) is not None:
        move(path)


def _written(path: str, entry: list[str], copies: Path) -> str:
    shown = plain(path, one_line=True)
    kind, value = entry
    if kind == _LINK:
        no_links.make_folders(os.path.dirname(path))
        no_links.make_link(path, value)
        return f"put the link {shown} back"
    try:
        content = read_own(copies / value)
    except FileNotFoundError:
        return f"could not put {shown} back, since it was too large to be copied"
    no_links.make_folders(os.path.dirname(path))
    no_links.write(path, content, int(kind, 8))
    return f"put {shown} back to what it was"


def _entries(places: Collection[str], copies: Path | None) -> dict[str, list[str]]:
    return {path: entry for place in places for path, entry in _entries_of(place, copies) if entry}


def _entries_of(place: str, copies: Path | None) -> Iterator[tuple[str, list[str]]]:
    """A file or link, or all of them in a folder; a folder that cannot be opened has none."""
    if not no_links.is_folder(place):
        with ExitStack() as stack:
            if (handle := _handle(os.path.dirname(place), stack)) is not None:
                yield place, _entry(handle, os.path.basename(place), copies)
        return
    waiting = [(place, 0)]
    while waiting:
        folder, depth = waiting.pop()
        if depth > _DEEPEST or (depth and is_work_folder(folder)):
            continue
        with ExitStack() as stack:
            if (handle := _handle(folder, stack)) is None:
                continue
            for name in sorted(os.listdir(handle)):
                path = os.path.join(folder, name)
                if name.startswith(no_links.ASIDE):
                    continue
                if _is_folder(handle, name):
                    waiting.append((path, depth + 1))
                else:
                    yield path, _entry(handle, name, copies)


def _handle(folder: str, stack: ExitStack) -> int | None:
    try:
        return stack.enter_context(no_links.opened(folder))
    except OSError:
        return None


def _is_folder(handle: int, name: str) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _entry(folder: int, name: str, copies: Path | None) -> list[str]:
    """A file's mode and digest, or a link's text; [] for what is neither, or cannot be read.

    Args:
        folder: its folder, opened.

    Raises:
        OSError: a copy cannot be written.
    """
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            return [_LINK, os.readlink(name, dir_fd=folder)]
        content = no_links.read_in(folder, name, _LARGEST + 1)
    except OSError:
        return []
    mode = f"{stat.S_IMODE(status.st_mode):o}"
    if len(content) > _LARGEST:  # compared by what does not need it to be read
        return [mode, f"large-{status.st_size}-{status.st_mtime_ns}"]
    digest = hashlib.sha256(content).hexdigest()
    if copies is not None and not (copies / digest).exists():
        write_atomic(copies / digest, content, durable=False)
    return [mode, digest]
