"""A real server in a process of its own, and clients that ask it as browsers do, or as they should not."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import IO, Literal, TypeAlias

import aiohttp
import pytest

Tab: TypeAlias = aiohttp.ClientWebSocketResponse[Literal[True]]
ROOT = Path(__file__).parents[3]
TINY_APP = (sys.executable, "-m", "tests.screens.web.tiny_app")


class Server:
    """The server's process; `address` is the one-time address, `origin` its beginning."""

    def __init__(self, home: Path, options: tuple[str, ...], command: tuple[str, ...]) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.home = home
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.screens.web.serve_tiny", *options, "--", *command],
            cwd=ROOT,
            env=os.environ | {"SB_HOME": str(home)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._out: IO[str] = self.process.stdout or sys.stdin
        self.public_key = self.next_line() if "--key" in options else ""
        self.address = self.next_line()
        self.origin, _, token = self.address.partition("/?token=")
        assert len(token) == 43, (self.address, self.process.poll())

    def next_line(self) -> str:
        """The next line that was announced."""
        return self._out.readline().rstrip("\n")

    @property
    def port(self) -> int:
        return int(self.origin.rpartition(":")[2])

    def children(self) -> set[int]:
        """The process ids of its tabs."""
        asked = subprocess.run(
            ["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True
        ).stdout
        pairs = (line.split() for line in asked.splitlines())
        return {int(pid) for pid, parent in pairs if int(parent) == self.process.pid}

    def stop(self, number: int = signal.SIGINT) -> tuple[int, str, str]:
        """Exit code, and what was said since, on stdout and stderr."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err


@asynccontextmanager
async def browser(server: Server) -> AsyncIterator[Browser]:
    """A browser that has opened the one-time address."""
    # a cookie of an address with a number for a name is kept only if asked for
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(cookie_jar=jar) as session, session.get(server.address) as response:
        assert response.status == 200
        yield Browser(server, session, str(response.url), await response.text())


class Browser:
    """Signed in; `base` is where it was led, `page` what it read there."""

    def __init__(self, server: Server, session: aiohttp.ClientSession, base: str, page: str) -> None:
        self.server, self.session, self.base, self.page = server, session, base, page

    @asynccontextmanager
    async def open_tab(self) -> AsyncIterator[Tab]:
        """The WebSocket of a tab, as the server's own page opens it."""
        address, headers = f"{self.base}ws?width=100&height=30", {"Origin": self.server.origin}
        async with self.session.ws_connect(address, headers=headers) as tab:
            yield tab


async def closed(tab: Tab) -> int | None:
    """The code with which the server closes a tab, once it did."""
    async with asyncio.timeout(60):
        while not tab.closed:
            await tab.receive()
    return tab.close_code


async def read_value(tab: Tab, what: str) -> str:
    """The text that the app wrote after `what` and before the next semicolon."""
    seen = ""
    async with asyncio.timeout(60):
        while not (found := re.search(f"{what}([^;]*);", seen)):
            message = await tab.receive()
            if message.type is not aiohttp.WSMsgType.TEXT:  # which says how many things wait
                seen += message.data.decode()
    return found[1]


def gone(pid: int, within_s: float = 60.0) -> bool:
    """True if a process ends in time."""
    give_up = monotonic() + within_s
    while monotonic() < give_up:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        sleep(0.02)
    return False


Start = Callable[..., Server]


@pytest.fixture
def start(home: Path) -> Iterator[Start]:
    """Start a server: `start("--key", command=…)`."""
    servers: list[Server] = []

    def start_one(*options: str, command: tuple[str, ...] = TINY_APP) -> Server:
        servers.append(Server(home, options, command))
        return servers[-1]

    yield start_one
    for server in servers:
        if server.process.poll() is None:
            server.stop()
        for stream in (server.process.stdout, server.process.stderr):
            assert stream is not None
            stream.close()


@dataclass(frozen=True)
class SignedIn:
    """The one browser's state: the server's path, its page, and its cookie as a header."""

    server: Server
    base: str
    page: str
    cookie: str

    @asynccontextmanager
    async def again(self) -> AsyncIterator[Browser]:
        """The same browser, in the event loop of another test."""
        async with aiohttp.ClientSession(headers={"Cookie": self.cookie}) as session:
            yield Browser(self.server, session, self.base, self.page)


async def sign_in(server: Server) -> SignedIn:
    async with browser(server) as opened:
        (cookie,) = opened.session.cookie_jar
        return SignedIn(server, opened.base, opened.page, f"{cookie.key}={cookie.value}")


@pytest.fixture(scope="session")
def signed_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SignedIn]:
    """At one server, for the tests that leave no trace in it."""
    shared = Server(tmp_path_factory.mktemp("served"), (), TINY_APP)
    yield asyncio.run(sign_in(shared))
    shared.stop()
