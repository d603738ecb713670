"""Where snapshots replace a question: the project and temporary folders, without what decides about more than itself."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from sb.base.text import human_bytes, normal_name
from sb.shell.credentials.files import PRIVATE, secret_path
from sb.shell.parsing.words import compiled
from sb.shell.places.guarded import Guarded
from sb.shell.places.places import located
from sb.shell.places.sensitive import LOOKS_SPECIAL, folded, host_setting, sensitive
from sb.shell.snapshots.overwriting import Change, Unknown, written

MOST_LET_GO = 400_000  # entries of a scratch folder that are looked at
# The most that is kept of a line whose other changes are not known, so that builds do not fill the store.
_MOST_NAMED, _MOST_BYTES = 200, 4 << 20
_REPOSITORIES = frozenset((".git", ".hg", ".jj", ".svn"))
_OF_PACKAGES = (".pth", "customize.py")  # what deletes an environment deletes such files
_TEMPLATES = (".example", ".sample", ".template", ".dist", ".defaults")
# Folders that are nobody's project, whether or not they are a repository.
_NO_PROJECT = frozenset(
    "/ /home /Users /root /opt /var /tmp /mnt /media /srv /run /private /Volumes /private/tmp /private/var /var/tmp /Applications".split()
)
_OF_THE_SYSTEM = (
    *("/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/sbin", "/sys", "/usr"),
    *("/System", "/Library", "/private/etc", "/nix", "/run", "/var/lib", "/var/log"),
)


def temporary_folders() -> tuple[str, ...]:
    """The system's temporary folders; fixed, since the environment is an agent's to set."""
    if sys.platform != "darwin":
        return ("/tmp", "/var/tmp")
    own = os.confstr("CS_DARWIN_USER_TEMP_DIR") if "CS_DARWIN_USER_TEMP_DIR" in os.confstr_names else None
    names = ("/tmp", "/var/tmp", *((own,) if own else ()))
    return tuple(os.path.realpath(name) for name in names)


class TooLarge(Exception):
    """More than one snapshot may hold, or files that none can; the message says why."""


class OtherNames(TooLarge):
    """A file with more than one name: deleting one of them loses nothing."""


class Refused(Exception):
    """A path that no snapshot may stand in for; the message says why."""


class Limits(NamedTuple):
    """The most that one snapshot holds: bytes of content, and entries with folders and links."""

    max_bytes: int = 64 << 20
    max_files: int = 2000


class Area(NamedTuple):
    """The folders in which snapshots replace a question.

    Args:
        project: the session's, real path; "" for none. home: of the user.
        protected: SecondBrain's own files and folders. guarded: places that decide how calls are judged.
        scratch: whether a folder below the project is one that a build makes, so that it may go without a snapshot.
        built: like `scratch`, also of a folder that was changed in this session.
        limits: of one snapshot.
        tree: the project again if its tree can be stored; "" if not.
    """

    project: str
    home: str
    protected: Sequence[str] = ()
    guarded: Guarded = Guarded()
    scratch: Callable[[str], str] = lambda path: "it is not scratch"
    built: Callable[[str], str] = lambda path: "it is not built"
    limits: Limits = Limits()
    tree: str = ""


Listings = dict[str, frozenset[str]]  # of folders


class Plan(NamedTuple):
    """Plan for the changes of one line.

    Args:
        keep: paths to take snapshots of. let_go: scratch that is deleted without one.
        why: why there is no snapshot, or "".
        no_room: whether that is because files of the project are more than it may hold.
        refused: the change of which none may be taken, whatever its size.
        files, size: entries and bytes of what is stored.
    """

    keep: tuple[str, ...] = ()
    let_go: tuple[str, ...] = ()
    why: str = ""
    no_room: bool = False
    refused: Change | None = None
    files: int = 0
    size: int = 0


class PartPlan(NamedTuple):
    """Plan for the changes of a line that runs whatever of them can be stored: those to store, and why others are lost."""

    keep: tuple[str, ...]
    lost: dict[str, str]


def plan(changes: Sequence[Change], area: Area) -> Plan:
    """The plan for a line's changes: those to store, and those to let go."""
    keep: list[str] = []
    let_go: list[str] = []
    files = size = 0
    listings: Listings = {}
    for named in changes:
        change = _as_listed(named, listings)
        try:
            of_project = _inside(change, area)
            found = _measured(change, area, of_project)
            if files + found[0] > area.limits.max_files or size + found[1] > area.limits.max_bytes:
                most = f"{area.limits.max_files} files or {human_bytes(area.limits.max_bytes)}"
                raise TooLarge(f"it deletes more than {most}, the limit of one snapshot")
            files, size = files + found[0], size + found[1]
            keep.append(change.path)
        except TooLarge as large:
            why = _not_scratch(change, area, of_project)
            if why:
                still_there = isinstance(large, OtherNames) and change.removed
                return Plan(why=f"{large}; {why}", no_room=of_project and change.loses() and not still_there)
            let_go.append(change.path)
        except Refused as refused:
            return Plan(why=str(refused), refused=change)
        except OSError as error:
            return Plan(why=f"{change.path} cannot be looked at: {error.strerror or error}")
    return Plan(tuple(keep), tuple(let_go), files=files, size=size)


def plan_in_part(changes: Sequence[Change], area: Area, most: int) -> PartPlan:
    """The plan for the part of a line's changes that can be stored; of a folder that cannot, for what is in it.

    Args:
        most: paths that it names.
    """
    keep, lost, left = dict[str, None](), dict[str, str](), area.limits
    waiting = [change for change in reversed(changes) if os.path.lexists(change.path) or not change.removed]
    while waiting:
        change = waiting.pop()
        if len(keep) + len(lost) >= most:
            lost[change.path] = f"the line changes more than {most} paths"
            break
        planned = plan([change], area._replace(limits=left))
        if planned.keep:
            keep.update(dict.fromkeys(planned.keep))
            left = Limits(left.max_bytes - planned.size, left.max_files - planned.files)
        elif planned.refused is not None and (entries := _entries_of(change, area)):
            room = most - len(keep) - len(lost) - len(waiting)
            if room < len(entries):  # the rest of them is named by their folder
                lost[change.path] = f"{planned.why}; it has more than {most} entries"
                room -= 1
            waiting += entries[max(0, len(entries) - room) :]
        elif os.path.lexists(change.path):
            lost[change.path] = planned.why or "is made again by a build, and more than a snapshot holds"
    return PartPlan(tuple(keep), lost)


def _entries_of(change: Change, area: Area) -> list[Change]:
    """The entries of a folder that goes, as changes of their own; none where no snapshot may be taken of its name."""
    if not (change.tree and change.removed) or os.path.islink(change.path) or not os.path.isdir(change.path):
        return []
    try:
        of_project = _inside(change, area)
        _refuse_name(change.path, area, area.project if of_project else "")
        names = sorted(os.listdir(change.path), reverse=True)
    except (Refused, OSError):
        return []
    return [Change(f"{change.path}/{name}", tree=True, removed=True) for name in names]


def named_files(places: Iterable[str], area: Area) -> tuple[str, ...]:
    """Files and links of the project among the places that a line writes, if one snapshot holds them.

    What a place's own snapshot may not stand in for is left out, and so are folders.
    """
    found: dict[str, None] = {}
    listings: Listings = {}
    files = size = 0
    for place in places:
        with suppress(Refused, TooLarge, Unknown, OSError):
            for written_to in _written(place):
                change = _as_listed(written_to, listings)
                if not os.path.lexists(change.path) or not _inside(change, area):
                    continue
                measured = _measured(change, area, of_project=True)
                files, size = files + measured[0], size + measured[1]
                found[change.path] = None
    fits = files <= min(area.limits.max_files, _MOST_NAMED) and size <= min(
        area.limits.max_bytes, _MOST_BYTES
    )
    return tuple(found) if fits else ()


def unguarded_file(places: Sequence[str], area: Area) -> tuple[str, str]:
    """The first of these files that may have no snapshot, whatever its size, and the reason; "" for none."""
    for path in dict.fromkeys(map(os.path.realpath, places)):
        change = Change(path)
        try:
            _measured(change, area, _inside(change, area))
        except Refused as refused:
            return path, str(refused)
        except (TooLarge, OSError):
            continue
    return "", ""


def _written(place: str) -> list[Change]:
    """The changes of a write to a place: a file, or a link and the file that it leads to."""
    if not os.path.islink(place) or not os.path.isdir(place):
        return written("/", place)
    entry = located("/", place)
    return [Change(entry)] if entry else []


def project_of_area(folder: str, home: str) -> str:
    """A session's folder as the project, by its real path; "" for one that is too wide."""
    if not folder:
        return ""
    real = os.path.realpath(folder)
    own, parts = folded(os.path.realpath(home)), folded(real)
    system = (folded(item) for item in _OF_THE_SYSTEM)
    if (
        real in _NO_PROJECT
        or parts == own[: len(parts)]
        or any(parts[: len(item)] == item for item in system)
    ):
        return ""
    return real


def _inside(change: Change, area: Area) -> bool:
    """True if a change is in the project; False for a temporary folder.

    Raises:
        Refused: it is elsewhere, or it is that folder itself.
    """
    if area.project and change.path.startswith(f"{area.project}/"):
        return True
    if area.project and f"{area.project}/".startswith(f"{change.path}/"):
        raise Refused(f"{change.path} is or contains the project")
    if any(change.path.startswith(f"{folder}/") for folder in temporary_folders()):
        return False
    where = f"outside of {area.project}" if area.project else "outside of a project"
    raise Refused(f"{change.path} is {where}")


def _as_listed(change: Change, listings: Listings) -> Change:
    """The change with each name as its folder lists it, where the file system takes several spellings for one name.

    Args:
        listings: the folders listed so far, which many changes share.
    """
    listed = ""
    for name in change.path.split("/")[1:]:
        path = f"{listed}/{name}"
        # What no file system could take for another name needs no look.
        if os.path.lexists(path) and os.path.lexists(f"{listed}/{name.swapcase()}"):
            path = f"{listed}/{_listed_name(listed or '/', name, listings)}"
        listed = path
    return change._replace(path=listed)


def _listed_name(folder: str, name: str, listings: Listings) -> str:
    """The name by which a folder lists an entry; the given name in a folder that cannot be listed."""
    if folder not in listings:
        try:
            listings[folder] = frozenset(os.listdir(folder))
        except PermissionError:
            listings[folder] = frozenset()
    names = listings[folder]
    if name in names:
        return name
    wanted = normal_name(name)
    return next((item for item in names if normal_name(item) == wanted), name)


def _measured(change: Change, area: Area, of_project: bool) -> tuple[int, int]:
    """Entries and bytes of a change.

    Raises:
        Refused: it holds what no snapshot may stand in for. TooLarge: no snapshot can hold it.
    """
    root = area.project if of_project else ""
    if change.of_git:
        if not of_project or "/.git/" not in change.path:
            raise Refused(f"{change.path} is outside of the project")
    else:
        _refuse_name(change.path, area, root)
    files = size = 0
    linked = dict[int, tuple[int, str]]()  # by file: its names that were not met yet, and one that was
    if not change.of_git and os.path.isfile(change.path):
        secret = secret_path(folded(change.path))
        if secret is not None and secret.kind != PRIVATE:
            raise Refused(f"{change.path} may hold secrets")
    device = _device(change)
    for path, status in _entries(change):
        if path != change.path:
            _refuse_entry(path, change.path, area, root)
        _refuse_owner(path, status, of_project)
        kind = stat.S_IFMT(status.st_mode)
        if kind not in (stat.S_IFREG, stat.S_IFLNK, stat.S_IFDIR):
            raise Refused(f"{path} is no file, link or folder")
        _refuse_device(path, status, device)
        files += 1
        size += status.st_size if kind == stat.S_IFREG else 0
        if kind == stat.S_IFREG and status.st_nlink > 1:
            if not change.removed:
                raise OtherNames(f"{path} has more than one name")
            linked[status.st_ino] = (linked.get(status.st_ino, (status.st_nlink, ""))[0] - 1, path)
        if files > area.limits.max_files or size > area.limits.max_bytes:
            most = f"{area.limits.max_files} files or {human_bytes(area.limits.max_bytes)}"
            raise TooLarge(f"{change.path} has more than {most}, the limit of one snapshot")
    elsewhere = next((path for left, path in linked.values() if left > 0), "")
    if elsewhere and not (of_project and change.tree and not area.built(change.path)):
        raise OtherNames(f"{elsewhere} has a name elsewhere, too")
    return files, size


def _entries(change: Change) -> Iterator[tuple[str, os.stat_result]]:
    """A path and everything below it, as it is now; nothing if it is absent."""
    try:
        status = os.lstat(change.path)
    except FileNotFoundError:
        return
    except NotADirectoryError:
        return
    yield change.path, status
    waiting = [change.path] if change.tree and stat.S_ISDIR(status.st_mode) else []
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                found = entry.stat(follow_symlinks=False)
                yield entry.path, found
                if stat.S_ISDIR(found.st_mode):
                    waiting.append(entry.path)


def _refuse_entry(path: str, top: str, area: Area, root: str) -> None:
    """`_refuse_name` for an entry below a checked folder; most names need no close look."""
    below = path[len(top) :]
    if not below.isascii() or compiled(LOOKS_SPECIAL).search(below):
        _refuse_name(path, area, root)


def _refuse_name(path: str, area: Area, root: str) -> None:
    """Raise Refused for what a snapshot may never stand in for; above the root names do not count."""
    try:
        path.encode()
    except UnicodeEncodeError:
        raise Refused(f"{path!r} has a name that is not text") from None
    parts = folded(path)
    for name in parts[len(folded(root)) :]:
        if name in _REPOSITORIES:
            raise Refused(f"{path} belongs to a repository")
        if name.startswith(".env") and not name.endswith(_TEMPLATES):
            raise Refused(f"{path} may hold secrets")
    if host_setting(parts):
        raise Refused(f"{path} configures agents")
    if (why := sensitive(path, area.home)) and not path.endswith(_OF_PACKAGES):
        raise Refused(f"{path}: {why}")
    if area.guarded.of(parts) or area.guarded.inside(parts):
        raise Refused(f"{path} decides how calls are judged")
    if any(_meet(parts, folded(own)) for own in area.protected):
        raise Refused(f"{path} belongs to SecondBrain")


def _meet(parts: Sequence[str], own: Sequence[str]) -> bool:
    count = min(len(parts), len(own))
    return tuple(parts[:count]) == tuple(own[:count])


def _refuse_owner(path: str, status: os.stat_result, of_project: bool) -> None:
    if not of_project and status.st_uid != os.geteuid():
        raise Refused(f"{path} belongs to another user")


def _device(change: Change) -> int:
    """The file system of the folder that holds a path, or of the next one above that exists."""
    above = os.path.dirname(change.path)
    while not os.path.isdir(above):
        above = os.path.dirname(above)
    return os.stat(above).st_dev


def _refuse_device(path: str, status: os.stat_result, device: int) -> None:
    if status.st_dev != device:
        raise Refused(f"{path} is on another file system")


def _not_scratch(change: Change, area: Area, of_project: bool) -> str:
    """The reason why a path must not be deleted without a snapshot, or ""."""
    if not (change.removed and change.tree) or not os.path.isdir(change.path) or os.path.islink(change.path):
        return "" if change.removed and not of_project else "it is not scratch"
    if of_project and (why := area.scratch(change.path)):
        return why
    root = area.project if of_project else ""
    try:
        device = _device(change)
        for count, (path, status) in enumerate(_entries(change)):
            if count > MOST_LET_GO:
                return f"it has more than {MOST_LET_GO} entries"
            _refuse_entry(path, change.path, area, root)
            _refuse_owner(path, status, of_project)
            _refuse_device(path, status, device)
    except Refused as refused:
        return str(refused)
    return ""
