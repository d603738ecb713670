"""The files by which a git repository says what it is at: HEAD, refs, stash, index, unfinished operations, worktrees.

They are read as files, so nothing that the repository configures is run. Its `config` and `hooks`, which name programs,
are left out, and so are objects: git removes none that a ref reached a moment ago.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from sb.base.files import read_regular
from sb.store.trees.git_program import CannotStore, Deadline, Git

_MOST = 5000  # files of one repository
_MOST_LINE = 4096  # bytes of a `.git` file
_OF_GIT_FOLDER = (
    *("HEAD", "index", "MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "CHERRY_PICK_HEAD", "REVERT_HEAD"),
    *("rebase-merge", "rebase-apply", "sequencer"),
)
OPERATIONS = ("/rebase-merge", "/rebase-apply", "/sequencer")  # folders of unfinished ones
_SHARED = ("packed-refs", "refs", "logs/refs/stash", "logs/refs/heads", "worktrees")
_NAMES_PROGRAMS = ("config.worktree", "modules")  # of a worktree; what is below the second is a repository
_OBJECT = re.compile(rb"\b([0-9a-f]{40}|[0-9a-f]{64})\b")
_STASH_LOG = "/logs/refs/stash"

Signature = tuple[int, int, int, int]  # size, times of content and state, inode


LINKED = -1  # in place of the permission bits of a link


class Stored(NamedTuple):
    """A file as it was stored.

    Args:
        blob: the id of its content, of a link that of its target. mode: permission bits, LINKED for a link.
    """

    blob: str
    mode: int
    signature: Signature


class Repository(NamedTuple):
    """Where a work folder's repository is.

    Args:
        folder: of HEAD and the index. shared: of refs and objects; another one in a linked worktree.
    """

    folder: str
    shared: str


def repository_of(work: str, project: str) -> Repository | None:
    """The repository of a work folder; None for one without, or one that only claims to be this folder's.

    Args:
        project: the folder that the work folder is in, or is; what lies in its `.git` is its own.
    """
    entry = f"{work}/.git"
    try:
        if stat.S_ISDIR(os.lstat(entry).st_mode):
            return Repository(entry, entry) if os.path.isfile(f"{entry}/HEAD") else None
        folder = _pointed(work, _line(entry).removeprefix("gitdir:").strip())
        if not os.path.isfile(f"{folder}/HEAD"):
            return None
        if folder.startswith(f"{project}/.git/") and not os.path.exists(f"{folder}/commondir"):
            return Repository(folder, folder)  # a submodule
        # An agent may write any folder into a `.git` file; a linked worktree is named by its repository as well.
        back = _pointed(folder, _line(f"{folder}/gitdir"))
        shared = _pointed(folder, _line(f"{folder}/commondir"))
    except (OSError, ValueError):
        return None
    linked = back == entry and os.path.dirname(folder) == f"{shared}/worktrees"
    return Repository(folder, shared) if linked and os.path.isdir(f"{shared}/objects") else None


def _line(path: str) -> str:
    return os.fsdecode(read_regular(path, _MOST_LINE)).strip()


def _pointed(folder: str, path: str) -> str:
    if not path or "\0" in path:
        raise ValueError("no path")
    above, name = os.path.split(os.path.normpath(os.path.join(folder, path)))
    return os.path.join(os.path.realpath(above), name)


def signature_of(status: os.stat_result) -> Signature:
    """A value that changes with the file."""
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def repository_signatures(repository: Repository) -> dict[str, Signature]:
    """The files of a repository by which it is seen to have changed.

    Raises:
        CannotStore: there are too many, or one cannot be looked at.
    """
    return {path: signature_of(status) for path, status in _files(repository)}


def store_repository(
    repository: Repository, git: Git, before: Mapping[str, Stored], deadline: Deadline
) -> dict[str, Stored]:
    """Store the files of a repository; content that did not change is not read.

    Args:
        before: as they were stored last.

    Raises:
        CannotStore: there are too many, or one cannot be read.
    """
    return store_files(dict(_files(repository)), git, before, deadline)


def store_files(
    files: Mapping[str, os.stat_result], git: Git, before: Mapping[str, Stored], deadline: Deadline
) -> dict[str, Stored]:
    """Store files and links beside a tree; content that did not change is not read.

    Args:
        files: by absolute path. before: as they were stored last.

    Raises:
        CannotStore: one cannot be read.
    """
    changed = [
        path
        for path, status in files.items()
        if path not in before or before[path].signature != signature_of(status)
    ]
    blobs = {path: stored.blob for path, stored in before.items()}
    links = [path for path in changed if stat.S_ISLNK(files[path].st_mode)]
    named = [path for path in changed if "\n" not in path and path not in links]
    try:
        blobs |= _hashed(named, git, deadline)
    except CannotStore:  # one may have gone meanwhile, such as the place of a mount
        named = [path for path in named if os.path.lexists(path)]
        blobs |= _hashed(named, git, deadline)
    for path in (path for path in changed if path in links or "\n" in path):
        try:
            content = os.fsencode(os.readlink(path)) if path in links else read_regular(path, follow=False)
        except FileNotFoundError:
            continue  # it has gone meanwhile
        blobs[path] = (
            git.run("hash-object", "-w", "--stdin", deadline=deadline, given=content).decode().strip()
        )
    return {
        path: Stored(blobs[path], _mode(status), signature_of(status))
        for path, status in files.items()
        if path in blobs
    }


def _hashed(paths: Sequence[str], git: Git, deadline: Deadline) -> dict[str, str]:
    """The ids of files by path, which are stored."""
    if not paths:
        return {}
    given = b"".join(os.fsencode(path) + b"\n" for path in paths)
    output = git.run("hash-object", "-w", "--no-filters", "--stdin-paths", deadline=deadline, given=given)
    ids = output.decode().split()
    if len(ids) != len(paths):
        raise CannotStore("a file changed while it was stored")
    return dict(zip(paths, ids, strict=True))


def _mode(status: os.stat_result) -> int:
    return LINKED if stat.S_ISLNK(status.st_mode) else stat.S_IMODE(status.st_mode)


def _files(repository: Repository) -> Iterator[tuple[str, os.stat_result]]:
    tops = [f"{repository.folder}/{name}" for name in _OF_GIT_FOLDER]
    tops += [f"{repository.shared}/{name}" for name in _SHARED]
    waiting, count, seen = tops[::-1], 0, set[str]()
    while waiting:
        path = waiting.pop()
        try:
            status = os.lstat(path)
            if stat.S_ISDIR(status.st_mode):
                of_worktree = os.path.dirname(path) == f"{repository.shared}/worktrees"
                names = [n for n in os.listdir(path) if not (of_worktree and n in _NAMES_PROGRAMS)]
                waiting += sorted((f"{path}/{name}" for name in names), reverse=True)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise CannotStore(f"{path} cannot be read: {error.strerror or error}") from None
        if stat.S_ISREG(status.st_mode) and not path.endswith(".lock"):
            if path in seen:  # of a linked worktree, whose folder is in `worktrees`
                continue
            seen.add(path)
            count += 1
            if count > _MOST:
                raise CannotStore(f"the repository has more than {_MOST} files of refs")
            yield path, status


def commits_of(contents: Mapping[str, bytes]) -> set[str]:
    """The objects that refs, HEAD and the stash's log name, by the contents of their files."""
    names: set[str] = set()
    for path, content in contents.items():
        if path.endswith(_STASH_LOG) or "/logs/" not in path:
            names.update(match.decode() for match in _OBJECT.findall(content))
    return {name for name in names if name.strip("0")}


def names_objects(path: str) -> bool:
    """True for a file of a repository that holds names of the objects it reaches."""
    if "/logs/" in path:
        return path.endswith(_STASH_LOG)
    return "/refs/" in path or path.endswith(("/packed-refs", "/HEAD"))


def changed_paths(before: Mapping[str, Stored], now: Mapping[str, Stored]) -> list[str]:
    """The paths whose content or mode is another one."""
    return [
        path
        for path in {**before, **now}
        if path not in before or path not in now or before[path][:2] != now[path][:2]
    ]
