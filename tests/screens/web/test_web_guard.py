"""The console in the browser is out of reach for everybody else."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import aiohttp
import pytest

from tests.screens.web.conftest import Server, SignedIn, Start, browser, read_value


def ask(address: str, method: str = "GET", **headers: str) -> tuple[int, str, Mapping[str, str]]:
    """Status, text and headers of an answer; a _ in the name of a header is a dash."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}

    async def send() -> tuple[int, str, Mapping[str, str]]:
        async with (
            aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session,
            session.request(method, address, headers=sent, allow_redirects=False) as answer,
        ):
            return answer.status, (await answer.read()).decode("utf-8", "replace"), answer.headers

    return asyncio.run(send())


def websocket_status(signed_in: SignedIn, **headers: str) -> int:
    """The status with which a WebSocket's handshake is answered."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}

    async def connect() -> int:
        async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session:
            try:
                async with session.ws_connect(f"{signed_in.base}ws", headers=sent):
                    return 101
            except aiohttp.WSServerHandshakeError as refused:
                return refused.status

    return asyncio.run(connect())


FILE = "static/js/textual.js"
ROUTES = ("", FILE, "static/", "download/some-key", "ws", "unknown")


@pytest.mark.parametrize("route", ROUTES)
def test_without_the_cookie_nothing_is_there(signed_in: SignedIn, route: str) -> None:
    for cookie in ({}, {"Cookie": signed_in.cookie[:-1]}, {"Cookie": signed_in.cookie + "é"}):
        status, text, _ = ask(signed_in.base + route, **cookie)
        assert (status, text) == (401, "Not signed in. Open the address that the terminal shows.\n")


def test_with_the_cookie_the_page_and_its_files_are_there(signed_in: SignedIn) -> None:
    for route, expected in {"": 200, FILE: 200, "static/": 403, "download/x": 404, "unknown": 404}.items():
        assert ask(signed_in.base + route, Cookie=signed_in.cookie)[0] == expected, route
    assert websocket_status(signed_in, Cookie=signed_in.cookie, Origin=signed_in.server.origin) == 101


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:{port}"},
        {"Host": "127.0.0.1"},
        {"Host": "127.0.0.1:1"},
        {"Host": "127.0.0.1.evil.example:{port}"},
        {"Host": ""},
        {"Origin": "http://evil.example"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Origin": "http://localhost:{port}"},  # another origin than the host that was asked
        {"Origin": "null"},
        {"Origin": ""},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
    ids=str,
)
def test_requests_of_other_sites_are_refused_with_the_cookie_too(
    signed_in: SignedIn, headers: dict[str, str]
) -> None:
    sent = {name: value.format(port=signed_in.server.port) for name, value in headers.items()}
    for route in ("", FILE):
        status, text, _ = ask(signed_in.base + route, Cookie=signed_in.cookie, **sent)
        assert (status, "Paste the address" in text) == (403, True)
    sent = {"Origin": signed_in.server.origin} | sent
    assert websocket_status(signed_in, Cookie=signed_in.cookie, **sent) == 403


def test_a_websocket_needs_both_origin_and_cookie(signed_in: SignedIn) -> None:
    assert websocket_status(signed_in, Cookie=signed_in.cookie) == 403
    assert websocket_status(signed_in, Origin=signed_in.server.origin) == 401


@pytest.mark.parametrize("name", ["localhost", "[::1]"])
def test_the_other_names_of_this_machine_are_its_own_origins(signed_in: SignedIn, name: str) -> None:
    host = f"{name}:{signed_in.server.port}"
    status, text, _ = ask(signed_in.base, Cookie=signed_in.cookie, Host=host)
    assert (status, f'"ws://{host}/' in text) == (200, True)
    own = {"Cookie": signed_in.cookie, "Host": host, "Origin": f"http://{host}"}
    assert websocket_status(signed_in, **own) == 101


@pytest.mark.parametrize("method", ["HEAD", "POST", "PUT", "OPTIONS", "DELETE"])
def test_only_get_is_understood(signed_in: SignedIn, method: str) -> None:
    assert ask(signed_in.base, method, Cookie=signed_in.cookie)[0] == 405


@pytest.mark.parametrize("address", ["/", "/unknown", "{base}", "{base}" + FILE, "{base}ws"])
def test_every_answer_binds_the_browser(signed_in: SignedIn, address: str) -> None:
    path = address.format(base=signed_in.base.removeprefix(signed_in.server.origin))
    for cookie in ({}, {"Cookie": signed_in.cookie}):
        headers = ask(signed_in.server.origin + path, **cookie)[2]
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none';")
        assert "script-src 'self';" in policy
        assert "http" not in policy
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cache-Control"] == "no-store"
        assert headers["X-Content-Type-Options"] == "nosniff"


class TestTheToken:
    @pytest.fixture
    def fresh(self, start: Start) -> Server:
        return start()

    def test_is_not_used_up_by_what_is_refused_and_exchanged_once_for_a_cookie_that_binds_itself(
        self, fresh: Server
    ) -> None:
        assert ask(fresh.origin + "/")[0] == 401
        assert ask(fresh.origin + "/?token=")[0] == 401
        assert ask(fresh.address[:-1])[0] == 401
        assert ask(fresh.address + "é")[0] == 401
        assert ask(fresh.address, "HEAD")[0] == 405
        assert ask(fresh.address, Host="evil.example")[0] == 403
        assert ask(fresh.address, Sec_Fetch_Site="cross-site")[0] == 403
        status, _, headers = ask(fresh.address, Sec_Fetch_Site="none")
        assert status == 303
        name, *attributes = headers["Set-Cookie"].split("; ")
        assert name.startswith(f"sb-console-{fresh.port}=")
        # no Domain: this host only; no Max-Age or Expires: until the browser ends
        assert sorted(attributes) == ["HttpOnly", f"Path={headers['Location']}", "SameSite=Strict"]
        assert "token" not in headers["Location"]
        status, text, headers = ask(fresh.address)
        assert (status, "Set-Cookie" in headers) == (403, False)
        assert text.startswith("This address was used already: it works once.")
        assert (fresh.next_line(), fresh.next_line()) == (
            "A browser has signed in.",
            "The address was opened again and refused: it works once.",
        )

    def test_of_one_server_opens_no_other_and_its_cookie_neither_which_no_other_is_sent(
        self, fresh: Server, signed_in: SignedIn
    ) -> None:
        token = fresh.address.partition("/?")[2]
        assert ask(f"{signed_in.server.origin}/?{token}")[0] == 401
        name, value, request = asyncio.run(lured_away(fresh))
        assert request.startswith(b"GET / ")
        assert b"cookie" not in request.lower()
        own_name = signed_in.cookie.partition("=")[0]
        for cookie in (f"{name}={value}", f"{own_name}={value}"):
            assert ask(signed_in.base, Cookie=cookie)[0] == 401
        assert ask(signed_in.base, Cookie=f"{name}={value}; {signed_in.cookie}")[0] == 200

    def test_of_the_ipv6_server_works_there(self, start: Start) -> None:
        server = start("--host", "::1")
        assert server.origin.startswith("http://[::1]:")

        async def look() -> str:
            async with browser(server) as opened, opened.open_tab() as tab:
                return await read_value(tab, "signer=")

        assert asyncio.run(look()) == "nobody"


async def lured_away(server: Server) -> tuple[str, str, bytes]:
    """The cookie of a browser that has signed in, and what it sends to another server of this machine."""
    seen = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    other = await asyncio.start_server(listen, "127.0.0.1", 0)
    port = other.sockets[0].getsockname()[1]
    async with other, browser(server) as opened, opened.session.get(f"http://127.0.0.1:{port}/"):
        (cookie,) = opened.session.cookie_jar
    (request,) = seen
    return cookie.key, cookie.value, request
