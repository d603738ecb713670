"""The script `SB_HOME/bin/sb-confine`: hosts put it in front of each command line that they start.

It needs no interpreter for a call without a ticket: the engine's options lie in a file for the folder. Its text is
`confine.sh`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from sb.config.home import Home
from sb.hosts.confinement import processes
from sb.hosts.confinement.bubblewrap import mount_point, starting
from sb.hosts.confinement.landlock import INSIDE
from sb.hosts.confinement.store import ANY, SESSION
from sb.hosts.install.files import read_file, replace
from sb.tools.hosted.guarding import confiner_path

COMMAND = "confine"  # what starts the slow path, of the file that hooks start with
REFUSED = 126  # as a shell says that it cannot run something
_PLACE = re.compile("@([a-z]+)@")


def filled(template: str, **values: str) -> bytes:
    """The text of a script of this folder, with values in the place of `@name@`, and the function of `closed.sh`."""
    folder = Path(__file__).parent
    values["closed"] = (folder / "closed.sh").read_text(encoding="utf-8").rstrip("\n")
    text = (folder / template).read_text(encoding="utf-8")
    return _PLACE.sub(lambda place: values[place[1]], text).encode()


def script(home: Home, python: str, runtime: Path, own: Sequence[str]) -> bytes:
    """The text of the script.

    Args:
        python: the interpreter of hooks. runtime: the folder that they run from.
        own: command lines that run outside of confinement, word for word; at least one.
    """
    return filled(
        "confine.sh",
        python=shlex.quote(python),
        runtime=shlex.quote(str(runtime)),
        state=shlex.quote(str(home.folder / "confine")),
        mounted=shlex.quote(mount_point(home.folder / "confine")),
        inside=shlex.quote(str(home.folder / INSIDE)),
        home=shlex.quote(str(home.folder)),
        own=" | ".join(map(shlex.quote, own)),
        command=COMMAND,
        joining=shlex.join(processes.options(processes.USER_FD, processes.PID_FD)),
        starting='"$program" ' + shlex.join(starting("", str(home.folder / "confine"), 9)[1:]),
        closing=shlex.quote(processes.CLOSING),
        refused=str(REFUSED),
        session=SESSION,
        any=ANY,
    )


def write_script(home: Home, python: str, runtime: Path, own: Sequence[str]) -> Path:
    """Write the script beside the one of hooks; returns its path.

    Raises:
        SBError: it cannot be written.
    """
    path = confiner_path(home)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    current, content = read_file(path), script(home, python, runtime, own)
    if current.content != content:
        replace(current, content)
    path.chmod(0o700)
    return path
