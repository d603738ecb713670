"""Guarantees for an operator whose console is open in a browser."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import sys
from contextlib import AsyncExitStack, closing
from pathlib import Path

import aiohttp
import pytest

from sb.base.values.canonical import canonical_bytes
from sb.base.values.signatures import signature_fits
from sb.config import current_config
from sb.log.kinds import APPROVAL_APPROVED
from sb.runtime.parts import open_log
from tests.screens.web.conftest import SignedIn, Start, browser, closed, gone, read_value


def test_a_tab_shows_the_first_row_read_only_and_its_process_ends_with_the_tab(start: Start) -> None:
    server = start()

    async def look() -> int:
        async with browser(server) as signed_in:
            async with signed_in.open_tab() as tab:
                pid = int(await read_value(tab, "process="))
                assert server.children() == {pid}
            async with signed_in.open_tab() as tab:
                assert await read_value(tab, "signer=") == "nobody"
            return pid

    assert gone(asyncio.run(look()))
    assert server.next_line() == "A browser has signed in."
    code, out, err = server.stop()
    assert (code, out, err) == (0, "", "")


def test_a_tab_signs_with_the_key_that_only_the_server_holds(start: Start) -> None:
    server = start("--key")

    async def look() -> str:
        async with browser(server) as signed_in, signed_in.open_tab() as tab:
            return await read_value(tab, "signer=")

    assert asyncio.run(look()) == "ada"
    with closing(open_log(current_config())) as log:
        (approved,) = log.events(kind=APPROVAL_APPROVED)
    signed = (approved.payload or {})["signed"]
    assert signed["statement"]["reason"] == "the bill is right"
    assert signature_fits(server.public_key, canonical_bytes(signed["statement"]), signed["signature"])
    assert server.stop()[0] == 0
    assert list(server.home.glob("web-*")) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_the_tabs_end_with_the_server(start: Start, number: int) -> None:
    server = start()

    async def look() -> tuple[int, int | None]:
        async with browser(server) as signed_in, signed_in.open_tab() as tab:
            pid = int(await read_value(tab, "process="))
            server.process.send_signal(number)
            return pid, await closed(tab)

    pid, close_code = asyncio.run(look())
    out, err = server.process.communicate(timeout=60)
    assert gone(pid)
    assert close_code == (1006 if number == signal.SIGKILL else 1001)  # "going away"
    assert (server.process.returncode, out, err) == (
        -9 if number == signal.SIGKILL else 0,
        "A browser has signed in.\n",
        "",
    )


def test_quitting_the_app_closes_its_tab_only(signed_in: SignedIn) -> None:
    async def look() -> None:
        async with signed_in.again() as visitor, visitor.open_tab() as first, visitor.open_tab() as other:
            pid = int(await read_value(first, "process="))
            left = int(await read_value(other, "process="))
            await first.send_json(["stdin", "q"])
            await closed(first)
            assert gone(pid)
            children = signed_in.server.children()
            assert (pid in children, left in children) == (False, True)

    asyncio.run(look())


def test_an_app_that_fails_is_explained_in_the_terminal_without_its_escape_sequences(start: Start) -> None:
    server = start()

    async def look() -> None:
        async with browser(server) as signed_in, signed_in.open_tab() as tab:
            await read_value(tab, "process=")
            await tab.send_json(["stdin", "x"])
            await closed(tab)

    asyncio.run(look())
    _, out, err = server.stop()
    assert "a tab ended with an error:\n" in out
    assert "RuntimeError: broken" in out
    assert "\x1b" not in out
    assert err == ""


def test_an_app_that_ends_at_once_is_explained_too(start: Start) -> None:
    server = start(command=("sh", "-c", "echo no such console >&2; exit 2"))

    async def look() -> None:
        async with browser(server) as signed_in:
            for _ in range(4):
                async with signed_in.open_tab() as tab:
                    assert await closed(tab) == 1000

    asyncio.run(look())
    out = server.stop()[1]
    assert out.count("a tab ended with an error:\nno such console\n") == 4


def test_at_most_eight_tabs_are_open_and_a_process_that_ignores_us_is_killed(start: Start) -> None:
    server = start(command=(sys.executable, "-c", "import time; time.sleep(1000)"))

    async def look() -> set[int]:
        async with browser(server) as signed_in, AsyncExitStack() as tabs:
            for _ in range(8):
                await tabs.enter_async_context(signed_in.open_tab())
            with pytest.raises(aiohttp.WSServerHandshakeError, match="503"):
                await tabs.enter_async_context(signed_in.open_tab())
            async with signed_in.session.get(signed_in.base) as refused:
                assert refused.status == 503
                assert await refused.text() == "8 tabs are open. Close one, and load this page again.\n"
            return server.children()

    pids = asyncio.run(look())
    assert len(pids) == 8
    assert all(gone(pid) for pid in pids)
    assert server.stop()[2] == "", "they were closed, and did not fail to start"


def test_nonsense_on_the_websocket_closes_that_tab(start: Start) -> None:
    server = start(command=("sh", "-c", "exec head -c 1"))  # it ends when it is asked for anything

    async def look() -> None:
        async with browser(server) as signed_in:
            for nonsense in ("{", "{}", "[]", "5", '["resize", {}]', '["stdin", 5]'):
                async with signed_in.open_tab() as tab:
                    await tab.send_str(nonsense)
                    assert await closed(tab) == 1003, nonsense

    asyncio.run(look())
    assert server.stop()[2] == ""


def test_a_file_that_the_app_delivers_needs_the_cookie_and_cannot_run_as_a_page(signed_in: SignedIn) -> None:
    async def look() -> None:
        async with signed_in.again() as visitor, visitor.open_tab() as tab:
            await read_value(tab, "process=")
            await tab.send_json(["stdin", "d"])
            async with asyncio.timeout(60):
                kind = ""
                while kind != "open_url":
                    message = await tab.receive()
                    if message.type == aiohttp.WSMsgType.TEXT:
                        kind, value = json.loads(message.data)
            assert value["new_tab"]
            address = signed_in.base + value["url"]
            async with aiohttp.ClientSession() as stranger, stranger.get(address) as refused:
                assert refused.status == 401
            async with visitor.session.get(address) as file:
                assert await file.text() == "<script>alert(1)</script>"
                assert "script-src 'self'" in file.headers["Content-Security-Policy"]

    asyncio.run(look())


def test_the_page_and_what_it_loads_name_no_other_host(signed_in: SignedIn) -> None:
    async def look() -> None:
        async with signed_in.again() as visitor:
            page = signed_in.page
            loaded = re.findall(r'(?:href|src)="([^"]+)"|url\("([^"]+)"\)', page)
            names = [first or second for first, second in loaded]
            assert len(names) == 6
            for name in names:
                async with visitor.session.get(signed_in.base + name) as file:
                    assert file.status == 200
                    if name.endswith(".css"):
                        assert not re.search(r"url\(|@import", await file.text())
            own = signed_in.server.origin.removeprefix("http://")
            assert set(re.findall(r"(?:https?|wss?)://([^/\"']+)", page)) == {own}

    asyncio.run(look())


def test_nothing_says_the_token_or_the_cookie_but_the_address(start: Start) -> None:
    server = start()

    async def look() -> str:
        async with browser(server) as signed_in, signed_in.open_tab() as tab:
            pid = await read_value(tab, "process=")
            line = Path(f"/proc/{pid}/cmdline")
            environment = Path(f"/proc/{pid}/environ")
            known = signed_in.page + "".join(
                path.read_text(encoding="utf-8") for path in (line, environment) if path.exists()
            )
            cookies = [cookie.value for cookie in signed_in.session.cookie_jar]
            assert len(cookies) == 1
            assert cookies[0] not in known
            async with signed_in.session.get(server.address) as again:
                assert again.status == 403
            return known

    known = asyncio.run(look())
    token = server.address.partition("token=")[2]
    _, out, err = server.stop()
    assert token not in known + out + err
