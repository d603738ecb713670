"""Commands that the helper runs, on the terminal of whoever typed them."""

from __future__ import annotations

import os
import pty
import subprocess
from select import select

import pytest

from sb.config import load_config
from sb.hosts.hooks import resident
from sb.runtime import open_runtime
from tests.resident.conftest import WAIT_S, Site, started

HELPLESS = "import sys\nsys.modules['sb.cli'] = None  # what a command needs that runs here\n"


def run(site: Site, *words: str) -> tuple[int, str, str]:
    """Output of `sb` where only a helper can run a command."""
    program = site.project / "sb.py"
    program.write_text(HELPLESS + started(site.packages, ""), encoding="utf-8")
    command = [*site.command()[:-1], str(program), *words]
    done = subprocess.run(
        command, capture_output=True, text=True, env=site.env(), cwd=site.project, check=False
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def remembered(helped: Site) -> Site:
    with open_runtime(load_config(env=helped.env(), cwd=helped.project, flags={})) as runtime:
        runtime.brain("claude-code").remember("orders are shipped on fridays")
    return helped


def test_command_that_reads_is_run_by_the_helper(remembered: Site) -> None:
    code, output, complaint = run(remembered, "memory", "search", "orders")
    assert (code, complaint) == (0, "")
    assert "orders are shipped on fridays" in output
    assert run(remembered, "memory", "search", "orders") == (code, output, "")
    code, output, complaint = run(remembered, "memory", "search")
    assert (code, output, "QUERY is missing" in complaint) == (2, "", True)


def test_command_has_the_terminal_of_its_person(remembered: Site) -> None:
    run(remembered, "approvals", "list")
    screen, terminal = pty.openpty()
    program = remembered.project / "sb.py"
    command = [*remembered.command()[:-1], str(program), "approvals", "list"]
    env = remembered.env()
    subprocess.run(command, stdin=terminal, stdout=terminal, stderr=terminal, env=env, check=True)
    shown = b""
    while b"no pending requests" not in shown:  # which the kernel may hand over in parts
        assert select([screen], [], [], WAIT_S)[0], shown
        shown += os.read(screen, 4096)
    os.close(screen)
    os.close(terminal)


def test_other_commands_and_those_without_a_helper_run_where_they_are(site: Site) -> None:
    for words in (("memory", "search", "x"), ("memory", "remember", "y"), ("approvals", "approve", "apr_1")):
        code, _, complaint = run(site, *words)
        assert code != 0
        assert "sb.cli" in complaint
    assert resident.running(site.home) is None
