"""A home whose hooks run from this checkout, and the helper that answers them."""

from __future__ import annotations

import json
import os
import posix
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest

from sb.config.home import Home
from sb.hosts.hooks import resident
from sb.hosts.hooks.resident import Running
from sb.resident import client
from sb.tools.hosted.guarding import interpreter

# The machine may have much else to do: nobody is hung or gone because a second passed, unless a test is about that.
START = """\
import posix, sys
sys.path += {entries!r}
from sb.resident import client
if b"AS_SHIPPED" not in posix.environ:
    client._CONNECT_S = client._ANSWER_S = client._LONGEST_S = {patience_s}
if sys.argv[1:2] == ["resident"]:
    from sb.resident import worker
    worker._GREETING_S = {patience_s}
from sb.__main__ import main
main({start})
"""
ROOT = Path(__file__).parents[2]
WAIT_S = 60
client._CONNECT_S = client._DYING_S = float(WAIT_S)  # of what tests ask for in their own process
T = TypeVar("T")


def wait_for(found: Callable[[], T | None]) -> T:
    """The first value that is found within the time."""
    until = time.monotonic() + WAIT_S
    while not (value := found()):
        assert time.monotonic() < until, "it did not come"
        time.sleep(0.01)
    return value


@dataclass
class Site:
    """A home, and a project in which an agent works.

    Args:
        start: the file that hooks start with. packages: where it finds `sb`. database: instead of the one in the home.
    """

    home: Home
    project: Path
    start: Path
    packages: Path
    database: Path | None = None
    begun: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def env(self, **more: str) -> dict[str, str]:
        env = {"PATH": "/usr/bin:/bin", "HOME": str(self.project), "SB_HOME": str(self.home.folder)}
        return env | ({"SB_DB": str(self.database)} if self.database else {}) | more

    def command(self, *words: str) -> list[str]:
        return [interpreter(), "-I", "-S", str(self.start), *words]

    def payload(self, command: str = "make", use_id: str = "", **fields: Any) -> bytes:
        call: dict[str, Any] = {"tool_name": "Bash", "tool_use_id": use_id or os.urandom(4).hex()}
        call["tool_input"] = {"command": command}
        session = {"session_id": "s1", "transcript_path": "/t", "cwd": str(self.project)}
        return json.dumps({**session, "hook_event_name": "PreToolUse", **call, **fields}).encode()

    def hook(self, payload: bytes, **env: str) -> subprocess.CompletedProcess[bytes]:
        """The process that a host starts."""
        command = self.command("hook", "claude-code")
        return subprocess.run(
            command, input=payload, capture_output=True, env=self.env(**env), cwd=self.project, check=False
        )

    def ask(
        self, payload: bytes, answer_s: float = WAIT_S, nonce: str = "n", **env: str
    ) -> tuple[int, bytes, bytes]:
        """The helper's answer alone: what a client does before it judges by itself."""
        before = dict(posix.environ)
        posix.environ.clear()
        posix.environ.update({os.fsencode(k): os.fsencode(v) for k, v in self.env(**env).items()})
        try:
            return client.ask(str(self.start), ("hook", ["claude-code"], payload, nonce), answer_s)
        finally:
            posix.environ.clear()
            posix.environ.update(before)

    def begin(self) -> Running:
        """Start the helper, and wait until it can be asked."""
        self.launch(idle="900")
        return self.ready()

    def launch(self, *, idle: str) -> subprocess.Popen[bytes]:
        """Start the helper, which ends when nobody has asked it for so many seconds."""
        command = self.command(resident.COMMAND, str(self.home.folder), idle)
        self.begun.append(subprocess.Popen(command, env={"PATH": "/usr/bin:/bin"}))
        return self.begun[-1]

    def ready(self) -> Running:
        """The helper, once it can be asked."""
        wait_for(self.listens)
        return wait_for(lambda: resident.running(self.home))

    def listens(self) -> bool:
        with socket.socket(socket.AF_UNIX) as connection:
            return connection.connect_ex(str(self.home.resident / resident.SOCKET)) == 0

    def gone(self, helper: Running) -> None:
        """Wait until this helper runs no more."""
        wait_for(lambda: (now := resident.running(self.home)) is None or now.pid != helper.pid)

    def configure(self, text: str) -> None:
        self.home.config_file.write_text(text, encoding="utf-8")


def started(packages: Path, start: str) -> str:
    """A program that runs `sb` as it is here, by the interpreter alone."""
    entries = [str(packages), *(entry for entry in sys.path if entry and Path(entry) != ROOT)]
    return START.format(entries=entries, start=start, patience_s=WAIT_S)


def link_package(packages: Path) -> None:
    """Put `sb` into a folder as an installed package has it.

    A helper ends when something is new beside its package, and the checkout is written to while tests run.
    """
    package = packages / "sb"
    package.mkdir(parents=True)
    for path in (*(ROOT / "sb").iterdir(), ROOT / "commands", ROOT / "screens"):
        (package / path.name).symlink_to(path)


def made(folder: Path) -> Iterator[Site]:
    """A site, whose helpers end with it."""
    site = Site(Home(folder / "sb"), folder / "shop", folder / "v-1" / "start.py", folder / "packages")
    link_package(site.packages)
    (site.project / ".git").mkdir(parents=True)
    site.home.create()
    site.start.parent.mkdir()
    site.start.write_text(started(site.packages, "__file__"), encoding="utf-8")
    yield site
    if (left := resident.running(site.home)) is not None:
        with suppress(ProcessLookupError):  # it has just ended by itself
            os.killpg(left.pid, signal.SIGKILL)
    for process in site.begun:
        process.wait()


# Paths of sockets have to be short.
@pytest.fixture
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    yield from made(tmp_path_factory.mktemp("r"))


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    for site in made(tmp_path_factory.mktemp("r")):
        site.begin()
        yield site


@pytest.fixture
def helped(shared: Site, tmp_path: Path) -> Iterator[Site]:
    """A site with a helper that runs, its configuration and database new."""
    # It ends when nobody has asked for a quarter of an hour, which may lie between two tests.
    if not shared.listens():
        shared.begin()
    shared.database = tmp_path / "new.db"
    yield shared
    shared.home.config_file.unlink(missing_ok=True)
