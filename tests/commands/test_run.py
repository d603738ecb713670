"""`sb run`: a host in confinement, its hooks answered outside."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sb.base.sources import SYSTEM_CLOCK
from sb.config import load_config
from sb.errors import UsageError
from sb.hosts.confinement import bubblewrap
from sb.hosts.confinement.terminal import terminal_filter
from sb.hosts.install.records import Record, Records
from sb.hosts.running import HostRun
from sb.store import driver
from tests.resident.conftest import ROOT, Site, made

Capture = pytest.CaptureFixture[str]
pytestmark = pytest.mark.skipif(not bubblewrap.find(), reason="bubblewrap is not installed")
HOOK = """\
#!/bin/sh
runtime={runtime}
SB_HOME={home}
export SB_HOME
exec {python} -I -S "$runtime/start.py" hook "$1"
"""
TYPES = """\
import fcntl, os, pty, sys
master, slave = pty.openpty()
os.setsid()
fcntl.ioctl(slave, 0x540E, 0)  # TIOCSCTTY
try:
    fcntl.ioctl(slave, 0x5412, b"x")
except OSError as error:
    print(error.errno)
else:
    print("typed")
"""


class Desk:
    """A person's home with Claude Code connected, and a program `claude` that does what a test says."""

    def __init__(self, site: Site, user: Path) -> None:
        self.site, self.user = site, user
        self.claude = user / ".claude"
        (user / "bin").mkdir(parents=True)
        self.claude.mkdir()
        (self.claude / "settings.json").write_text("{}")
        (self.claude / ".credentials.json").write_text('{"token": "t"}')
        (user / ".claude.json").write_text('{"mcpServers": {}}')
        hook = site.home.folder / "bin" / "sb-hook"
        hook.parent.mkdir()
        python = site.command()[0]
        text = HOOK.format(runtime=shlex.quote(str(site.start.parent)), home=site.home.folder, python=python)
        hook.write_text(text)
        hook.chmod(0o700)
        self.hook = hook
        records = Records(site.home)
        with records.alone():
            records.put(Record("claude-code", "user", str(self.claude / "settings.json"), "", ""))
            records.put(Record("copilot", "user", str(user / "copilot.json"), "", ""))

    def env(self, **more: str) -> dict[str, str]:
        path = f"{self.user / 'bin'}:/usr/bin:/bin"
        return self.site.env(**{"HOME": str(self.user), "PATH": path, **more})

    def write(self, script: str, payload: bytes = b"") -> None:
        """Make `claude` this shell script, which reads a payload."""
        program, event = self.user / "bin" / "claude", self.user / "event"
        event.write_bytes(payload)
        program.write_text(f"#!/bin/sh\nexec < {event}\n{script}\n")
        program.chmod(0o755)

    def run(
        self, script: str, *using: str, payload: bytes = b"", host: str = "claude-code", **env: str
    ) -> tuple[int, list[str]]:
        """The end of a run whose program is this script, and what was put back."""
        self.write(script, payload)
        environment, folder = self.env(**env), self.site.project
        config = load_config(env=environment, cwd=folder, flags={})
        program = "" if host == "claude-code" else str(self.user / "bin" / "claude")
        return HostRun(config, host, environment, folder, SYSTEM_CLOCK).run([], program=program, using=using)

    def tools(self) -> set[str]:
        """The tools of the calls on record."""
        with closing(driver.connect(self.site.home.database, read_only=True)) as database:
            return {row[0] for row in database.execute("SELECT tool_id FROM events")}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    base = tmp_path_factory.mktemp("run")
    for site in made(base):
        yield Desk(site, base / "ada")


def test_exit_code_arguments_and_streams_are_the_programs_own(desk: Desk) -> None:
    desk.write("")
    program = desk.user / "bin" / "claude"
    program.write_text('#!/bin/sh\ncat; echo "$@"; echo oops >&2; exit 7\n')
    ended = subprocess.run(
        [sys.executable, "-m", "sb", "run", "claude-code", "--", "-p", "go on"], env=desk.env(PYTHONPATH=str(ROOT)),
        cwd=desk.site.project, input="typed\n", capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout, ended.stderr) == (7, "typed\n-p go on\n", "oops\n")
    assert os.listdir(desk.site.home.runs) == []


def test_hook_inside_is_judged_and_recorded_outside(desk: Desk, capfd: Capture) -> None:
    assert desk.run(f"{desk.hook} claude-code", payload=desk.site.payload("rm -rf /")) == (0, [])
    assert json.loads(capfd.readouterr().out)["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert desk.run(f"{desk.hook} claude-code", payload=desk.site.payload("touch src.py")) == (0, [])
    assert capfd.readouterr() == ("", "")
    assert "host.shell.write" in desk.tools()


def test_write_outside_is_refused_since_nobody_can_allow_it(desk: Desk, capfd: Capture) -> None:
    payload = desk.site.payload("touch /srv/notes")
    desk.run(f"{desk.hook} claude-code", payload=payload)
    assert "under `sb run`" in capfd.readouterr().out


def test_host_writes_its_state_and_neither_settings_nor_home(desk: Desk, capfd: Capture) -> None:
    home = desk.site.home.folder
    (desk.claude / "rules").symlink_to("elsewhere")
    code, moved = desk.run(
        "cd ~; rm .claude/rules; mkdir .claude/rules; mkdir -p .claude/projects && echo ok > .claude/projects/t && cat .claude/.credentials.json;"
        "for path in .claude/settings.json .claude/hooks/x .claude/skills/y .claude/plugins/z; do"
        ' (echo bad > "$path") 2>/dev/null && echo "wrote $path"; done;'
        f"(echo bad > {home}/config.yaml) 2>/dev/null && echo wrote-home;"
        f"cat {home}/resident/secret {home}/resident/runs/*.json {home}/confine/* 2>/dev/null;"
        "echo bad > .claude.json; cat .claude.json; echo md > .claude/CLAUDE.md; exit 0"
    )
    assert (code, capfd.readouterr().out) == (0, '{"token": "t"}bad\n')
    assert (desk.claude / "projects" / "t").read_text() == "ok\n"
    assert (desk.user / ".claude.json").read_text() == '{"mcpServers": {}}'
    assert not (desk.claude / "CLAUDE.md").exists()
    assert [clause.partition(" away")[0] for clause in moved] == [
        f"moved {desk.claude / name}" for name in ("CLAUDE.md", "rules")
    ]
    assert os.readlink(desk.claude / "rules") == "elsewhere"
    assert not (desk.claude / "hooks").exists()
    assert not (desk.site.project / ".claude").exists()


def test_variables_of_a_command_inside_do_not_choose_how_it_is_judged(
    desk: Desk, tmp_path: Path, capfd: Capture
) -> None:
    line = f"SB_DB={tmp_path / 'other.db'} HOME={tmp_path} {desk.hook} claude-code"
    assert desk.run(line, payload=desk.site.payload("ls")) == (0, [])
    assert capfd.readouterr() == ("", "")
    assert not any(tmp_path.iterdir())


def test_nothing_is_started_where_it_could_not_be_held_or_answered(desk: Desk, capfd: Capture) -> None:
    with pytest.raises(UsageError, match=r"hooks\.resident"):
        desk.run("echo started", SB_RESIDENT="false")
    with pytest.raises(UsageError, match="confined already"):
        desk.run("echo started", SB_CONFINED="bubblewrap")
    with pytest.raises(UsageError, match="nothing is known"):
        desk.run("echo started", "no-such-program")
    with pytest.raises(UsageError, match="no program"):
        desk.run("echo started", PATH="/nowhere")
    assert capfd.readouterr() == ("", "")


def test_program_inside_types_nothing_into_the_terminal(desk: Desk, capfd: Capture) -> None:
    desk.run(f"exec {shlex.quote(sys.executable)} -c {shlex.quote(TYPES)}")
    assert capfd.readouterr().out == "1\n"


def test_filter_is_unknown_for_other_machines() -> None:
    assert terminal_filter("sparc") is None
    assert len(terminal_filter("aarch64") or b"") % 8 == 0


def test_nothing_inside_sees_or_signals_a_process_outside(desk: Desk, capfd: Capture) -> None:
    """Without its hooks' helper, calls would go on unjudged."""
    desk.run(
        f"kill -0 {os.getpid()} 2> /dev/null && echo signalled; ls -d /proc/{os.getpid()} 2> /dev/null; echo ran"
    )
    assert capfd.readouterr().out == "ran\n"


def test_copy_of_a_file_that_was_not_there_ends_with_the_run(desk: Desk) -> None:
    (desk.user / ".local/share/opencode").mkdir(parents=True, exist_ok=True)
    for name in (".cache/opencode", ".config/opencode"):
        (desk.user / name).mkdir(parents=True, exist_ok=True)
    script = 'echo "{}" > $HOME/.local/share/opencode/auth.json; echo x > $HOME/.local/state/opencode/model; echo "$OPENCODE_CONFIG_CONTENT"'
    code, moved = desk.run(script, host="opencode")
    assert code == 0
    assert any("auth.json away" in clause for clause in moved)
    assert not (desk.user / ".local/share/opencode/auth.json").exists()
    assert (desk.user / ".local/state/opencode/model").exists()


@pytest.mark.parametrize(
    ("given", "expected"),
    [("", {"snapshot": False}), ('{"theme": "x", "snapshot": true}', {"theme": "x", "snapshot": False})],
)
def test_settings_that_a_run_adds_go_with_the_persons_own(
    given: str, expected: dict[str, object], desk: Desk
) -> None:
    for name in (".cache/opencode", ".config/opencode"):
        (desk.user / name).mkdir(parents=True, exist_ok=True)
    seen = desk.site.project / "seen"
    desk.run(f'printf %s "$OPENCODE_CONFIG_CONTENT" > {seen}', host="opencode", OPENCODE_CONFIG_CONTENT=given)
    assert json.loads(seen.read_text()) == expected
    with pytest.raises(UsageError, match="OPENCODE_CONFIG_CONTENT is no JSON object"):
        desk.run("true", host="opencode", OPENCODE_CONFIG_CONTENT="[")


def test_program_that_has_not_unpacked_itself_is_told_of(desk: Desk) -> None:
    with pytest.raises(UsageError, match=r"copilot has not made ~/\.cache/copilot/pkg yet"):
        desk.run("true", host="copilot")


def test_settings_in_folders_of_sessions_are_moved_away(desk: Desk) -> None:
    (desk.user / ".cache/copilot/pkg").mkdir(parents=True, exist_ok=True)
    script = "d=$HOME/.copilot/session-state/1; mkdir -p $d/extensions; echo x > $d/extensions/a.js; echo x > $d/events; echo {} > $HOME/.copilot/mcp-config"
    _, moved = desk.run(script, host="copilot")
    left = sorted(path.name for path in (desk.user / ".copilot").rglob("*") if path.is_file())
    assert left == ["events"]
    assert len(moved) == 2
