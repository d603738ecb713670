"""The script that hosts run, and its answers when the interpreter or `sb` is missing.

A host's configuration outlives the environment that `sb` was installed into, and a command that is missing blocks every
tool call on some hosts. So hosts run this script, whose path never changes and which needs nothing but a shell. Its text is
`hook.sh`.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import time
from contextlib import suppress
from pathlib import Path

from sb.config.home import Home
from sb.hosts.confinement.store import forget_engine
from sb.hosts.install.confine_script import filled, write_script
from sb.hosts.install.files import read_file, replace
from sb.hosts.install.host import Wanted
from sb.hosts.install.runtime import Runtimes, in_use
from sb.hosts.registry import host_settings, installable
from sb.tools.hosted.guarding import confiner_path, wrapper_path

_ASSIGNED = re.compile(r"^(python|package|runtime)=(.*)$", re.MULTILINE)
_LAST_HOOKS_S = 0.5  # for hooks that began before the switch, and import more while they run


def wrapper_script(home: Home, python: str, package: Path, runtime: Path) -> bytes:
    """The text of the script.

    Args:
        python: the interpreter. package: the folder of `sb`. runtime: the folder that hooks run from.
    """
    return filled(
        "hook.sh",
        python=shlex.quote(python),
        package=shlex.quote(str(package)),
        runtime=shlex.quote(str(runtime)),
        home=shlex.quote(str(home.folder)),
        own=shlex.quote(sys.executable),
    )


def write_wrapper(home: Home) -> Path:
    """Write the script for `sb` as it is installed now, and remove the runtime that it used before.

    Raises:
        SBError: `sb` cannot be started from the interpreter alone, or the script cannot be written.
    """
    runtimes, path = Runtimes(home), wrapper_path(home)
    for closed in (runtimes.folder, path.parent, path):
        with suppress(OSError):  # it is missing; a command can take modes away, which Landlock does not hold
            closed.chmod(0o700)
    former = in_use(home)
    runtime, python, package = runtimes.make()
    content = wrapper_script(home, python, package, runtime)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    current = read_file(path)
    if current.content != content:
        replace(current, content)
    path.chmod(0o700)
    own = [line for name in installable() for line in host_settings(name).own_lines(Wanted(path))]
    write_script(home, python, runtime, tuple(dict.fromkeys(own)))
    forget_engine(home)
    if former not in (None, runtime):
        time.sleep(_LAST_HOOKS_S)
    runtimes.prune(keep=runtime)
    return path


def wrapper_problem(home: Home) -> str:
    """The reason why the script cannot start `sb`, or ""."""
    path = wrapper_path(home)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return f"{path} is missing or cannot be read"
    for script in (path, confiner_path(home)):
        if script.exists() and not os.access(script, os.X_OK):
            return f"{script} cannot be run"
    named = {name: "".join(shlex.split(value)) for name, value in _ASSIGNED.findall(text)}
    python, package = Path(named.get("python", "")), Path(named.get("package", ""))
    if not os.access(python, os.X_OK) or not python.is_file():
        return f"the interpreter {python} is gone"
    if not (package / "__main__.py").exists():
        return f"sb is gone from {package}"
    runtime = named.get("runtime")
    return f"{runtime} is gone" if runtime and not Path(runtime, "start.py").exists() else ""
