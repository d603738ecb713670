"""Sockets that run things outside of confinement: terminals, containers, services, key agents, editors, displays, our helper.

A read-only mount does not keep a command from connecting to a socket, so each one is masked unless the line uses it.
Sockets without a path (the abstract ones of Linux) cannot be masked.
"""

from __future__ import annotations

import fnmatch
import os
import stat
from collections.abc import Iterator, Mapping
from glob import glob

from sb.hosts.confinement import tables
from sb.hosts.confinement.needs import HELPER


def control_sockets(home: str, env: Mapping[str, str], user: int, helper: str) -> Iterator[tuple[str, str]]:
    """The kind and real path of each such socket, or folder of sockets, that exists.

    Args:
        home: of the user. env: of the host. user: its number.
        helper: the folder with the socket of SecondBrain's helper for confined commands, and its secret.
    """
    if os.path.lexists(helper):
        yield HELPER, os.path.realpath(helper)
    run = f"/run/user/{user}"
    listings: dict[str, list[str]] = {}
    for kind, patterns in tables.SOCKETS.items():
        for pattern in patterns:
            path = pattern.format(user=user, home=home, run=run)
            for place in _fitting(path, listings) if "*" in path else [path]:
                if _is_door(place):
                    yield kind, _real(place)
    for variable, kind in tables.SOCKET_VARIABLES.items():
        place = _path_in(env.get(variable, ""))
        if place and _is_door(place):
            yield kind, _real(place)


def _fitting(pattern: str, listings: dict[str, list[str]]) -> list[str]:
    """The paths that a pattern stands for; folders are listed once for all."""
    folder, _, name = pattern.rpartition("/")
    if "*" in folder:
        return glob(pattern)
    if folder not in listings:
        try:
            listings[folder] = os.listdir(folder)
        except OSError:
            listings[folder] = []
    return [f"{folder}/{entry}" for entry in fnmatch.filter(listings[folder], name)]


def _is_door(place: str) -> bool:
    """True for a socket, or a folder of the user or of the system; a link may be an agent's, and lead anywhere."""
    try:
        status = os.lstat(place)
    except OSError:
        return False
    folder = stat.S_ISDIR(status.st_mode) and status.st_uid in (os.getuid(), 0)
    return stat.S_ISSOCK(status.st_mode) or folder


def _real(place: str) -> str:
    return os.path.join(os.path.realpath(os.path.dirname(place)), os.path.basename(place))


def _path_in(value: str) -> str:
    """The absolute path in a variable such as "unix:path=/run/user/1000/bus,guid=…" or "/tmp/tmux-0/default,4,0"."""
    start = value.find("/")
    path = value[start:].partition(",")[0] if start >= 0 else ""
    return os.path.normpath(path) if path else ""
