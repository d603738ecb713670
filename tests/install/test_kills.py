"""SIGKILL at any step of an install or uninstall: the host's file is whole, and the next run makes it good."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sb.config.home import Home
from sb.install.host import Places
from sb.install.hosts import HOSTS
from sb.install.installing import Installer

OWN = b'{\n  "model": "opus"\n}'
CHILD = """\
import os, signal, sys
from pathlib import Path
import sb.install.toml_text
from sb.config.home import Home
from sb.install.host import Places
from sb.install.hosts import HOSTS
from sb.install.installing import Installer

steps, last = 0, int(sys.argv[2])

def count(event, arguments):
    global steps
    writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
    if writes or event in ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod"):
        steps += 1
        if steps == last:
            os.kill(os.getpid(), signal.SIGKILL)

installer = Installer(Home.locate(os.environ), Places(os.environ, Path.cwd()))
host = HOSTS["claude-code"]
sys.addaudithook(count)
if sys.argv[1] == "install":
    installer.join(installer.joining(host))
else:
    installer.leave(installer.leaving(host))
"""


def run(action: str, killed_at: int) -> bool:
    """Whether it ended by itself."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD, action, str(killed_at)], check=False, capture_output=True
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr.decode()
    return done.returncode == 0


@pytest.mark.parametrize("there", [True, False])
def test_a_kill_at_any_step_leaves_a_whole_file_and_is_made_good(
    there: bool, person: Path, home: Path
) -> None:
    file = person / ".claude" / "settings.json"
    if there:
        file.parent.mkdir()
        file.write_bytes(OWN)
    before = file.read_bytes() if there else None
    installer, host = Installer(Home(home), Places(os.environ, person)), HOSTS["claude-code"]
    installer.join(installer.joining(host))
    after = file.read_bytes()
    installer.leave(installer.leaving(host))
    step = 0
    ended = False
    while not ended:
        step += 1
        ended = run("install", step)
        assert (file.read_bytes() if file.exists() else None) in (before, after)
        installer.join(installer.joining(host))
        assert file.read_bytes() == after
        ended = run("uninstall", step) and ended
        assert (file.read_bytes() if file.exists() else None) in (before, after)
        installer.leave(installer.leaving(host))
        assert (file.read_bytes() if file.exists() else None) == before
        assert not there or os.listdir(file.parent) == [file.name]
        assert there or not file.parent.exists()
    assert step > 8
