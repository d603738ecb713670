"""Starts by `sb-confine` of other things than an agent's commands: servers, other hooks, and folders without a profile."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sb.base.sources import SYSTEM_CLOCK
from sb.config.home import Home
from sb.hosts.confinement.store import ConfineStore
from sb.hosts.hook_engine import engine_of_hooks
from sb.hosts.install.wrapper import write_wrapper
from sb.tools.hosted.guarding import confiner_path, wrapper_path
from tests.hosts.install.conftest import seed

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is a program for Linux")
WHERE = "echo ${SB_CONFINED:-outside}"


@pytest.fixture
def user(tmp_path: Path, made: Path) -> Path:
    """A user's home with `sb-confine` and a project."""
    home = Home(tmp_path / "user" / ".sb")
    seed(home, made)
    write_wrapper(home)
    (tmp_path / "user" / "shop" / ".git").mkdir(parents=True)
    return tmp_path / "user"


def start(user: Path, line: str) -> subprocess.CompletedProcess[str]:
    """A line as the host hands over what is no agent's command."""
    return subprocess.run(
        [confiner_path(Home(user / ".sb")), line],
        cwd=user / "shop",
        env={"PATH": "/usr/bin:/bin", "HOME": str(user), "SHELL": "/bin/bash"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_other_hooks_and_servers_of_a_project_are_confined(user: Path) -> None:
    done = start(user, WHERE)
    assert done.stdout == "bubblewrap\n", done.stderr
    (user / "shop" / ".mcp.json").write_text(
        json.dumps({"mcpServers": {"a": {"command": "sh", "args": ["-c", WHERE]}}})
    )
    assert start(user, f"sh -c '{WHERE}'").stdout == "bubblewrap\n"


def test_server_of_the_persons_own_settings_runs_outside(user: Path) -> None:
    (user / ".claude.json").write_text(
        json.dumps({"mcpServers": {"a": {"command": "sh", "args": ["-c", WHERE]}}})
    )
    assert start(user, f"sh -c '{WHERE}'").stdout == "outside\n"
    assert start(user, f"sh -c '{WHERE}' more").stdout == "bubblewrap\n"


def test_agents_command_in_a_folder_without_a_profile_is_confined(user: Path) -> None:
    line = f"source /nowhere || true && eval '{WHERE}' < /dev/null && pwd -P >| /dev/null"
    assert start(user, line).stdout == "bubblewrap\n"
    confine = user / ".sb" / "confine"
    assert not (confine / "folders").exists(), "no hook has judged it, so no project is its own"
    assert os.fsencode(user / "shop") not in (confine / "default").read_bytes().split(b"\0")
    assert start(user, WHERE).stdout == "bubblewrap\n"
    [other] = (confine / "folders").rglob("options")
    words = other.read_bytes().split(b"\0")
    assert os.fsencode(user / "shop") not in words, "in a temporary folder, where nobody holds it yet"


def test_state_that_cannot_be_written_starts_nothing(user: Path) -> None:
    state = user / ".sb" / "confine"
    state.write_text("", encoding="utf-8")
    done = start(user, WHERE)
    assert (done.returncode, done.stdout) == (126, "")
    assert "cannot be read or written" in done.stderr
    state.unlink()
    assert start(user, WHERE).stdout == "bubblewrap\n"


def test_switched_off_or_required(user: Path) -> None:
    config = user / ".sb" / "config.yaml"
    config.write_text("hooks: {confine: off}\n")
    assert start(user, WHERE).stdout == "outside\n"
    config.write_text("hooks: {confine: require}\n")
    ConfineStore(Home(user / ".sb"), SYSTEM_CLOCK).set_mode(on=True, required=True)  # as the next hook does
    assert start(user, WHERE).stdout == "bubblewrap\n"
    engine = user / ".sb" / "confine" / "engine"
    engine.write_text(engine.read_text().replace('"fault": ""', '"fault": "no user namespaces"'))
    done = start(user, WHERE)
    assert (done.returncode, done.stdout) == (126, "")
    assert done.stderr == "sb-confine: not run: hooks.confine = require, and no user namespaces\n"


def test_configuration_that_cannot_be_read_starts_nothing(user: Path) -> None:
    (user / ".sb" / "config.yaml").write_text("hooks: [\n")
    done = start(user, WHERE)
    assert (done.returncode, done.stdout) == (126, "")
    assert done.stderr.startswith("sb-confine: not run: ")
    assert done.stderr.count("\n") == 1


def test_namespaces_are_not_left_open_in_a_command(user: Path) -> None:
    for _ in range(2):  # the slow path makes what the next start joins
        done = start(user, "echo /proc/self/fd/*")
        assert not {7, 8, 9} & {int(path.rpartition("/")[2]) for path in done.stdout.split()}
    line = "source /nowhere || true && eval 'echo /proc/self/fd/*' < /dev/null && pwd -P >| /dev/null"
    assert not {7, 8, 9} & {int(path.rpartition("/")[2]) for path in start(user, line).stdout.split()}


def test_engine_is_the_one_that_hooks_find_whatever_another_process_noted(user: Path) -> None:
    home = Home(user / ".sb")
    found = engine_of_hooks(home)
    assert (found.holds, found.name) == (True, "bubblewrap")
    noted = user / ".sb" / "confine" / "engine"
    noted.write_text(
        json.dumps({"program": "/nowhere/bwrap", "fault": "", "name": "bubblewrap", "stamp": []})
    )
    assert engine_of_hooks(home) == found
    assert "/nowhere" not in noted.read_text()


def test_engine_without_hooks_or_with_broken_ones_does_not_hold(user: Path, tmp_path: Path) -> None:
    assert engine_of_hooks(Home(tmp_path / "other")).fault == "no host runs hooks of this home yet"
    wrapper = wrapper_path(Home(user / ".sb"))
    text = re.sub("^runtime=.*", f"runtime={tmp_path / 'gone'}", wrapper.read_text(), flags=re.MULTILINE)
    wrapper.write_text(text)
    broken = engine_of_hooks(Home(user / ".sb"))
    assert not broken.holds
    assert broken.fault.startswith("hooks cannot try it: ")
