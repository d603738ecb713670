"""A project, and a host that tells of what its agent does there: in this process, or by the real one."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sb.config import Config, load_config
from sb.config.home import Home
from sb.hosts.claude_code.events import ADAPTER as CLAUDE_CODE
from sb.hosts.hooks.calls.context import SHELL_PREFIX
from sb.hosts.hooks.event import HookVerdict
from sb.hosts.hooks.judging import judge
from sb.hosts.registry import WITH_HOOKS, events_module
from sb.log.event import Event
from sb.runtime import Runtime, open_runtime
from sb.tools.hosted.guarding import confiner_path
from tests.forked import Forks

UNWATCHED = "bypassPermissions"  # a mode in which nobody is asked in place, so that calls are queued


@dataclass
class Host:
    """Claude Code, as far as its hooks see it.

    Args:
        home: SB_HOME. project: a git repository.
        forks: what `ask` needs.
    """

    home: Path
    project: Path
    session: str = "session-1"
    mode: str = "default"
    forks: Forks | None = None
    _ids: Any = field(default_factory=lambda: itertools.count(1))

    def payload(self, event: str, **fields: Any) -> dict[str, Any]:
        common = {"session_id": self.session, "transcript_path": "/t.jsonl", "cwd": str(self.project)}
        common |= {"permission_mode": self.mode}
        return {**common, "hook_event_name": event, **fields}

    def tell(self, event: str, **fields: Any) -> HookVerdict:
        """One event, in this process."""
        return judge(self.config(), CLAUDE_CODE, CLAUDE_CODE.read(self.payload(event, **fields)))

    def before(self, tool: str, use_id: str = "", **tool_input: Any) -> HookVerdict:
        use_id = use_id or f"toolu_{next(self._ids)}"
        return self.tell("PreToolUse", tool_name=tool, tool_use_id=use_id, tool_input=tool_input)

    def after(self, tool: str, use_id: str, response: Any = "ok", **tool_input: Any) -> None:
        fields = {"tool_name": tool, "tool_use_id": use_id, "tool_input": tool_input}
        self.tell("PostToolUse", **fields, tool_response=response)

    def write(self, path: Path, content: str, use_id: str) -> None:
        """The agent writes a file, and the host tells of it before and after."""
        given = {"file_path": str(path), "content": content}
        assert self.before("Write", use_id, **given) == HookVerdict()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        self.after("Write", use_id, {"type": "update"}, **given)

    def config(self) -> Config:
        return load_config(
            env={"SB_HOME": str(self.home), "HOME": "/data/nobody"}, cwd=self.project, flags={}
        )

    def configure(self, text: str) -> None:
        self.home.mkdir(mode=0o700, exist_ok=True)
        (self.home / "config.yaml").write_text(text, encoding="utf-8")

    def open(self) -> Runtime:
        return open_runtime(self.config())

    def events(self, **about: Any) -> list[Event]:
        with self.open() as runtime:
            return list(runtime.log.events(agent="claude-code", **about))

    def phases(self) -> list[str]:
        """The log's words for this host's calls, one each: the state of outcomes, else the phase."""
        payloads = [event.payload or {} for event in self.events(kind="kernel.tool.dispatch")]
        return [str(item.get("state", item.get("phase"))) for item in payloads]

    def run(
        self, payload: bytes | dict[str, Any], *arguments: str, timeout: float = 60
    ) -> subprocess.CompletedProcess[str]:
        """The real process."""
        command = [sys.executable, *self._command(arguments)]
        data, env = self._told(payload), self._env()
        done = subprocess.run(
            command, input=data, capture_output=True, check=False, env=env, cwd=self.project, timeout=timeout
        )
        return subprocess.CompletedProcess(
            command, done.returncode, done.stdout.decode(), done.stderr.decode()
        )

    def ask(self, payload: bytes | dict[str, Any], *arguments: str) -> subprocess.CompletedProcess[str]:
        """The answer of the real process, by one that need not begin."""
        assert self.forks is not None
        return self.forks.run(
            *self._command(arguments), input=self._told(payload), env=self._env(), cwd=self.project
        )

    def _command(self, arguments: tuple[str, ...]) -> tuple[str, ...]:
        return ("-m", "sb", "hook", *(arguments or ("claude-code",)))

    def _told(self, payload: bytes | dict[str, Any]) -> bytes:
        return payload if isinstance(payload, bytes) else json.dumps(payload).encode()

    def _env(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "HOME": "/data/nobody", "SB_HOME": str(self.home)}


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    adapters = map(events_module, WITH_HOOKS)
    parts = (
        "sb.hosts.hooks.main",
        "sb.hosts.hooks.judging",
        "sb.hosts.hooks.guards.advising",
        "sb.hosts.hooks.snapshots.before_call",
        "sb.hosts.hooks.guards.remembering",
        "sb.shell.snapshots.git",
        "sb.shell.destinations.landing",
        "sb.store.packs",
        "sb.memory.brain",
        "sb.memory.search",
        "tests.hosts.hooks.warmed",
        *("sb.cli", "sb.commands.approvals", "sb.commands.undo"),  # for what the user types between events
    )
    with Forks(*parts, "sb.tools.files", "sb.tools.http", "sb.tools.shell", *adapters) as forks:
        yield forks


@pytest.fixture(scope="session")
def opened_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which nothing happened but that it was opened, made once: its approvals cost more than an event."""
    folder = tmp_path_factory.mktemp("opened") / "sb"
    Host(folder, folder.parent).open().close()
    return folder


@pytest.fixture
def host(home: Path, tmp_path: Path, forks: Forks, opened_home: Path) -> Host:
    project = tmp_path / "shop"
    (project / ".git").mkdir(parents=True)
    shutil.copytree(opened_home, home)
    return Host(home, project, forks=forks)


@pytest.fixture
def apart(host: Host, monkeypatch: pytest.MonkeyPatch) -> Host:
    """A session whose commands the host starts by `sb-confine`, in a project that is in no temporary folder."""
    monkeypatch.setenv(SHELL_PREFIX, str(confiner_path(Home(host.home))))
    monkeypatch.setattr("sb.hosts.hooks.confined.confining.temporary_folders", list)
    monkeypatch.setattr("sb.hosts.hooks.confined.confining.SHARED_MEMORY", "/data/none")
    host.configure("undo: {tree_ms: 60000}\n")
    return host
