"""An install or uninstall that is killed at one step of what it does to files.

`python killed_child.py install|uninstall STEP`: dies by SIGKILL at that step, in the home and the folder that it is in.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import sb.hosts.install.toml_text  # noqa: F401 - its import is no step
from sb.config.home import Home
from sb.hosts.install.host import Places
from sb.hosts.install.installing import Installer
from sb.hosts.registry import host_settings


def main(action: str, last: int) -> None:
    steps = 0

    def count(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal steps
        writes = (
            event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        )
        if writes or event in ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod"):
            steps += 1
            if steps == last:
                os.kill(os.getpid(), signal.SIGKILL)

    installer = Installer(Home.locate(os.environ), Places(os.environ, Path.cwd()))
    host = host_settings("claude-code")
    sys.addaudithook(count)
    if action == "install":
        installer.install(installer.plan_install(host))
    else:
        installer.uninstall(installer.plan_uninstall(host))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
