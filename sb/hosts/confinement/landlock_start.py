"""Starter of commands under Landlock, run as a file: `python -I -S landlock_start.py PACKAGES OPTIONS PROGRAM ARGUMENT…`.

It restricts itself with the package `landlockpy`, found in the folder PACKAGES, and becomes the program. OPTIONS is a
file as `sb.hosts.confinement.landlock` writes it. Whatever fails, the program is not started.
"""

from __future__ import annotations

import ctypes
import os
import resource
import sys
from contextlib import suppress
from types import ModuleType

REFUSED = 126
# Microseconds that a process with real-time priority may run: finite in confined processes, and not to be raised again.
MARK_LIMIT = 86_400_000_017
# Each option begins with one of these. CREATE makes an empty file, then opens it as WRITE; NOTE names a folder.
READ, WRITE, CREATE, NOTE = "r", "w", "c", "n"
# Programs note in the home that they asked for a newer version of themselves. A confined one cannot, and would ask on
# every run.
NO_UPDATES = {"npm_config_update_notifier": "false", "NO_UPDATE_NOTIFIER": "1"}
_SETPRIV = ("/usr/bin/setpriv", "/bin/setpriv", "/run/current-system/sw/bin/setpriv")


def main(packages: str, options: str, *command: str) -> None:
    """Replace this process by a command that is held to the options.

    Args:
        packages: the folder of `landlockpy`. options: a file. command: a program by its absolute path, and arguments.
    """
    try:
        with open(options, "rb") as file:
            rights = [os.fsdecode(option) for option in file.read().split(b"\0") if option]
        _prepare(packages)
        for right in rights:
            if right[0] == NOTE:
                _note(right[1:])
        _restrict([right for right in rights if right[0] != NOTE])
        words = [*_without_capabilities(), *command]
        os.execve(words[0], words, {**os.environ, **NO_UPDATES, "SB_CONFINED": "landlock"})
    except (OSError, ImportError, ValueError) as error:
        sys.stderr.write(f"sb-confine: not run: landlock: {error}\n")
        sys.exit(REFUSED)


def _note(folder: str) -> None:
    """Leave a file named after this process, by which `sb-confine` knows that it and all that it starts are confined.

    No confined process can write there. Without the file, commands inside are refused.
    """
    with suppress(OSError, IndexError):
        with open("/proc/sys/kernel/random/boot_id", encoding="utf-8") as boot:
            name = boot.read().strip()
        with open("/proc/self/stat", encoding="utf-8", errors="replace") as own:
            started = own.read().rpartition(") ")[2].split()[19]
        os.makedirs(folder, mode=0o700, exist_ok=True)
        path = os.path.join(folder, f"{name}.{os.getpid()}.{started}")
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600))


def _prepare(packages: str) -> None:
    """Make `landlockpy` importable at a quarter of its time, which every command would wait for.

    Its `__init__` loads helpers for tests. It imports `ctypes.util` to look for the C library, which starts a program
    and loads much; without an answer it takes the library that this process has.
    """
    package = ModuleType("landlockpy")
    package.__path__ = [os.path.join(packages, "landlockpy")]
    lookup = ModuleType("ctypes.util")
    lookup.__dict__["find_library"] = lambda _name: None
    ctypes.__dict__["util"] = lookup
    sys.modules.update({"landlockpy": package, "ctypes.util": lookup})


def _restrict(rights: list[str]) -> None:
    """Allow what the options name; all else can be neither written nor read, for this process and its children."""
    from landlockpy._syscall import abi_version
    from landlockpy.flags import AccessFS, AccessNet, Scope, scope_for_abi
    from landlockpy.ruleset import Ruleset

    content = AccessFS.WRITE_FILE | AccessFS.TRUNCATE
    entries = (
        AccessFS.REMOVE_DIR | AccessFS.REMOVE_FILE | AccessFS.MAKE_DIR | AccessFS.MAKE_REG | AccessFS.MAKE_SYM
    )
    entries |= AccessFS.MAKE_SOCK | AccessFS.MAKE_FIFO | AccessFS.REFER
    devices = (
        AccessFS.MAKE_CHAR | AccessFS.MAKE_BLOCK
    )  # of these nothing is allowed: root could make a disk's
    read = AccessFS.READ_FILE
    handled = content | entries | devices | read
    # Not signals: each command is a domain of its own, and a later one has to end the server of an earlier one.
    scoped = Scope.ABSTRACT_UNIX_SOCKET & scope_for_abi(abi_version())
    with Ruleset(handled_fs=handled, handled_net=AccessNet.NONE, scoped=scoped, best_effort=False) as ruleset:
        for right in rights:
            kind, path = right[0], right[1:]
            if kind == CREATE:
                _create(path)
            try:
                # Not through links, which a command may have made since the options were written.
                opened = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            place = f"/proc/self/fd/{opened}"
            if os.readlink(place) == path:
                changing = content | entries if os.path.isdir(place) else content
                ruleset.allow_path(place, read if kind == READ else changing)
            os.close(opened)
        _, hard = resource.getrlimit(resource.RLIMIT_RTTIME)
        if hard == resource.RLIM_INFINITY:
            resource.setrlimit(resource.RLIMIT_RTTIME, (MARK_LIMIT, MARK_LIMIT))
        ruleset.restrict()


def _create(path: str) -> None:
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666))
    except FileExistsError:
        pass


def _without_capabilities() -> list[str]:
    """The program of util-linux that takes root's capabilities away, which Landlock leaves.

    Raises:
        OSError: root, without that program.
    """
    if os.geteuid() != 0:
        return []
    for program in _SETPRIV:
        if os.access(program, os.X_OK):
            return [program, "--bounding-set=-all", "--inh-caps=-all"]
    raise OSError("root needs setpriv, of util-linux")


if __name__ == "__main__":
    main(*sys.argv[1:])
