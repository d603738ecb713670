"""The browser's server: its pages, and the processes behind them."""

from __future__ import annotations

import asyncio
import html
import json
import logging
import os
import shlex
import signal
import socket
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from string import Template

from aiohttp import WSCloseCode, web
from sb.screens.signing_agent import SOCKET_VARIABLE, SigningAgent
from sb.screens.web_guard import Guard, page
from textual_serve.app_service import AppService
from textual_serve.server import Server, to_int

from sb.base.text import plain
from sb.errors import UsageError

MAX_TABS = 8
_GRACE_S = 3.0
_HEARTBEAT_S = 15.0
_KEPT_ERRORS = 2000
_COUNT_EVERY_S = 1.0
_TERMINAL, _NAMED_TERMINAL = "this.terminal.open(e)", "(e.terminal=this.terminal).open(e)"  # for web_page.js
_ICON = Template(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#3a43be"/>'
    '<path d="M9 10l7 6-7 6" fill="none" stroke="#fff" stroke-width="3"/><path d="M17 23h7" stroke="#fff"'
    ' stroke-width="3"/>$dot</svg>'
)
# It says of a tab that is closed early that it failed to start; what does fail is announced.
logging.getLogger("textual-serve").addHandler(logging.NullHandler())
_DOT = '<circle cx="24" cy="8" r="7" fill="#f3bc62" stroke="#0f1117" stroke-width="2"/>'


class ConsoleServer(Server):
    """textual-serve's server behind a guard, with a page, limits and processes of our own.

    Args:
        command: starts the app of one tab; no shell reads it.
        listener: a listening socket.
        agent: decides for the apps, or None.
        announce: told the one-time address, sign-ins, and what failed.
        waiting: counts what needs a person, for titles and icons; called in a thread.
    """

    def __init__(
        self,
        command: Sequence[str],
        listener: socket.socket,
        agent: SigningAgent | None,
        announce: Callable[[str], None],
        waiting: Callable[[], int],
    ) -> None:
        super().__init__(shlex.join(command))
        host, port = listener.getsockname()[:2]
        self.guard = Guard(port, announce)
        self.address = f"http://{f'[{host}]' if ':' in host else host}:{port}/?token={self.guard.token}"
        self._listener = listener
        self._argv = command
        self._agent = agent
        self._announce = announce
        self._count = waiting
        self._waiting = 0
        self._tabs: set[web.WebSocketResponse] = set()

    async def run(self) -> None:
        """Serve until a signal asks to end; every app has ended when this returns."""
        asked_to_end = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, asked_to_end.set)
        # an access log would hold the token
        runner = web.AppRunner(await self._make_app(), access_log=None, shutdown_timeout=3 * _GRACE_S)
        await runner.setup()
        try:
            await web.SockSite(runner, self._listener).start()
            self._announce(self.address)
            counting = asyncio.create_task(self._keep_counting())
            await asked_to_end.wait()
            counting.cancel()
        finally:
            await runner.cleanup()

    async def _keep_counting(self) -> None:
        """Tell every tab how many things need a person, whenever that has changed."""
        while True:
            count = await asyncio.to_thread(self._count)
            if count != self._waiting:
                self._waiting = count
                for tab in tuple(self._tabs):
                    with suppress(ConnectionError):  # it is closing
                        await tab.send_json(["waiting", count])
            await asyncio.sleep(_COUNT_EVERY_S)

    async def _make_app(self) -> web.Application:
        base = self.guard.base
        app = web.Application(middlewares=[self.guard.check])
        app.add_routes(
            [
                web.get(base, self.handle_index),
                web.get(f"{base}ws", self.handle_tab),
                web.get(f"{base}download/{{key}}", self.handle_download),
                *(web.get(base + name, partial(_answer, *file)) for name, file in self._files().items()),
                web.static(f"{base}static", self.statics_path),
            ]
        )
        app.on_response_prepare.append(self.guard.protect)
        app.on_shutdown.append(self.on_shutdown)
        return app

    def _files(self) -> dict[str, tuple[str, str]]:
        """Files that the page loads besides textual-serve's own: type and text, by name."""
        script = (Path(self.statics_path) / "js/textual.js").read_text(encoding="utf-8")
        if script.count(_TERMINAL) != 1:
            raise UsageError(
                "textual-serve's page is another one than ours is written for", "install it again"
            )
        page = Path(__file__).with_name("web_page.js").read_text(encoding="utf-8")
        return {
            "page.js": ("text/javascript", page),
            "textual.js": ("text/javascript", script.replace(_TERMINAL, _NAMED_TERMINAL)),
            "icon.svg": ("image/svg+xml", _ICON.substitute(dot="")),
            "icon-waiting.svg": ("image/svg+xml", _ICON.substitute(dot=_DOT)),
        }

    async def handle_index(self, request: web.Request) -> web.Response:
        """The page with the terminal."""
        if len(self._tabs) >= MAX_TABS:
            return page(503, f"{MAX_TABS} tabs are open. Close one, and load this page again.")
        template = Template(Path(__file__).with_name("web_page.html").read_text(encoding="utf-8"))
        text = template.substitute(websocket=html.escape(f"ws://{request.host}{self.guard.base}ws"))
        return web.Response(text=text, content_type="text/html")

    async def handle_tab(self, request: web.Request) -> web.StreamResponse:
        """A tab: its app runs as long as the WebSocket is open."""
        if len(self._tabs) >= MAX_TABS:
            return page(503, f"{MAX_TABS} tabs are open.")
        websocket = web.WebSocketResponse(heartbeat=_HEARTBEAT_S, timeout=_GRACE_S)
        tab = _Tab(self, websocket, self._argv, self._agent, self._announce)
        self._tabs.add(websocket)
        try:
            await websocket.prepare(request)
            size = request.query
            await websocket.send_json(["waiting", self._waiting])
            await tab.start(to_int(size.get("width", ""), 80), to_int(size.get("height", ""), 24))
            await self._process_messages(websocket, tab)
        except (AssertionError, AttributeError, LookupError, TypeError, ValueError):
            await websocket.close(code=WSCloseCode.UNSUPPORTED_DATA)
        finally:
            await tab.stop()
            self._tabs.discard(websocket)
        return websocket

    async def on_shutdown(self, app: web.Application) -> None:
        """Close every tab; the handlers then end their processes."""
        await asyncio.gather(*(tab.close(code=WSCloseCode.GOING_AWAY) for tab in self._tabs))


async def _answer(kind: str, text: str, request: web.Request) -> web.Response:
    return web.Response(text=text, content_type=kind)


class _Tab(AppService):
    """The process behind one tab: started without a shell, and ended for certain."""

    def __init__(
        self,
        server: Server,
        websocket: web.WebSocketResponse,
        argv: Sequence[str],
        agent: SigningAgent | None,
        announce: Callable[[str], None],
    ) -> None:
        super().__init__(
            server.command,
            write_bytes=websocket.send_bytes,
            write_str=self._write_str,
            close=self._close,
            download_manager=server.download_manager,
        )
        self._websocket = websocket
        self._argv = argv
        self._agent = agent
        self._announce = announce
        self._errors = b""

    async def _write_str(self, text: str) -> None:
        kind, value = json.loads(text)
        if kind == "deliver_file_start":  # textual.js would ask for /download/…, outside our path
            text = json.dumps(["open_url", {"url": f"download/{value}", "new_tab": True}])
        await self._websocket.send_str(text)

    async def _close(self) -> None:
        await self._websocket.close()

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Process:
        environment = self._build_environment(width, height)
        environment["TEXTUAL_DRIVER"] = "sb.screens.web_driver:TabDriver"
        environment.pop(SOCKET_VARIABLE, None)
        if self._agent is not None:
            environment[SOCKET_VARIABLE] = str(self._agent.path)
        process = await asyncio.create_subprocess_exec(
            *self._argv,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=environment,
            start_new_session=True,  # ctrl-c is ours to handle, and the terminal is not the app's to ask
        )
        if self._agent is not None:
            self._agent.started.add(process.pid)  # it has not ended: nobody has waited for it yet
        assert process.stdin is not None
        self._process, self._stdin = process, process.stdin
        return process

    async def run(self) -> None:
        assert self._process is not None
        assert self._process.stderr is not None
        errors = asyncio.create_task(self._read_errors(self._process.stderr))
        self._process.stderr = asyncio.StreamReader()  # the base class would print it as it came
        self._process.stderr.feed_eof()
        try:
            # The base class cancels its reader of errors, and fails if that has not begun.
            with suppress(asyncio.CancelledError):
                await super().run()
        finally:
            await self._close()
            # What an app said that ended at once is still to be read.
            await asyncio.wait({errors}, timeout=_GRACE_S)
            errors.cancel()
        if self._errors:
            self._announce(f"a tab ended with an error:\n{plain(self._errors.decode('utf-8', 'replace'))}")

    async def _read_errors(self, stderr: asyncio.StreamReader) -> None:
        while data := await stderr.read(4096):
            self._errors = (self._errors + data)[-_KEPT_ERRORS:]

    async def stop(self) -> None:
        """Ask the app to end, and after three seconds end it."""
        if self._process is None:
            return
        # not asyncio.timeout: the base class swallows a cancellation
        killer = asyncio.get_running_loop().call_later(_GRACE_S, self._kill, self._process.pid)
        try:
            await super().stop()
            await self._process.wait()
        finally:
            killer.cancel()
            if self._agent is not None:
                self._agent.started.remove(self._process.pid)

    def _kill(self, group: int) -> None:
        with suppress(ProcessLookupError):  # it ended just now
            os.killpg(group, signal.SIGKILL)
