"""Sockets of a person's programs that run things outside of confinement."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from sb.hosts.confinement.needs import needs_of
from sb.hosts.confinement.sockets import control_sockets
from tests.rows import rows


@pytest.fixture
def short_home() -> Iterator[Path]:
    """A home whose paths are short enough for sockets."""
    with TemporaryDirectory(prefix="sb-") as folder:
        yield Path(os.path.realpath(folder))


@rows(
    "place, kind",
    [
        (".pm2/rpc.sock", "services"),
        (".pm2/pub.sock", "services"),
        (".local/share/supervisor.sock", "services"),
        (".mutagen/daemon/daemon.sock", "services"),
        (".ssh/cm-me@host:22", "ssh-agent"),
        (".ssh/me@host-22", "ssh-agent"),
        (".ssh/control-1", "ssh-agent"),
        (".cache/nvim/server.pipe", "editors"),
        (".local/share/zed/zed-stable.sock", "editors"),
        (".config/mpv/socket", "displays"),
        (".lima/default/ha.sock", "docker"),
        (".cache/tool/data.sock", ""),
        (".local/share/mysql/mysql.sock", ""),
    ],
)
def test_socket_by_which_a_program_starts_others_is_known(place: str, kind: str, short_home: Path) -> None:
    path = short_home / place
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(socket.socket(socket.AF_UNIX)) as listening:
        listening.bind(str(path))
        found = {found: kind for kind, found in control_sockets(str(short_home), {}, 4242, "/none")}
    os.unlink(path)
    assert found.get(str(path), "") == kind


@rows("place", [".emacs.d/server", ".config/emacs/server", ".local/state/watchman", ".dtach"])
def test_folder_of_such_sockets_is_known(place: str, short_home: Path) -> None:
    (short_home / place).mkdir(parents=True)
    found = [path for _, path in control_sockets(str(short_home), {}, 4242, "/none")]
    assert str(short_home / place) in found


@rows(
    "command, is_open",
    [("pm2 restart api", True), ("pm2 ls", True), ("supervisorctl status", True), ("node x.js", False)],
)
def test_program_of_such_a_socket_reaches_it(command: str, is_open: bool) -> None:
    given = needs_of([tuple(command.split())], command)
    assert any("services" in row.sockets for row in given.rows) is is_open
