"""Detect a network file system, where SQLite's locks are not reliable."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

_NETWORK = re.compile(
    r"nfs\d?|cifs|smb\w*|smbfs|afpfs|webdav|afs|ceph|glusterfs|lustre|9p|fuse\.(sshfs|rclone|s3fs|glusterfs|davfs2?)"
)
_LINUX_MOUNT = re.compile(r"^\S+ (?P<point>\S+) (?P<type>\S+) ")
_MACOS_MOUNT = re.compile(r"^.+? on (?P<point>.+?) \((?P<type>[^,)]+)")


def file_system_of(path: Path, mounts: str) -> str:
    """The type of the file system that holds `path`, "" if the table does not say.

    Args:
        path: absolute, without symbolic links.
        mounts: the text of /proc/mounts, or the output of `mount` on macOS.
    """
    best, found = -1, ""
    for line in mounts.splitlines():
        match = _MACOS_MOUNT.match(line) or _LINUX_MOUNT.match(line)
        if match is None:
            continue
        point = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), match["point"])
        if path.is_relative_to(point) and len(point) >= best:
            best, found = len(point), match["type"]
    return found


def is_network(file_system: str) -> bool:
    return _NETWORK.fullmatch(file_system) is not None


def network_file_system(path: Path) -> str:
    """The type of the network file system that holds `path`, or "" when it is a local one or nobody can tell."""
    found = file_system_of(path.resolve(), _mount_table())
    return found if is_network(found) else ""


def _mount_table() -> str:
    try:
        if sys.platform == "darwin":
            return subprocess.run(
                ["/sbin/mount"], capture_output=True, text=True, timeout=5, check=True
            ).stdout
        return Path("/proc/mounts").read_text(encoding="utf-8", errors="replace")
    except (OSError, subprocess.SubprocessError):
        return ""
