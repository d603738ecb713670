"""Calls with credentials that begin at the moment at which another one is judged."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sb.hosts.hooks.event import Decision, HookVerdict
from tests.hosts.hooks.conftest import Host
from tests.hosts.hooks.test_confining_keys import person

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is a program for Linux")
__all__ = ["person"]


def test_git_that_takes_its_keys_at_this_moment_holds_others_up(host: Host, person: Path) -> None:
    """The script makes the file that takes the ticket, then names its process in it, and only then starts the engine."""
    assert host.before("Bash", "t1", command="git fetch") == HookVerdict()
    with subprocess.Popen(["sleep", "60"]) as begun:
        start = Path(f"/proc/{begun.pid}/stat").read_text(encoding="utf-8").rpartition(") ")[2].split()[19]
        (ticket,) = (host.home / "confine" / "tickets").glob("*.call")
        taken = Path(f"{ticket}.taken")
        taken.touch(mode=0o600)
        writing = threading.Timer(0.1, taken.write_text, [f"{begun.pid} {start}\n"])
        writing.start()
        verdict = host.before("Bash", "t2", command="make")
        writing.join()
        begun.kill()
    assert verdict.decision is Decision.DENY
    assert "git fetch is using the user's keys" in verdict.reason
