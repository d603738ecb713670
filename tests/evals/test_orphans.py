"""Processes that an agent leaves behind end with the run, also without group and environment."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sb.evals.agents.orphans import ending_orphans
from tests.evals.test_command_agents import gone

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process adopt orphans")

LEAVES = """\
(env -i setsid sh -c 'echo $$; sleep 61 & echo $!; wait' >"$1" 2>&1 </dev/null &)
while [ "$(wc -l <"$1")" -lt 2 ]; do sleep 0.02; done
"""


def test_process_that_left_group_and_environment_ends_with_the_run(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    pids.touch()
    with ending_orphans():
        subprocess.run(["sh", "-c", LEAVES, "sh", str(pids)], check=True, timeout=60, start_new_session=True)
        numbers = [int(pid) for pid in pids.read_text("ascii").split()]
        assert all(Path("/proc", str(pid)).exists() for pid in numbers)
    assert len(numbers) == 2
    assert all(map(gone, numbers))


def test_processes_of_before_and_of_this_session_are_spared() -> None:
    sleep = ["sleep", "61"]
    with subprocess.Popen(sleep, start_new_session=True) as before:
        with ending_orphans():
            own = subprocess.Popen(sleep)
        assert (before.poll(), own.poll()) == (None, None)
        for process in (before, own):
            process.kill()
            process.wait()
