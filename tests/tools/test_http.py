"""http.get against real servers: allowlist, addresses, redirects, deadlines."""

from __future__ import annotations

import base64
import http.server
import socket
import socketserver
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from sb.config import HostPattern
from sb.config.groups import Http
from sb.kernel import ErrorKind, ToolError, ToolErrorCode, verdict_for
from sb.kernel.registry.registry import ToolRegistry
from sb.tools.http import HttpGet, register_http
from sb.tools.web import Resolver
from tests.rows import rows

Get = Callable[..., Any]


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers /status/N, /to/URL (a redirect), /bytes/N, and a few bodies by name."""

    requests: ClassVar[list[dict[str, str]]] = []
    bodies: ClassVar[dict[str, tuple[str, bytes]]] = {
        "/text": ("text/plain; charset=utf-8", "größe".encode()),
        "/binary": ("application/octet-stream", b"\xff\xfe"),
        "/": ("text/html", b"<p>"),
    }

    def do_GET(self) -> None:
        self.requests.append(
            {"path": self.path, **{key.lower(): value for key, value in self.headers.items()}}
        )
        kind, _, rest = self.path[1:].partition("/")
        if kind == "status":
            self.send_response(int(rest.partition("?")[0]))
            if "wait=" in rest:
                self.send_header("Retry-After", rest.partition("wait=")[2])
            self.end_headers()
        elif kind == "to":
            self.send_response(302)
            self.send_header("Location", rest)
            self.end_headers()
        elif kind == "hop":
            self.send_response(307)
            self.send_header("Location", f"/hop/{int(rest) - 1}" if int(rest) > 1 else "/text")
            self.end_headers()
        else:
            content_type, body = self.bodies.get(self.path.partition("?")[0]) or (
                "text/plain",
                b"x" * int(rest),
            )
            self.send_response(200)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("ETag", '"v1"')
            self.send_header("Set-Cookie", "session=1")
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Tests print nothing."""


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that stops reading is what some tests are about."""


@pytest.fixture
def port() -> Iterator[int]:
    """The port of an HTTP server on the loopback interface."""
    Handler.requests.clear()
    with Server(("127.0.0.1", 0), Handler) as server:
        yield from serve(server)


def serve(server: socketserver.TCPServer) -> Iterator[int]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.socket.getsockname()[1]
    finally:
        server.shutdown()
        thread.join(60)


def allowing(*entries: str, **settings: int) -> Http:
    patterns = tuple(pattern for entry in entries if (pattern := HostPattern.parse(entry)))
    assert len(patterns) == len(entries)
    return Http(patterns, **settings)


def getter(*allow: str, resolver: Resolver | None = None, deadline_s: float = 25.0, **settings: int) -> Get:
    return HttpGet(allowing(*allow, **settings), resolver, deadline_s=deadline_s).get


def refusal(code: ToolErrorCode, get: Get, url: str, **arguments: Any) -> str:
    with pytest.raises(ToolError) as failure:
        get(url=url, **arguments)
    message = str(failure.value)
    assert failure.value.code is code, message
    assert "\n" not in message
    assert "secret" not in message
    return message


class Names:
    """A resolver of fixed answers that counts its calls; each call takes the next answer, the last one stays."""

    def __init__(self, *answers: list[str]) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    def __call__(self, host: str, port: int, *, type: int) -> list[tuple[Any, ...]]:
        self.asked.append(host)
        addresses = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return [
            (socket.AF_INET6, type, 6, "", (address, port, 0, 0))
            if ":" in address
            else (socket.AF_INET, type, 6, "", (address, port))
            for address in addresses
        ]


def test_fetching_gives_the_body_and_a_few_headers(port: int) -> None:
    registry = ToolRegistry()
    register_http(registry, allowing(f"127.0.0.1:{port}"))
    get = registry.get_callable("http.get")
    assert get
    url = f"http://127.0.0.1:{port}/text?q=1"
    assert get(url=url + "#fragment") == {
        "url": url,
        "status": 200,
        "headers": {"content-type": "text/plain; charset=utf-8", "etag": '"v1"'},
        "content": "größe",
        "encoding": "utf-8",
        "bytes": 7,
        "truncated": False,
    }
    binary = get(url=f"http://127.0.0.1:{port}/binary")
    assert (binary["content"], binary["encoding"]) == (base64.b64encode(b"\xff\xfe").decode(), "base64")


def test_a_request_carries_no_cookies_credentials_or_compression(port: int) -> None:
    get = getter(f"127.0.0.1:{port}")
    get(url=f"http://127.0.0.1:{port}")
    get(url=f"http://127.0.0.1:{port}/")
    assert (
        Handler.requests
        == [
            {
                "path": "/",
                "host": f"127.0.0.1:{port}",
                "user-agent": "SecondBrain",
                "accept": "*/*",
                "accept-encoding": "identity",
                "connection": "close",
            }
        ]
        * 2
    )


@pytest.mark.parametrize(
    ("size", "asked", "content", "truncated"),
    [
        (100, None, 100, False),
        (101, None, 100, True),
        (101, 1000, 100, True),
        (50, 10, 10, True),
        (0, None, 0, False),
    ],
)
def test_a_long_body_is_cut_at_the_limit(
    port: int, size: int, asked: int | None, content: int, truncated: bool
) -> None:
    get = getter(f"127.0.0.1:{port}", max_bytes=100)
    arguments = {} if asked is None else {"max_bytes": asked}
    found = get(url=f"http://127.0.0.1:{port}/bytes/{size}", **arguments)
    assert (found["bytes"], len(found["content"]), found["truncated"]) == (content, content, truncated)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, ToolErrorCode.VALIDATION_ERROR),
        (401, ToolErrorCode.PERMISSION_DENIED),
        (403, ToolErrorCode.PERMISSION_DENIED),
        (404, ToolErrorCode.NOT_FOUND),
        (408, ToolErrorCode.TIMEOUT),
        (410, ToolErrorCode.NOT_FOUND),
        (429, ToolErrorCode.RATE_LIMITED),
        (500, ToolErrorCode.NETWORK_ERROR),
        (503, ToolErrorCode.NETWORK_ERROR),
        (304, ToolErrorCode.VALIDATION_ERROR),
        (302, ToolErrorCode.VALIDATION_ERROR),
    ],
)
def test_a_status_becomes_a_code_without_the_query(port: int, status: int, code: ToolErrorCode) -> None:
    get = getter(f"127.0.0.1:{port}")
    message = refusal(code, get, f"http://127.0.0.1:{port}/status/{status}?token=secret")
    assert str(status) in message


@pytest.mark.parametrize(("asked", "seconds"), [("7", 7.0), ("9999999", 86_400.0), ("soon", None)])
def test_the_wait_that_a_server_asks_for_is_passed_on(port: int, asked: str, seconds: float | None) -> None:
    get = getter(f"127.0.0.1:{port}")
    with pytest.raises(ToolError) as failure:
        get(url=f"http://127.0.0.1:{port}/status/429?wait={asked}")
    verdict = verdict_for(failure.value)
    assert (verdict.kind, verdict.retry_after_s) == (ErrorKind.RATE_LIMITED, seconds)


@rows(
    "url",
    [
        "",
        "example.com",
        "//example.com/",
        "ftp://example.com/",
        "file:///etc/passwd",
        "http://",
        "http:///secret",
        "http://user@example.com/",
        "http://user:secret@example.com/",
        "http://@example.com/",
        "http://example.com\\@evil.org/",
        "http://example.com:port/",
        "http://example.com:99999/",
        "http://exa mple.com/",
        "http://bücher.example/",
        "http://ex%61mple.com/",
        "http://[::1",
        "http://[fe80::1%25eth0]/",
        "http://example.com/a\r\nX: secret",
        "ht\ntp://example.com/",
        "http://example.com/\0",
        "http://example.com/\ud800",
    ],
)
def test_an_unusable_url_is_refused_before_anything_is_resolved(url: str) -> None:
    names = Names(["93.184.216.34"])
    refusal(ToolErrorCode.VALIDATION_ERROR, getter("example.com", resolver=names), url)
    assert names.asked == []


@rows(
    "url",
    [
        "http://evil.org/?secret",
        "http://example.com:8080/",
        "https://www.example.com/",
        "http://example.com.evil.org/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://127.0.0.1/",
        "http://[::1]/",
    ],
)
def test_what_is_off_the_allowlist_is_refused_before_anything_is_resolved(url: str) -> None:
    names = Names(["93.184.216.34"])
    message = refusal(ToolErrorCode.PERMISSION_DENIED, getter("example.com", resolver=names), url)
    assert "http.allow" in message
    assert names.asked == []


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1"])
@pytest.mark.parametrize("allow", ["example.com", "*.com.example.com", "*.example.org"])
def test_a_name_that_leads_to_a_private_address_is_refused(address: str, allow: str) -> None:
    host = allow.replace("*", "www")
    for answer in ([address], ["93.184.216.34", address]):
        names = Names(answer)
        message = refusal(ToolErrorCode.PERMISSION_DENIED, getter(allow, resolver=names), f"http://{host}/")
        assert address in message


def test_a_wildcard_with_a_port_does_not_permit_private_addresses(port: int) -> None:
    get = getter(f"*.example.com:{port}", resolver=Names(["127.0.0.1"]))
    refusal(ToolErrorCode.PERMISSION_DENIED, get, f"http://www.example.com:{port}/text")
    assert Handler.requests == []


def test_a_name_is_resolved_once_and_the_checked_address_is_used(port: int) -> None:
    names = Names(["127.0.0.1"], ["192.0.2.1"])
    get = getter(f"app.test:{port}", resolver=names)
    assert get(url=f"http://APP.test.:{port}/text")["status"] == 200
    assert names.asked == ["app.test"]
    assert Handler.requests[0]["host"] == f"app.test:{port}"


def test_the_next_address_is_tried_when_one_refuses(port: int) -> None:
    get = getter(f"app.test:{port}", resolver=Names(["::1", "127.0.0.1"]))
    assert get(url=f"http://app.test:{port}/text")["status"] == 200


def test_a_redirect_is_followed_to_its_end(port: int) -> None:
    get = getter(f"127.0.0.1:{port}")
    found = get(url=f"http://127.0.0.1:{port}/hop/5")
    assert found["url"] == f"http://127.0.0.1:{port}/text"
    refusal(ToolErrorCode.NETWORK_ERROR, get, f"http://127.0.0.1:{port}/hop/6")


def test_a_redirect_with_unusual_characters_is_followed(port: int) -> None:
    get = getter(f"127.0.0.1:{port}")
    assert get(url=f"http://127.0.0.1:{port}/to//text?q=ä b")["url"].endswith("/text?q=%C3%A4%20b")


@pytest.mark.parametrize(
    ("location", "code"),
    [
        ("http://evil.org/?secret", ToolErrorCode.PERMISSION_DENIED),
        ("http://127.0.0.1:1/?secret", ToolErrorCode.PERMISSION_DENIED),
        ("http://inner.test/?secret", ToolErrorCode.PERMISSION_DENIED),
        ("file:///etc/passwd", ToolErrorCode.NETWORK_ERROR),
        ("http://user:secret@127.0.0.1/", ToolErrorCode.NETWORK_ERROR),
        ("http://[bad/", ToolErrorCode.NETWORK_ERROR),
    ],
)
def test_every_hop_of_a_redirect_is_checked(port: int, location: str, code: ToolErrorCode) -> None:
    names = Names(["127.0.0.1"])
    get = getter(f"app.test:{port}", "inner.test", resolver=names)
    refusal(code, get, f"http://app.test:{port}/to/{location}")
    assert len(Handler.requests) == 1


def test_proxies_of_the_environment_are_ignored(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert getter(f"127.0.0.1:{port}")(url=f"http://127.0.0.1:{port}/text")["status"] == 200


def test_a_host_without_an_address_is_a_network_error() -> None:
    def unknown(host: str, port: int, *, type: int) -> list[tuple[Any, ...]]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    message = refusal(
        ToolErrorCode.NETWORK_ERROR, getter("example.com", resolver=unknown), "http://example.com/?secret"
    )
    assert "Name or service not known" in message
    refusal(ToolErrorCode.NETWORK_ERROR, getter("example.com", resolver=Names([])), "http://example.com/")


def test_a_closed_port_is_a_network_error() -> None:
    with socket.socket() as silent:  # nobody else takes its port, and nothing listens there
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        refusal(ToolErrorCode.NETWORK_ERROR, getter(f"127.0.0.1:{port}"), f"http://127.0.0.1:{port}/?secret")


class RawServer(socketserver.ThreadingTCPServer):
    """Sends fixed bytes to whoever connects, one chunk every few milliseconds."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, *chunks: bytes, forever: bytes = b"", pause_s: float = 0.0) -> None:
        self.chunks = chunks
        self.forever = forever
        self.pause_s = pause_s
        self.closing = threading.Event()
        super().__init__(("127.0.0.1", 0), RawHandler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """The client closes first, as it should."""


class RawHandler(socketserver.BaseRequestHandler):
    server: RawServer

    def handle(self) -> None:
        self.request.recv(65536)
        for chunk in self.server.chunks:
            self.request.sendall(chunk)
        while self.server.forever and not self.server.closing.wait(self.server.pause_s):
            self.request.sendall(self.server.forever)


def fetch_raw(server: RawServer, **settings: Any) -> Any:
    with server:
        serving = serve(server)
        port = next(serving)
        try:
            return getter(f"127.0.0.1:{port}", **settings)(url=f"http://127.0.0.1:{port}/?secret")
        finally:
            server.closing.set()
            next(serving, None)


OK = b"HTTP/1.1 200 OK\r\n"


@rows(
    "answer",
    [
        b"",
        b"not http at all\r\n\r\n",
        b"HTTP/1.1 200",
        OK + b"Content-Type: text/pl",
        OK + b"Content-Type: text/plain\r\n",
        OK + b"Content-Length: 10\r\n\r\nshort",
        OK + b"Transfer-Encoding: chunked\r\n\r\nff\r\nshort",
        OK + b"Transfer-Encoding: chunked\r\n\r\nnot a size\r\n",
        OK + b"X: " + b"x" * 70_000 + b"\r\n\r\n",
        OK + b"X: y\r\n" * 200 + b"\r\n",
    ],
)
def test_a_broken_answer_is_a_network_error(answer: bytes) -> None:
    with pytest.raises(ToolError) as failure:
        fetch_raw(RawServer(answer))
    assert failure.value.code is ToolErrorCode.NETWORK_ERROR
    assert "secret" not in str(failure.value)


@rows(
    "begin, forever",
    [
        (b"", b"H"),
        (OK, b"X"),
        (OK, b"HTTP/1.1 100 Continue\r\n\r\n"),
        (OK + b"\r\n", b"x"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
    ],
)
def test_a_server_that_sends_a_little_now_and_then_meets_the_deadline(begin: bytes, forever: bytes) -> None:
    started = time.monotonic()
    with pytest.raises(ToolError) as failure:
        fetch_raw(RawServer(begin, forever=forever, pause_s=0.02), deadline_s=0.3)
    assert failure.value.code is ToolErrorCode.TIMEOUT
    assert time.monotonic() - started < 60


def test_an_endless_body_is_read_up_to_the_limit_only() -> None:
    found = fetch_raw(RawServer(OK + b"\r\n", forever=b"x" * 65536), max_bytes=100_000)
    assert (found["bytes"], found["truncated"]) == (100_000, True)


def test_a_server_that_never_answers_meets_the_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        get = getter(f"127.0.0.1:{port}", deadline_s=0.1)
        for scheme in ("http", "https"):
            refusal(ToolErrorCode.TIMEOUT, get, f"{scheme}://127.0.0.1:{port}/?secret")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Key and certificate of good.test, in one file."""
    folder = tmp_path_factory.mktemp("tls")
    command = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=good.test -keyout key.pem -out cert.pem"
    )
    subprocess.run(
        [*command.split(), "-addext", "subjectAltName=DNS:good.test"],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    both = folder / "both.pem"
    both.write_bytes((folder / "key.pem").read_bytes() + (folder / "cert.pem").read_bytes())
    return both


@pytest.fixture
def tls_port(certificate: Path) -> Iterator[int]:
    """The port of an HTTPS server that is good.test."""
    Handler.requests.clear()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    context.sni_callback = lambda _socket, name, _context: Handler.requests.append({"sni": str(name)})
    with Server(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        yield from serve(server)


def test_https_checks_the_certificate_against_the_name_in_the_url(
    tls_port: int, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    get = getter(f"good.test:{tls_port}", f"bad.test:{tls_port}", resolver=Names(["127.0.0.1"]))
    assert get(url=f"https://good.test:{tls_port}/text")["content"] == "größe"
    assert Handler.requests[0] == {"sni": "good.test"}
    assert Handler.requests[1]["host"] == f"good.test:{tls_port}"
    message = refusal(ToolErrorCode.NETWORK_ERROR, get, f"https://bad.test:{tls_port}/?secret")
    assert "certificate" in message.lower()


def test_an_unknown_certificate_authority_is_refused(tls_port: int) -> None:
    get = getter(f"good.test:{tls_port}", resolver=Names(["127.0.0.1"]))
    refusal(ToolErrorCode.NETWORK_ERROR, get, f"https://good.test:{tls_port}/?secret")
    assert [request for request in Handler.requests if "path" in request] == []


def test_a_redirect_never_leaves_encryption(
    tls_port: int, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    get = getter(f"good.test:{tls_port}", resolver=Names(["127.0.0.1"]))
    message = refusal(
        ToolErrorCode.PERMISSION_DENIED,
        get,
        f"https://good.test:{tls_port}/to/http://good.test:{tls_port}/?secret",
    )
    assert "not encrypted" in message
