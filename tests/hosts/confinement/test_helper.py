"""The helper answers a few commands of confined agents, with an agent's rights, and nothing else."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from sb.base.sources import SYSTEM_CLOCK
from sb.config import load_config
from sb.hosts.confinement import bubblewrap
from sb.hosts.confinement.needs import needs_of
from sb.hosts.hooks.calls.context import judging_context
from sb.hosts.hooks.confined.confining import Confining
from sb.hosts.hooks.event import HookEvent, Moment
from sb.resident.client import SERVED
from sb.resident.confined import refusal, served
from sb.runtime import open_runtime
from sb.store import driver
from sb.tools.hosted.guarding import confiner_path
from tests.resident.conftest import Site, made, started
from tests.rows import rows

pytestmark = pytest.mark.skipif(not bubblewrap.find(), reason="bubblewrap is not installed")


@dataclass
class Inside:
    """A home with a helper, and commands that run in confinement beside it."""

    site: Site
    program: Path
    user: Path

    def run(self, *words: str, line: str = "sb", **env: str) -> subprocess.CompletedProcess[str]:
        """`sb` as a confined command runs it.

        Args:
            line: the program that the line was judged as using.
        """
        return self.start([*self.site.command()[:-1], str(self.program), *words], line, "", **env)

    def start(
        self, command: list[str], line: str = "sb", payload: str = "", **env: str
    ) -> subprocess.CompletedProcess[str]:
        config = load_config(env=self.site.env(), cwd=self.site.project, flags={})
        folder = str(self.site.project)
        event = HookEvent("claude-code", "PreToolUse", Moment.BEFORE, "s1", folder)
        confining = Confining(config, event, judging_context(config, event), folder, SYSTEM_CLOCK)
        options = bubblewrap.arguments(
            confining.profile(tuple(needs_of([(line,)]).rows)), confining.store.denied
        )
        bubblewrap.make_denied(confining.store.denied)
        return subprocess.run(
            [bubblewrap.find(), *options, *command], env=self.site.env(**env), cwd=folder,
            input=payload, capture_output=True, text=True, check=False,
        )  # fmt: skip


@pytest.fixture(scope="module")
def inside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    for site in made(tmp_path_factory.mktemp("c")):
        program = site.project / "sb.py"
        program.write_text(started(site.packages, ""), encoding="utf-8")
        with open_runtime(load_config(env=site.env(), cwd=site.project, flags={})) as runtime:
            runtime.brain("claude-code").remember("orders are shipped on fridays")
        site.begin()
        user = site.project.parent / "ada"
        user.mkdir()
        yield Inside(site, program, user)


def test_confined_agent_remembers_and_searches_by_the_helper(inside: Inside) -> None:
    saved = inside.run("memory", "remember", "--agent", "claude-code", "invoices are sent on mondays")
    assert (saved.returncode, saved.stderr) == (0, "kept as fact in global\n")
    answer = inside.run("memory", "search", "--agent", "claude-code", "invoices")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "invoices are sent on mondays" in answer.stdout


def test_confined_command_names_no_other_database_or_home(inside: Inside, tmp_path: Path) -> None:
    elsewhere = {"SB_DB": str(tmp_path / "other.db"), "HOME": str(tmp_path)}
    answer = inside.run("memory", "search", "--agent", "claude-code", "orders", **elsewhere)
    assert "orders are shipped on fridays" in answer.stdout
    assert not any(tmp_path.iterdir())


def test_line_that_was_not_judged_as_using_sb_reaches_no_helper(inside: Inside) -> None:
    answer = inside.run("memory", "search", "--agent", "claude-code", "orders", line="make")
    assert answer.returncode != 0
    assert "orders are shipped" not in answer.stdout
    assert "runs in confinement" in answer.stderr
    listed = inside.start(["/bin/ls", str(inside.site.home.helper), str(inside.site.home.resident)], "make")
    assert listed.stdout == ""


def test_secret_of_hooks_is_closed_to_confined_commands_that_use_sb(inside: Inside) -> None:
    ended = inside.start(["/bin/cat", str(inside.site.home.resident / "secret")])
    assert (ended.returncode, ended.stdout) == (1, "")


def test_hook_that_a_confined_command_sends_is_not_judged_outside(inside: Inside) -> None:
    payload = inside.site.payload("make", "toolu_forged")
    ended = inside.start(inside.site.command("hook", "claude-code"), payload=payload.decode())
    with closing(driver.connect(inside.site.home.database, read_only=True)) as database:
        assert database.execute("SELECT count(*) FROM events WHERE tool_id LIKE 'host.%'").fetchone() == (0,)
    assert ended.returncode == 0 or "SecondBrain" in ended.stderr
    assert "approve" not in ended.stdout


def test_command_that_writes_says_that_it_is_confined(inside: Inside) -> None:
    ended = inside.run("memory", "decide", "--agent", "claude-code", "use sqlite", "it is here")
    assert ended.returncode != 0
    assert "runs in confinement" in ended.stderr
    assert "Traceback" not in ended.stderr


@rows("line", ["ls /", "ls ~"])
def test_line_that_lists_a_folder_opens_nothing_in_it(inside: Inside, line: str) -> None:
    """A ticket of such a line would open credentials, and the secret of hooks, to all else in it."""
    env = inside.site.env(
        CLAUDE_CODE_SHELL_PREFIX=str(confiner_path(inside.site.home)), HOME=str(inside.user)
    )
    (inside.user / ".ssh").mkdir(exist_ok=True)
    (inside.user / ".ssh" / "id_rsa").touch()
    payload = inside.site.payload(f"{line}; python3 x.py")
    inside.site.hook(payload, CLAUDE_CODE_SHELL_PREFIX=env["CLAUDE_CODE_SHELL_PREFIX"], HOME=env["HOME"])
    tickets = inside.site.home.folder / "confine" / "tickets"
    for ticket in tickets.glob("*.options") if tickets.is_dir() else ():
        options = ticket.read_bytes()
        assert str(inside.site.home.resident).encode() in options
        assert b"id_rsa" in options


def test_first_words_are_the_same_for_client_and_helper() -> None:
    assert served() == SERVED


@rows(
    "line, answered",
    [
        ("memory search --agent claude-code orders", True),
        ("memory search orders --agent=claude-code -k 5 --json", True),
        ("memory remember --agent claude-code -- --db", True),
        ("explain ls", True),
        ("statusline", True),
        ("memory search orders", False),
        ("memory search --agent operator orders", False),
        ("memory search --agent claude-code --agent Operator orders", False),
        ("memory search --tag --agent orders", False),
        ("memory search -- --agent claude-code", False),
        ("memory search --agent claude-code --db /tmp/x orders", False),
        ("--db /tmp/x memory search --agent claude-code orders", False),
        ("--debug memory search --agent claude-code orders", False),
        ("memory remember --agent claude-code --file /etc/passwd", False),
        ("memory forget --agent claude-code mem_1", False),
        ("explain ls --cwd /root", False),
        ("approvals approve apr_1", False),
        ("approvals list", False),
        ("hook claude-code", False),
        ("config show", False),
        ("", False),
    ],
)
def test_only_listed_commands_and_options_are_answered(line: str, answered: bool) -> None:
    assert (refusal(line.split()) == "") is answered
