"""SIGKILL at any step of an install or uninstall: the host's file is whole, and the next run makes it good."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from sb.config.home import Home
from sb.hosts.install.host import Places
from sb.hosts.install.installing import Installer
from sb.hosts.registry import host_settings
from tests.forked import Forks

OWN = b'{\n  "model": "opus"\n}'
CHILD = Path(__file__).with_name("killed_child.py")


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    with Forks("tests.hosts.install.killed_child", "sb.hosts.install.toml_text") as forks:
        yield forks


def run(forks: Forks, action: str, killed_at: int) -> bool:
    """True if it ended by itself."""
    done = forks.run(str(CHILD), action, str(killed_at), cwd=Path.cwd())
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode == 0


@pytest.mark.parametrize("there", [True, False])
def test_a_kill_at_any_step_leaves_a_whole_file_and_is_made_good(
    there: bool, person: Path, home: Path, forks: Forks
) -> None:
    file = person / ".claude" / "settings.json"
    if there:
        file.parent.mkdir()
        file.write_bytes(OWN)
    before = file.read_bytes() if there else None
    installer, host = Installer(Home(home), Places(os.environ, person)), host_settings("claude-code")
    installer.install(installer.plan_install(host))
    after = file.read_bytes()
    installer.uninstall(installer.plan_uninstall(host))
    step = 0
    ended = False
    while not ended:
        step += 1
        ended = run(forks, "install", step)
        assert (file.read_bytes() if file.exists() else None) in (before, after)
        installer.install(installer.plan_install(host))
        assert file.read_bytes() == after
        ended = run(forks, "uninstall", step) and ended
        assert (file.read_bytes() if file.exists() else None) in (before, after)
        installer.uninstall(installer.plan_uninstall(host))
        assert (file.read_bytes() if file.exists() else None) == before
        assert not there or os.listdir(file.parent) == [file.name]
        assert there or not file.parent.exists()
    assert step > 8
