"""Landlock: holds commands where user namespaces are closed, by a list of what they may write and read.

Landlock only allows, so a folder that contains what is closed is opened entry by entry, and takes no new ones itself.
The package `landlockpy` makes the system calls; `landlock_start.py` restricts itself with it and becomes the command.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from sb.hosts.confinement import probing
from sb.hosts.confinement.bubblewrap import DEVICES, SHARED_MEMORY
from sb.hosts.confinement.landlock_start import CREATE, NOTE, READ, WRITE
from sb.hosts.confinement.own_files import read_own
from sb.hosts.confinement.processes import GONE, RUNS, boot_id, is_any, state
from sb.hosts.confinement.profile import Profile, contains

NAME = "landlock"
_PACKAGE = "landlockpy"
_LEAST_ABI = 3  # before, Landlock does not stop truncation
_NEEDED_DEVICES = (
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
)
_BEGAN = "began"
INSIDE = "inside"  # the folder of SB_HOME that names confined processes, which can read and not write it
GAPS = (
    "hooks of git and hosts' settings in a project can be changed; they are compared after each call and put back",
    "sockets of other programs (docker, tmux, D-Bus, ssh agent) can be reached, so a program there can be asked to write; so can your other terminals; before Linux 6.12 also those without a path",
    "processes outside can be seen and signalled",
    "modes, owners and times of files can be changed everywhere, and names of files listed, as without confinement",
    "a file outside of the project that was approved is written in place: a program that replaces it fails",
    "a project around what decides how calls are judged (the home, sb's own sources) takes nothing new at its root",
    "an approved call that creates something outside of the project may change all of the folder that it creates it in",
    "right in the home, and around what decides how calls are judged, an approved file is made empty beforehand, and no folder can be made",
)


def find() -> str:
    """The interpreter that starts commands; "" without the package, or elsewhere than on Linux.

    Raises:
        OSError: the package is there and closed.
    """
    return sys.executable if sys.platform == "linux" and packages() else ""


def packages() -> str:
    """The folder that the package is in, or "".

    Raises:
        OSError: it is there, and a command took its mode away.
    """
    spec = find_spec(_PACKAGE)
    if spec is not None and not spec.origin:  # a folder in which nothing can be seen
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), *spec.submodule_search_locations or ())
    return os.path.dirname(os.path.dirname(os.path.realpath(spec.origin))) if spec and spec.origin else ""


def starter() -> str:
    return os.path.join(os.path.dirname(os.path.realpath(__file__)), "landlock_start.py")


def marks() -> tuple[str, ...]:
    """The files that start commands besides the interpreter: the starter, and the folder of the package."""
    return (starter(), packages())


def probe(program: str, folder: Path) -> str:
    """The reason why Landlock does not hold here, or "".

    Args:
        folder: where the probe may make its files; nothing is left there.
    """
    from landlockpy import abi_version

    number = abi_version()
    if number == 0:
        return "this kernel has no Landlock"
    if number < _LEAST_ABI:
        return f"this kernel's Landlock (version {number}) does not stop truncation: it takes Linux 6.2"

    def start(profile: Profile, file: Path) -> list[str]:
        file.write_bytes(options(profile, folder / "denied"))
        return command(program, str(file), 0)

    return probing.probe(start, folder)


def options(profile: Profile, denied: Path) -> bytes:
    """The rights of a profile, as `landlock_start.py` reads them.

    Args:
        denied: in SB_HOME/confine.
    """
    rights = dict.fromkeys([f"{NOTE}{denied.parents[1] / INSIDE}", *_rights(profile)])
    return b"".join(os.fsencode(right) + b"\0" for right in rights)


def command(program: str, file: str, _number: int) -> list[str]:
    """The words before a command.

    Args:
        file: with its options.
    """
    return [program, "-I", "-S", "-B", starter(), packages(), file]


def is_alive(folder: Path) -> bool:
    """True while a confined process may run: one that cannot gain privileges and has our limit, begun since the first.

    Args:
        folder: SB_HOME/confine; the time of the first is noted there, and counts until the system starts anew.
    """
    try:
        began, boot = read_own(folder / _BEGAN).decode().split()
        since = float(began)
    except FileNotFoundError:
        return False
    except (OSError, ValueError):
        return True  # a command closed it, or another process is writing it
    if boot != boot_id():
        return False
    return is_any(
        lambda: [
            (name, _state(Path("/proc", name), since)) for name in filter(str.isdigit, os.listdir("/proc"))
        ]
    )


def forget_ended(home: Path) -> None:
    """Remove the notes of processes that have ended.

    Args:
        home: SB_HOME.
    """
    with suppress(OSError):
        for note in (home / INSIDE).iterdir():
            pid = note.name.split(".")[1:2]
            if not pid or not os.path.exists(f"/proc/{pid[0]}"):
                note.unlink()


def note_start(folder: Path, _program: str = "") -> None:
    """Note that processes may run from now on; see `is_alive`.

    Raises:
        OSError: the folder cannot be written.
    """
    mark, boot = folder / _BEGAN, boot_id()
    if not mark.exists() or not mark.read_text(encoding="utf-8").endswith(f" {boot}"):
        mark.write_text(f"{_since_start()} {boot}", encoding="utf-8")


def _since_start() -> float:
    """Seconds since the system started, as /proc counts for processes."""
    return float(Path("/proc/uptime").read_text(encoding="utf-8").split()[0])


def _state(process: Path, began: float) -> str:
    """The `state` of a confined process; "" for others."""
    try:
        # Not the owner of its folder: that is root's once a process has closed its memory to others.
        facts = (process / "status").read_text(errors="replace").split("\n")
        if not any(line.split()[1:2] == [str(os.geteuid())] for line in facts if line.startswith("Uid:")):
            return ""
        ticks = (process / "stat").read_text(errors="replace").rpartition(") ")[2].split()[19]  # "starttime"
        if int(ticks) / os.sysconf("SC_CLK_TCK") < began - 1 or "NoNewPrivs:\t1" not in facts:
            return ""
        if (now := state(str(process))) != RUNS:
            return now
        # Root can raise the limit again.
        limits = (process / "limits").read_text().splitlines() if os.geteuid() else ()
    except PermissionError:
        return ""  # another user's
    except (OSError, ValueError, IndexError):
        return GONE
    unlimited = any(
        line.startswith("Max realtime timeout") and line.split()[4] == "unlimited" for line in limits
    )
    return "" if unlimited else RUNS


def _rights(profile: Profile) -> Iterator[str]:
    secrets = [
        path for path in profile.unreadable if path not in profile.sockets
    ]  # Landlock closes no socket
    # Harmless devices alone: root could write to a disk as to a file.
    devices = [
        path for path in (*_NEEDED_DEVICES, *DEVICES) if os.path.exists(path) and not os.path.islink(path)
    ]
    closed = [path for path in (*profile.read_only, *secrets) if path not in profile.watched]
    around = [*profile.closed, *([profile.home] if profile.home else ())]
    closed += [path for path in around if path not in profile.writable]
    for root in (*profile.writable, *devices):
        yield from (WRITE + path for path in _parts(root, closed))
    for path in profile.opened:
        if profile.may_write(path):
            yield _opened(path, [*around, *profile.read_only, *secrets])
    yield from (READ + path for path in _parts("/", [*secrets, "/dev"]))
    for path in (*devices, SHARED_MEMORY):
        yield from (READ + part for part in _parts(path, secrets))


def _opened(path: str, closed: Sequence[str]) -> str:
    """The right to write an approved path, there or not: itself, else its folder if that holds nothing closed."""
    if os.path.lexists(path):
        return WRITE + path
    folder = os.path.dirname(path)
    direct = os.path.isdir(folder)
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    if not any(contains(folder, place) for place in closed):
        return WRITE + folder
    return (CREATE if direct else WRITE) + path


def _parts(root: str, closed: Sequence[str]) -> Iterator[str]:
    """A folder without what is closed in it: the folder itself if that is nothing, else its other entries."""
    inside = [path for path in closed if contains(root, path)]
    if not inside:
        yield root
        return
    if root in inside:
        return
    try:
        entries = sorted(os.scandir(root), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if not entry.is_symlink():  # a rule would be for what it names
            yield from _parts(entry.path, inside)
