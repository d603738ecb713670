"""Profile of a confined call: what it may write, what stays as it is, what it cannot read."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from fnmatch import fnmatchcase
from glob import glob
from pathlib import Path

from sb.base.values.frozen import frozen
from sb.config.home import Home
from sb.hosts.confinement import no_links
from sb.hosts.confinement.credentials import names_in
from sb.hosts.confinement.needs import FETCHED_PROGRAMS, Need, caches
from sb.hosts.confinement.repositories import Repository, repository_of
from sb.shell import tables
from sb.shell.places.guarded import Guarded
from sb.shell.places.sensitive import HOST_SETTINGS, decisive_paths

MOST_SIBLINGS = 500  # entries of a folder that stay read-only one by one beside an approved path
_MOST_WORKTREES = 50
# Of these folders, and of no other, hosts' settings are a part.
_SHARED_FOLDERS = (".github", ".config")
# Of a host's folder in a project, what agents work in.
_WORK_IN_SETTINGS = (".claude/worktrees",)


def _project_settings() -> tuple[str, ...]:
    """Patterns of hosts' settings at the root of a project, folders whole."""
    patterns = dict[str, None]()
    for setting in (*HOST_SETTINGS, *(tuple(name.split("/")) for name in tables.HOST_PROGRAMS)):
        head = setting[0]
        if head in _SHARED_FOLDERS:
            patterns["/".join(setting[:2])] = None
        elif len(setting) == 1 or head.startswith("."):
            patterns[head] = None
    return tuple(patterns)


PROJECT_SETTINGS = _project_settings()


@frozen
class Grounds:
    """Facts that a profile is made from.

    Args:
        home: of the user. project: the session's, real path; "" for none.
        started: folders of the project in which a host was started, and so looks for its settings.
        own: SecondBrain's own files and folders. private: those of them that no command reads.
        guarded: places that decide how calls are judged.
        temporary: folders for scratch. writable: folders that the configuration opens.
        credentials: files and folders with credentials, real paths. sockets: kind and real path of those that run
            things outside.
        closed: the existing ones of `own` and `guarded`, as real paths; None to look for them.
        linked: whether the installation shares files with caches of installers.
        others: folders that calls of other sessions find held; those in temporary or writable folders are mounted, so
            that no call can rename them: a link in their place would be what the next call there may write.
        usual: more credentials, which variables put elsewhere, to where they are else.
    """

    home: str
    project: str
    own: Sequence[str]
    private: Sequence[str]
    guarded: Guarded
    temporary: Sequence[str]
    writable: Sequence[str] = ()
    credentials: Sequence[str] = ()
    sockets: Sequence[tuple[str, str]] = ()
    closed: Sequence[str] | None = None
    linked: bool = False
    started: Sequence[str] = ()
    others: Sequence[str] = ()
    usual: Mapping[str, str] = field(default_factory=dict)

    def is_given(self, path: str, needs: Iterable[Need]) -> bool:
        """True for a credential that programs use, also where a variable puts it elsewhere."""
        places = (
            os.path.realpath(os.path.join(self.home, place)) for need in needs for place in need.credentials
        )
        usual = self.usual.get(path, path)
        return any(contains(place, path) or contains(place, usual) for place in places)


@frozen
class Profile:
    """The rights of one call. All paths are real and exist, but for `opened`; later groups win over earlier ones.

    Args:
        opened: paths that this call was approved to write, there or not.
        writable: folders and files. held: folders in them that stay where they are, though what is in them may change;
            a confined process that runs since before one of them was there could put a link in its place.
        read_only: what stays as it is inside of writable folders.
        unreadable: what cannot be opened.
        watched: those of `read_only` that are compared after a call, for an engine that cannot hold them.
        closed: SecondBrain's own files and what decides how calls are judged: folders around them, or around the home,
            are not opened as a whole.
        home: of the user. sockets: those of `unreadable` that are sockets, or folders for them.
        work: folders inside of read-only ones that stay writable: agents' own worktrees. Like those of `held`, none is
            mounted that a process from before could put a link in the place of.
        nested: those of `writable` that hold the project and lie in another one: mounted under the same condition.
        roots: those of `writable` that hold the project.
        emptied: folders in whose place the command has an empty one, which is gone when it ends.
        passed_over: folders in whose place it has an empty repository, which it cannot change.
    """

    opened: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    read_only: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    watched: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    home: str = ""
    sockets: tuple[str, ...] = ()
    work: tuple[str, ...] = ()
    nested: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    emptied: tuple[str, ...] = ()
    passed_over: tuple[str, ...] = ()

    def may_write(self, path: str) -> bool:
        """True for a path that a call under this profile can create, change and remove."""
        inside = [place for place in (*self.writable, *self.opened) if contains(place, path)]
        closed = [
            place
            for place in (*self.read_only, *self.held)
            if path == place or (place in self.read_only and contains(place, path))
        ]
        return bool(inside) and max(map(len, inside)) > max(map(len, closed), default=-1)


def make_profile(grounds: Grounds, needs: Iterable[Need] = (), opened: Sequence[str] = ()) -> Profile:
    """The profile of a call.

    Args:
        needs: of the programs in its line. opened: what it was approved to write beyond the default; SecondBrain's own
            files and what decides how calls are judged stay closed.
    """
    closed = list(closed_places(grounds)) if grounds.closed is None else list(grounds.closed)
    opened = [path for path in opened if not any(contains(place, path) for place in closed)]
    needs = list(needs)
    writable = dict.fromkeys([*grounds.temporary, *grounds.writable, *_caches(grounds)])
    others = _others(grounds, writable)
    writable |= dict.fromkeys(others if grounds.project else ())
    repositories: list[Repository] = []
    own: list[str] = []
    if grounds.project and os.path.realpath(grounds.project) == grounds.project:
        repositories = list(_repositories(grounds.project, grounds.home))
        own = [grounds.project, *(folder for item in repositories for folder in item.folders)]
        writable |= dict.fromkeys(own)
    roots = [real for path in writable if os.path.isdir(real := os.path.realpath(path))]
    # What is writable by the folder around it needs no mount, which a link in its place would lead elsewhere.
    roots = [path for path in roots if path in (*own, *others) or not _is_inside(path, roots)]
    folders, read_only = dict[str, None](), dict.fromkeys(() if grounds.project else others)
    for root in _roots(grounds.project, grounds.started) if grounds.project else ():
        for path in _settings_in(root):
            read_only[path] = None
            folders |= dict.fromkeys(_between(grounds.project, path))
    for repository in repositories:
        folders |= dict.fromkeys(repository.held)
        read_only |= dict.fromkeys(repository.programs)
    work = [
        path
        for name in _WORK_IN_SETTINGS
        if os.path.isdir(path := os.path.join(grounds.project, name)) and not os.path.islink(path)
    ]
    if any(contains(root, grounds.home) for root in roots):
        read_only |= dict.fromkeys(_settings_of_user(grounds.home))
    watched = [path for path in read_only if path not in closed]
    # By the time that a root is mounted, a link may lead elsewhere in its place, if commands write the folder around it.
    # So all of these are mounted then; SecondBrain's own files are in any case.
    within = [*roots, *map(os.path.dirname, opened), *opened]
    own_files = set(map(os.path.realpath, grounds.own))
    may_lead_elsewhere = any(_is_inside(root, within) for root in roots)
    always = [
        path
        for path in closed
        if any(contains(root, path) for root in within)
        or ((may_lead_elsewhere or path in own_files) and not any(contains(path, root) for root in roots))
    ]
    return Profile(
        opened=tuple(opened),
        writable=tuple(dict.fromkeys(roots)),
        held=tuple(
            path
            for path in folders
            if os.path.isdir(path) and os.path.realpath(path) == path and path not in opened
        ),
        # An approved path that is itself protected, such as a repository that is to be deleted, is not.
        read_only=_outermost(
            [
                *(path for path in read_only if not any(contains(place, path) for place in (*work, *opened))),
                *always,
            ],
            [*roots, *folders, *work, *opened],
        ),
        unreadable=tuple(_unreadable(grounds, needs)),
        watched=tuple(watched),
        closed=tuple(closed),
        home=os.path.realpath(grounds.home),
        sockets=tuple(dict.fromkeys(path for _, path in grounds.sockets)),
        work=tuple(path for path in work if os.path.realpath(path) == path),
        nested=tuple(path for path in roots if path in own and _is_inside(path, roots)),
        roots=tuple(path for path in roots if path in own),
        emptied=tuple(_emptied(grounds.home, [*roots, *opened])),
    )


def with_modes(profile: Profile, project: str) -> Profile:
    """The profile of a call that changes modes alone, and may do so everywhere in the project."""
    generator = (path for path in profile.read_only if path in profile.closed or not contains(project, path))
    return replace(profile, read_only=tuple(generator))


def without_nested(profile: Profile, lost: Sequence[str]) -> Profile:
    """The profile with nothing mounted in some of its nested folders: a process could put a link in their place.

    They are writable as a part of the folders around them; SecondBrain's own files in them stay closed.
    """

    def left(paths: Iterable[str]) -> tuple[str, ...]:
        return tuple(
            path
            for path in paths
            if path in profile.closed or not any(contains(place, path) for place in lost)
        )

    return replace(
        profile,
        writable=left(profile.writable),
        held=left(profile.held),
        read_only=left(profile.read_only),
        work=left(profile.work),
        nested=left(profile.nested),
    )


def identities(folders: Iterable[str]) -> dict[str, str]:
    """Folders and files to what tells each from another in its place; without those that are gone, or links."""
    found = ((path, no_links.status(path)) for path in folders)
    return {
        path: f"{status.st_dev}:{status.st_ino}:{stat.S_IFMT(status.st_mode):o}"
        for path, status in found
        if status is not None and not stat.S_ISLNK(status.st_mode)
    }


def still_held(held: Mapping[str, str], folders: Iterable[str]) -> list[str]:
    """Those of folders that every confined process finds held: they are what they were when the oldest one began."""
    now = identities(folders)
    return [path for path, identity in now.items() if held.get(path) == identity]


def loose(held: Mapping[str, str], known: Collection[str], profile: Profile) -> tuple[list[str], list[str]]:
    """Read-only paths that a confined process could put a link in the place of, while the next command mounts them.

    Args:
        held: as `identities` told them when the oldest process began. known: settings and hooks of that time, and those
            that calls were let make since.

    Returns:
        Those made since its time, which are moved away or have no need of a mount; and those that were known, or that a
        call was let make, which something else is in the place of.
    """
    closed = [path for path in profile.read_only if is_loose(path, profile)]
    same = still_held(held, closed)
    others = [path for path in closed if path not in same]
    return [path for path in others if path not in known], [path for path in others if path in known]


def held_by(held: Mapping[str, str], known: Collection[str], profile: Profile) -> Profile:
    """The profile without mounts that a confined process could put a link in the place of; these are compared instead."""
    made, _ = loose(held, known, profile)
    return replace(
        profile,
        held=tuple(still_held(held, profile.held)),
        work=tuple(still_held(held, profile.work)),
        read_only=tuple(path for path in profile.read_only if path not in made),
    )


def as_held(profile: Profile, default: Profile) -> tuple[str, ...]:
    """The read-only paths of a call's profile, without those that the session's leaves out."""
    left_out = {
        path for path in profile.read_only if is_loose(path, profile) and path not in default.read_only
    }
    return tuple(path for path in profile.read_only if path not in left_out)


def is_loose(path: str, profile: Profile) -> bool:
    """True for a path of the project that is not ours, in a folder that commands write."""
    return path not in profile.closed and _is_inside(path, profile.roots)


def own_and_private(home: Home, protected: Sequence[Path]) -> tuple[list[str], list[str]]:
    """SecondBrain's own files and folders, and those of them that no command may read.

    Args:
        protected: the former, as hooks know them.
    """
    private = (
        home.keys,
        home.snapshots,
        home.open_requests,
        home.trees,
        home.digest_key,
        home.folder / "confine",
        home.resident,
    )
    return [str(path) for path in protected], [str(path) for path in private]


def is_linked() -> bool:
    """True where installers share the files of this installation with their caches."""
    try:
        return os.stat(sys.modules["sb"].__file__ or "").st_nlink > 1
    except OSError:
        return True


def is_work_folder(path: str) -> bool:
    """True for a folder of agents' own worktrees, by its name."""
    return any(path.endswith(f"/{name}") for name in _WORK_IN_SETTINGS)


def compared_in(project: str, started: Sequence[str] = ()) -> Iterator[str]:
    """The existing settings of hosts and folders of hooks that belong to a project, its worktrees included."""
    for root in _roots(project, started):
        yield from _settings_in(root)
    for repository in _repositories(project):
        yield from repository.programs


def contains(folder: str, path: str) -> bool:
    """True for a folder itself and for each path below it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _others(grounds: Grounds, writable: Iterable[str]) -> list[str]:
    """The outermost held folders of other sessions that a call could rename."""
    roots = [os.path.realpath(path) for path in writable]
    found: list[str] = []
    for path in sorted(grounds.others):
        if os.path.realpath(path) == path and not any(contains(place, path) for place in found):
            found += [path] if _is_inside(path, roots) else []
    return found


def _outermost(paths: Sequence[str], open_: Sequence[str]) -> tuple[str, ...]:
    """Paths without those in another one of them, since each mount takes time, unless what is open lies in between."""

    def is_covered(path: str, around: str) -> bool:
        between = (place for place in open_ if contains(around, place) and contains(place, path))
        return path != around and contains(around, path) and not any(between)

    listed = dict.fromkeys(paths)
    return tuple(path for path in listed if not any(is_covered(path, around) for around in listed))


def _is_inside(path: str, roots: Iterable[str]) -> bool:
    return any(root != path and contains(root, path) for root in roots)


def _caches(grounds: Grounds) -> Iterator[str]:
    if grounds.linked:
        return
    for cache in caches():
        folder = os.path.join(grounds.home, cache)
        if os.path.isdir(folder) and os.path.realpath(folder) == folder:
            yield folder


def _emptied(home: str, open_: Sequence[str]) -> Iterator[str]:
    """The folders of fetched programs, but for those that the command changes as they are."""
    for name in FETCHED_PROGRAMS:
        folder = os.path.join(home, name)
        changed = any(contains(folder, path) or contains(path, folder) for path in open_)
        if os.path.isdir(folder) and os.path.realpath(folder) == folder and not changed:
            yield folder


def make_caches(home: str, needs: Iterable[Need] = ()) -> None:
    """Make the caches of programs, and the folders of fetched ones where theirs has been used: a mount needs its place.

    Raises:
        OSError: a cache cannot be made.
    """
    for cache in (cache for need in needs for cache in need.caches):
        os.makedirs(os.path.join(home, cache), exist_ok=True)
    for folder in (os.path.join(home, name) for name in FETCHED_PROGRAMS):
        around = os.path.dirname(folder)
        if os.path.isdir(around) and os.path.realpath(around) == around:
            with suppress(OSError):  # it is there, or the user may not
                os.mkdir(folder)


def _repositories(project: str, home: str = "") -> Iterator[Repository]:
    for root in (project, *_worktrees(project)):
        repository = repository_of(root, home)
        if repository is not None:
            yield repository


def _roots(project: str, started: Sequence[str]) -> list[str]:
    """The folders in which hosts' settings count: the project, where a host was started in it, and agents' worktrees."""
    return list(dict.fromkeys((project, *started, *_worktrees(project))))


def _worktrees(project: str) -> list[str]:
    """Worktrees that a host made for its agents inside of a project."""
    found: list[str] = []
    for name in _WORK_IN_SETTINGS:
        folder = os.path.join(project, name)
        if not os.path.islink(folder) and os.path.isdir(folder):
            names = sorted(os.listdir(folder))[:_MOST_WORKTREES]
            found += [
                path
                for item in names
                if os.path.isdir(path := os.path.join(folder, item)) and not os.path.islink(path)
            ]
    return found


def _settings_of_user(home: str) -> Iterator[str]:
    """The existing login files and hosts' settings of a home, as real paths."""
    places = [
        *decisive_paths(home),
        *(place for setting in HOST_SETTINGS for place in glob(os.path.join(home, *setting))),
    ]
    yield from (os.path.realpath(place) for place in places if os.path.exists(place))


def _settings_in(root: str) -> Iterator[str]:
    """The existing settings of hosts at the root of a project, without links: what a link names is elsewhere."""
    for path in settings_at(root):
        if not os.path.islink(path):
            yield path


def settings_at(root: str) -> Iterator[str]:
    """The existing settings of hosts at the root of a project, links included; case does not count."""
    names = names_in(root)
    for pattern in PROJECT_SETTINGS:
        head, _, tail = pattern.partition("/")
        for name in names:
            if not fnmatchcase(name.casefold(), head):
                continue
            path = os.path.join(root, name)
            if not tail:
                yield path
            else:
                yield from (os.path.join(path, item) for item in names_in(path) if item.casefold() == tail)


def _between(root: str, path: str) -> Iterator[str]:
    """The folders between a root and a path in it."""
    while (path := os.path.dirname(path)) != root:
        yield path


def closed_places(grounds: Grounds) -> Iterator[str]:
    """SecondBrain's own files and what decides how calls are judged, as far as it exists."""
    paths = [*grounds.own, *(place.path for place in grounds.guarded.places)]
    for path in dict.fromkeys(map(os.path.realpath, paths)):
        if os.path.exists(path):
            yield path


def _unreadable(grounds: Grounds, needs: Sequence[Need]) -> Iterator[str]:
    sockets = {kind for need in needs for kind in need.sockets}
    places = [
        path
        for path in (*grounds.credentials, *grounds.usual)
        if not (grounds.project and contains(grounds.project, path))
        and not (path in grounds.usual and contains(path, grounds.project))
    ]
    places = [path for path in places if not grounds.is_given(path, needs)]
    places += [path for kind, path in grounds.sockets if kind not in sockets]
    places += [path for item in grounds.private if os.path.lexists(path := os.path.realpath(item))]
    closed = sorted(set(places))
    for number, path in enumerate(closed):
        # What is in a closed folder, or not to be opened by this user anyway, needs no mount: each takes time.
        inside = any(contains(folder, path) for folder in closed[:number])
        if not inside and os.access(path, os.R_OK):
            yield path
