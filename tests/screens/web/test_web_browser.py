"""The console in a real browser: headless Chromium, driven over its debugging protocol."""

from __future__ import annotations

import asyncio
import itertools
import json
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from sb.config import current_config
from sb.kernel import RunContext, SafetyClass
from sb.runtime import open_runtime
from tests.conftest import approve_tools
from tests.screens.web.conftest import Server, Start

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
CONSOLE = (sys.executable, "-P", "-m", "sb", "console")
TERMINAL = "document.querySelector('.textual-terminal').terminal"
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")


class Page:
    """A page of the browser."""

    def __init__(self, socket: Any, session: str) -> None:
        self._socket, self._session, self._numbers = socket, session, itertools.count(100)

    async def call(self, method: str, **given: Any) -> Any:
        """The result of a method of the protocol."""
        number = next(self._numbers)
        await self._socket.send_json(
            {"id": number, "method": method, "params": given, "sessionId": self._session}
        )
        while (answer := await self._socket.receive_json()).get("id") != number:
            pass
        assert "error" not in answer, answer
        return answer["result"]

    async def value(self, script: str) -> Any:
        """The value of an expression."""
        answer = await self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    async def until(self, script: str) -> None:
        """Wait until an expression is true."""
        async with asyncio.timeout(40):
            while not await self.value(script):
                await asyncio.sleep(0.1)

    async def resize(self, width: int, height: int = 800) -> None:
        await self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    async def press(self, key: str, *, control: bool = False) -> None:
        typed = {} if control else {"text": key}
        await self.call("Input.dispatchKeyEvent", type="keyDown", key=key, modifiers=2 * control, **typed)
        await self.call("Input.dispatchKeyEvent", type="keyUp", key=key, modifiers=2 * control)

    async def text(self) -> str:
        """The text of the terminal."""
        lines = (
            "(b => [...Array(b.length).keys()].map(n => b.getLine(n).translateToString(true)).join('\\n'))"
        )
        return str(await self.value(f"{lines}({TERMINAL}.buffer.active)"))

    async def until_shown(self, words: str) -> None:
        async with asyncio.timeout(40):
            while words not in await self.text():
                await asyncio.sleep(0.1)


def chromium(profile: Path) -> subprocess.Popen[bytes]:
    command = [str(CHROMIUM), "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0"]
    return subprocess.Popen([*command, f"--user-data-dir={profile}"], stderr=subprocess.DEVNULL)


@asynccontextmanager
async def opened(server: Server, profile: Path, width: int = 1200) -> AsyncIterator[Page]:
    """The console in a browser that has opened the announced address, once its app has painted."""
    running = chromium(profile)
    try:
        port_file = profile / "DevToolsActivePort"
        async with asyncio.timeout(40):
            while not (port_file.exists() and len(port_file.read_text().split()) == 2):
                await asyncio.sleep(0.05)
        port, path = port_file.read_text().split()
        async with (
            aiohttp.ClientSession() as http,
            http.ws_connect(f"ws://127.0.0.1:{port}{path}", max_msg_size=0) as socket,
        ):
            await socket.send_json(
                {"id": 1, "method": "Target.createTarget", "params": {"url": "about:blank"}}
            )
            target = (await socket.receive_json())["result"]["targetId"]
            given = {"targetId": target, "flatten": True}
            await socket.send_json({"id": 2, "method": "Target.attachToTarget", "params": given})
            while (answer := await socket.receive_json()).get("id") != 2:
                pass
            page = Page(socket, answer["result"]["sessionId"])
            await page.resize(width)
            await page.call("Page.navigate", url=server.address)
            await page.until("document.body?.classList.contains('-first-byte')")
            yield page
    finally:
        running.kill()
        running.wait()


def ask(*payees: str) -> None:
    """Have an agent ask for payments that need a person."""
    with open_runtime(current_config()) as runtime:
        runtime.registry.register_fn("bank.pay", "Pay", lambda to: None, SafetyClass.DESTRUCTIVE)
        approve_tools(runtime)
        ctx = RunContext.create("clerk", intent="pay the bills")
        for payee in payees:
            runtime.executor.execute(ctx, "bank.pay", {"to": payee})


def look(
    start: Start,
    tmp_path: Path,
    doing: Callable[[Page, Server], Coroutine[Any, Any, None]],
    width: int = 1200,
) -> None:
    """Do something with the real console in a browser."""
    server = start(command=CONSOLE)

    async def run() -> None:
        async with opened(server, tmp_path / "profile", width) as page:
            await doing(page, server)

    asyncio.run(run())


def test_it_has_the_focus_at_load_says_how_many_things_wait_leaves_the_browser_its_keys_and_fits_its_window(
    start: Start, tmp_path: Path
) -> None:
    ask("bob", "eve")
    hear = (
        f"window.sent = []; window.kept = []; {TERMINAL}.onData(data => sent.push(data));"
        "addEventListener('keydown', e => kept.push(e.key + e.defaultPrevented)); true"
    )

    async def doing(page: Page, server: Server) -> None:
        await page.until_shown("bank.pay")
        assert await page.value("document.activeElement.className") == "xterm-helper-textarea"
        await page.until("document.title === '(2) sb console'")
        icon = "document.querySelector('link[rel=icon]')"
        assert await page.value(f"{icon}.getAttribute('href')") == "icon-waiting.svg"
        assert 60 <= await page.value(f"{TERMINAL}.cols") <= 66, "of a narrow window"
        await page.resize(1200)
        await page.until(f"{TERMINAL}.cols > 110")
        await page.until_shown("bank.pay")
        await page.resize(480)
        await page.until(f"{TERMINAL}.cols >= 60 && {TERMINAL}.cols <= 66")
        await page.until("document.querySelector('.xterm-screen').offsetWidth <= window.innerWidth")
        assert await page.value(hear)
        for key in ("w", "t"):
            await page.press(key, control=True)
        await page.press("?")
        await page.until("sent.includes('?')")
        sent, keydowns = json.loads(await page.value("JSON.stringify([sent, kept])"))
        assert not {"\x17", "\x14"} & set(sent)
        assert keydowns[:2] == ["wfalse", "tfalse"]

    look(start, tmp_path, doing, width=480)


def test_quitting_says_how_to_open_it_again_and_a_lost_server_that_it_has_ended(
    start: Start, tmp_path: Path
) -> None:
    ask("bob")
    notice = "document.querySelector('.closed').innerText"

    async def doing(page: Page, server: Server) -> None:
        await page.until_shown("bank.pay")
        await page.press("q")
        await page.until("document.body.classList.contains('-closed')")
        assert (await page.value(notice)).split("\n")[0] == "Closed. Reload to open again."
        assert await page.value("document.title") == "Closed: sb console"
        await page.call("Page.reload")
        await page.until("document.body?.classList.contains('-first-byte')")
        await page.until_shown("bank.pay")
        server.process.kill()
        await page.until("document.body.classList.contains('-closed')")
        assert (
            await page.value(notice)
        ).strip() == "Closed. The server has ended: start sb console --web again."

    look(start, tmp_path, doing)
