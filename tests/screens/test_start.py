"""`sb console`: how it starts, refuses to start, and ends, in a real terminal and without one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from sb.config import current_config
from sb.kernel.authority.authority import Authority
from sb.kernel.authority.enrolment import Enrolment
from sb.kernel.authority.keys import KeyFolder
from tests.conftest import CommandLine
from tests.screens.conftest import Agents
from tests.screens.terminal import Terminal
from tests.screens.test_deciding import PASSPHRASE, enrol

LATER = (
    "cryptography",
    "sqlite_utils",
    "sqlite_vec",
    "numpy",
    "aiohttp",
    "sb.kernel.recovery_loop.service",
    "sb.runtime",
    "sb.shell",
    "sb.tools",
    "sb.operator.demo.story",
)


def test_without_a_terminal_it_points_to_plain_lines(sb: CommandLine) -> None:
    refused = sb("console")
    assert (refused.code, "needs a terminal" in refused.err, "--plain" in refused.err) == (2, True, True)


def test_plain_lines_hold_what_the_screens_show(sb: CommandLine, agents: Agents) -> None:
    agents.clock.time = time.time()  # what was asked for later than now is expired
    agents.work(2)
    agents.pay()
    agents.change_contract()
    agents.call("bank.hang", {"text": "x"})
    agents.runtime.brain("clerk").remember("the office is in Bonn")
    agents.runtime.entity("clerk").checkpoint("before the release")
    expected = {
        "inbox": "bank.pay to=bob",
        "agents": "clerk",
        "runs": "keep the books",
        "log": "bank.look account=DE-1",
        "calls": "bank.hang text=x",
        "decisions": "contracts of bank.hang",
        "contracts": "changed   bank.look",
        "memory": "the office is in Bonn",
        "checkpoints": "before the release",
    }
    for screen, text in expected.items():
        shown = sb("console", "--plain", screen)
        assert (shown.code, text in shown.out) == (0, True), screen
    wrong = sb("console", "--plain", "lgo")
    assert (wrong.code, 'did you mean "log"' in wrong.err) == (2, True)
    assert sb("--db", "nowhere.db", "console", "--plain").code == 3


def test_many_rows_are_cut_and_said_so(sb: CommandLine, agents: Agents) -> None:
    agents.work(150)
    shown = sb("console", "--plain", "log")
    assert shown.out.count("\n") == 201
    assert "showing 200 of 2" in shown.err


def test_starting_loads_only_what_the_first_screen_needs() -> None:
    script = "import sb.cli, sb.commands.console, sb.screens.app, sb.screens.inbox, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "textual.app" in loaded
    assert sorted(name for name in (*LATER, "sb.screens.log", "sb.screens.dialogs") if name in loaded) == []


def test_in_a_real_terminal_it_shows_the_inbox_follows_a_resize_and_quits(agents: Agents, home: Path) -> None:
    agents.work(2)
    terminal = Terminal(home, 80, 24)
    terminal.read_until("Nothing waits for you")
    terminal.read_until("read-only")
    terminal.type("3")
    terminal.read_until("bank.look account=DE-1")
    terminal.seen = ""
    terminal.resize(140, 40)
    terminal.read_until("3 Activity")
    terminal.type("q")
    assert terminal.wait() == 0


def test_the_windows_title_counts_what_needs_you(agents: Agents, home: Path) -> None:
    agents.call("bank.hang", {"text": "one"})
    terminal = Terminal(home, 80, 24)
    terminal.rest(lambda screen: screen.title == "(1) sb console")
    agents.call("bank.hang", {"text": "two"})
    terminal.rest(lambda screen: screen.title == "(2) sb console")
    terminal.type("q")
    with suppress(OSError):  # what Linux says when the other side has closed
        while terminal.read(5):
            pass
    assert "\x1b[23;0t" in terminal.seen, "the former title is back"
    assert terminal.wait() == 0


def test_a_browsers_console_asks_who_decides_where_several_could(agents: Agents, home: Path) -> None:
    enrol(agents)
    config = current_config()
    keys = KeyFolder(config.home.keys)
    ada = keys.read("ada").unlock(PASSPHRASE)
    enrolment = Enrolment(Authority(config.operators.file, agents.runtime.log), keys)
    enrolment.add("grace", "", ada, "a second pair of eyes", passphrase=PASSPHRASE)
    terminal = Terminal(home, 80, 24, "console", "--web")
    terminal.read_until("Who decides: ada, grace?")
    terminal.type("eve\n")
    terminal.read_until("no key of eve is in this home")
    terminal.type("grace\n")
    terminal.read_until("passphrase of grace")
    terminal.type("\x03")
    assert terminal.wait() != 0


def test_the_demo_opens_the_console_and_says_what_became_of_what_was_decided(
    sb: CommandLine, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal(home, 120, 40, "demo", str(tmp_path / "demo"))
    terminal.read_until("Press enter to open the console")
    monkeypatch.setenv("SB_HOME", str(tmp_path / "demo" / "home"))
    terminal.type("\n")
    terminal.read_until("shop.label")
    for item in sb("approvals", "list", "--json").json["items"]:
        assert sb("approvals", "approve", item["id"], "--reason", "it shipped").code == 0
    terminal.type("q")
    terminal.read_until("order 1002 is shipped, 0.00 of 49.00 refunded")
    for entry in ("it shipped", "recovery: payments.reverse_refund", "clerk: shell.run", "Look further"):
        terminal.read_until(entry)
    assert terminal.wait() == 0
    assert not (tmp_path / "demo" / "shop" / "exports").exists()


OUTLIVES = """import json, os, resource, signal, subprocess, sys
signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does; what is started inherits it
code = subprocess.run([sys.executable, "-m", "sb", "console"], timeout=300).returncode
spent = resource.getrusage(resource.RUSAGE_CHILDREN)
os.write(int(sys.argv[1]), json.dumps([code, spent.ru_utime + spent.ru_stime]).encode())
"""
HOLDS = """import os, pty, sys
pid, fd = pty.fork()
if not pid:
    os.set_inheritable(int(sys.argv[2]), True)
    os.execv(sys.executable, [sys.executable, "-c", *sys.argv[1:]])
while data := os.read(fd, 1 << 16):
    os.write(1, data)
"""


def test_it_ends_with_a_terminal_that_was_killed_and_sent_no_hangup(agents: Agents, home: Path) -> None:
    ending, ended = os.pipe()
    environment = {"PATH": os.environ["PATH"], "SB_HOME": str(home), "TERM": "xterm-256color"}
    emulator = subprocess.Popen(
        [sys.executable, "-c", HOLDS, OUTLIVES, str(ended)],
        stdout=subprocess.PIPE,
        env=environment,
        pass_fds=[ended],
    )
    os.close(ended)
    assert emulator.stdout is not None
    painted = b""
    with emulator.stdout:
        while b"Nothing waits for you" not in painted:
            painted += os.read(emulator.stdout.fileno(), 1 << 16)
        emulator.kill()
        emulator.wait()
    report = os.read(ending, 1 << 10)
    os.close(ending)
    assert report, "it lived on without a terminal"
    code, cpu_s = json.loads(report)
    assert code == 0
    assert cpu_s < 10, "a start, and no turn after turn"
