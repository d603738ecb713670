"""The remotes of a project's repository, as they are known when a session starts; no git is run."""

from __future__ import annotations

import os
import re
from hashlib import sha256

from sb.base.files import read_regular
from sb.shell.places.repositories import settings_of

_LONGEST = 1 << 20  # bytes of a repository's settings
_SECTION = re.compile(r"""\s*\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]""")
_LOGIN = re.compile(r"(?<=//)[^@/\s]*@")
_WHERE = ("remote", "url", "include", "includeif")
_REMOTE_OF_A_BRANCH = re.compile(r"\s*(?:push)?remote\s*=\s*(.+?)\s*$", re.IGNORECASE)


def remotes_of(cwd: str) -> str:
    """The names of a repository's remotes, and a digest of where these and its settings lead; "" without a repository.

    Logins in addresses are left out, so that none is recorded.
    """
    try:
        settings = settings_of(os.path.realpath(cwd)) if os.path.isabs(cwd) else ""
        if not settings:
            return ""
        lines = read_regular(os.path.join(settings, "config"), _LONGEST).decode(errors="replace").splitlines()
    except OSError:
        return ""
    names: list[str] = []
    leading: list[str] = []
    of_branches: set[str] = set()
    section = ""
    for line in lines:
        if header := _SECTION.match(line):
            section, name = header[1].lower(), header[2] or ""
            if section == "remote" and name:
                names.append(name)
        if section in _WHERE:
            leading.append(_LOGIN.sub("", line.strip()))
        elif section == "branch" and (value := _REMOTE_OF_A_BRANCH.match(line)):
            of_branches.add(value[1])
    leading += sorted(of_branches - {*names, "."})
    digest = sha256("\n".join(leading).encode()).hexdigest()[:32]
    return " ".join([*dict.fromkeys(names), digest])


def is_known(remote: str, then: str, now: str) -> bool:
    """True if a push goes to a remote that was known when the session started, and leads where it led.

    Args:
        remote: as the command names it; "" for the usual one.
        then, now: what `remotes_of` gave.
    """
    return bool(then) and then == now and (not remote or remote in then.split(" ")[:-1])
