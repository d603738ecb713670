"""Contents of settings and hooks in a project, compared and put back where the engine cannot hold them.

Landlock cannot close a file inside of a folder that it opens. Before a call each such file is copied to
SB_HOME/confine/copies, under its digest; afterwards what differs is moved away and written anew.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path

from sb.confinement.profile import compared_in, is_work_folder
from sb.files import write_atomic
from sb.frozen import frozen
from sb.text import plain

_LARGEST = (
    8_000_000  # bytes of a file that is copied; a larger one that changes is moved away and not written anew
)
_LINK = "link"


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


def contents(project: str, copies: Path) -> Contents:
    """The settings and hooks of a project, copied.

    Args:
        project: its root, real path. copies: made where it is missing.

    Raises:
        OSError: a copy cannot be written.
    """
    copies.mkdir(mode=0o700, parents=True, exist_ok=True)
    places = list(dict.fromkeys(compared_in(project)))
    return Contents(places, _entries(places, copies), str(copies))


def put_back(
    project: str, before: Contents, move: Callable[[str], str], is_allowed: Callable[[str], bool]
) -> Iterator[str]:
    """Put back the files that changed since; yields what was done, a clause each.

    Args:
        move: moves a path away; returns a note of where it is. is_allowed: a call since then was let change a path.

    Raises:
        OSError: something could not be put back.
    """
    now = _entries(before.places, None)
    for path, entry in now.items():
        if before.entries.get(path) != entry and not is_allowed(path) and os.path.lexists(path):
            note = move(path)
            if path not in before.entries:
                yield f"moved {plain(path, one_line=True)} away, which only an approved call may create{note}"
    for path, entry in before.entries.items():
        if now.get(path) != entry and not is_allowed(path):
            _clear_way(project, path, move)
            yield _written(path, entry, Path(before.copies))


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
        if os.path.lexists(folder) and (os.path.islink(folder) or not os.path.isdir(folder)):
            move(folder)
    if os.path.lexists(path):
        move(path)


def _written(path: str, entry: list[str], copies: Path) -> str:
    shown = plain(path, one_line=True)
    kind, value = entry
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if kind == _LINK:
        os.symlink(value, path)
        return f"put the link {shown} back"
    copy = copies / value
    if not copy.is_file():
        return f"could not put {shown} back, since it was too large to be copied"
    write_atomic(Path(path), copy.read_bytes(), durable=False)
    os.chmod(path, int(kind, 8))
    return f"put {shown} back to what it was"


def _entries(places: Collection[str], copies: Path | None) -> dict[str, list[str]]:
    return {path: entry for place in places for path in _walk(place) if (entry := _entry(path, copies))}


def _walk(place: str) -> Iterator[str]:
    if os.path.islink(place) or not os.path.isdir(place):
        yield place
        return
    for folder, folders, files in os.walk(place):
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        folders[:] = [
            name for name in folders if name not in links and not is_work_folder(os.path.join(folder, name))
        ]
        yield from (os.path.join(folder, name) for name in (*links, *files))


def _entry(path: str, copies: Path | None) -> list[str]:
    """A file's mode and digest, or a link's text; [] for what is neither, or cannot be read."""
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            return [_LINK, os.readlink(path)]
        if not stat.S_ISREG(status.st_mode):
            return []
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            content = file.read()
    except OSError:
        return []
    digest = hashlib.sha256(content).hexdigest()
    if copies is not None and len(content) <= _LARGEST and not (copies / digest).exists():
        write_atomic(copies / digest, content, durable=False)
    return [f"{stat.S_IMODE(status.st_mode):o}", digest]
