"""`sandbox-exec` of macOS: holds commands to a profile in its own language (SBPL), in which the last rule that fits wins."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from sb.hosts.confinement import probing
from sb.hosts.confinement.profile import Profile

NAME = "sandbox-exec"
_PROGRAM = "/usr/bin/sandbox-exec"
# Written by every program; disks stay closed.
_DEVICES = (
    "/dev/null",
    "/dev/zero",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/dtracehelper",
    "/dev/stdout",
    "/dev/stderr",
)
GAPS = (
    "tried on no macOS by us: that it holds is what its probe says",
    "sandbox-exec is deprecated by Apple, without a successor for commands",
    "services without a path (launchd, XPC) can be reached, so a program there can be asked to write",
    "background processes are not seen: a project's watched paths are compared until the session's calls end",
)


def find() -> str:
    """The system's program; "" elsewhere than on macOS."""
    return _PROGRAM if sys.platform == "darwin" and os.access(_PROGRAM, os.X_OK) else ""


def probe(program: str, folder: Path) -> str:
    """The reason why it does not hold here, or "".

    Args:
        folder: where the probe may make its files; nothing is left there.
    """

    def start(profile: Profile, file: Path) -> list[str]:
        file.write_bytes(options(profile, folder))
        return command(program, str(file), 0)

    return probing.probe(start, folder)


def command(program: str, file: str, _number: int) -> list[str]:
    """The words before a command.

    Args:
        file: with its profile.
    """
    return [program, "-f", file]


def is_alive(_folder: Path) -> bool:
    """False: nothing tells a confined process from others."""
    return False


def options(profile: Profile, _denied: Path) -> bytes:
    """A profile in SBPL."""
    return b"".join(line + b"\n" for line in _rules(profile))


def _rules(profile: Profile) -> Iterator[bytes]:
    yield from (b"(version 1)", b"(allow default)", b"(deny file-write*)")
    yield b'(allow file-write-data (regex #"^/dev/(fd/|tty)"))'
    yield from _rule(b"allow file-write-data file-ioctl", b"literal", _DEVICES)
    yield from _rule(b"allow file-write*", b"subpath", profile.writable)
    yield from _rule(b"deny file-write*", b"subpath", profile.read_only)
    yield from _rule(b"deny file-write-unlink", b"literal", profile.held)
    yield from _rule(b"allow file-write*", b"subpath", profile.work)
    # What was approved, unless something closed is nearer to it: as `Profile.may_write` says.
    opened = [path for path in profile.opened if profile.may_write(path)]
    yield from _rule(b"allow file-write*", b"subpath", opened)
    # A folder that was approved as a whole does not open what decides how calls are judged.
    yield from _rule(b"deny file-write*", b"subpath", [path for path in profile.closed if path not in opened])
    yield from _rule(b"deny file-read-data file-write* network-outbound", b"subpath", profile.unreadable)


def _rule(action: bytes, kind: bytes, paths: Iterable[str]) -> Iterator[bytes]:
    filters = b"".join(b"\n    (%s %s)" % (kind, _quoted(path)) for path in paths)
    if filters:
        yield b"(%s%s)" % (action, filters)


def _quoted(path: str) -> bytes:
    """A path as a string of SBPL: bytes as they are, but for quotes, backslashes and control characters."""
    parts = bytearray(b'"')
    for byte in os.fsencode(path):
        if byte in b'"\\':
            parts += b"\\%c" % byte
        elif byte < 0x20 or byte == 0x7F:
            parts += b"\\x%02x" % byte
        else:
            parts.append(byte)
    return bytes(parts + b'"')
