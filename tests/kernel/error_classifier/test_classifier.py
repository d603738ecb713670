"""Kinds of failures: exceptions of the real libraries, of real files and servers, and of providers."""

from __future__ import annotations

import asyncio
import errno
import importlib
import socket
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sb import errors
from sb.kernel import ErrorKind, ToolError, ToolErrorCode, classify, tool_failure, verdict_for
from sb.kernel.error_classifier.error_codes import code_for
from sb.kernel.error_kinds import CODES, marked
from sb.kernel.registry.workers import DeadlineExceeded
from sb.store import driver
from sb.store.database import open_database
from tests.rows import rows

DRIVERS = sorted({"sqlite3", driver.Connection.__module__})


class Answering(BaseHTTPRequestHandler):
    """Answers /STATUS with that status, and /slow never in time."""

    headers_to_send: ClassVar[dict[str, str]] = {}
    body: ClassVar[bytes] = b"{}"
    over: ClassVar[threading.Event] = threading.Event()

    def do_GET(self) -> None:
        if self.path == "/slow":
            self.over.wait(60)
            return
        if self.path == "/cut":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
            return
        self.send_response(int(self.path[1:]))
        for name, value in self.headers_to_send.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    Answering.headers_to_send, Answering.body, Answering.over = {}, b"{}", threading.Event()
    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as listening:
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{listening.server_port}"
        Answering.over.set()
        listening.shutdown()
        thread.join()


def raised_by(act: Callable[[], Any]) -> BaseException:
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - which one it is is what the caller asks
        act()
    return caught.value


def patience(url: str) -> float:
    """Seconds: what answers does so at once, but on a busy machine."""
    return 0.1 if url.endswith("/slow") else 60


def fetch_with_httpx(url: str) -> None:
    import httpx

    httpx.get(url, timeout=patience(url), trust_env=False, verify=False).raise_for_status()


def fetch_with_urllib(url: str) -> None:
    urllib.request.urlopen(url, timeout=patience(url)).close()


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


STATUSES = [
    (400, ErrorKind.VALIDATION),
    (401, ErrorKind.AUTH),
    (402, ErrorKind.AUTH),
    (403, ErrorKind.AUTH),
    (404, ErrorKind.NOT_FOUND),
    (408, ErrorKind.TIMEOUT),
    (409, ErrorKind.IDEMPOTENCY_CONFLICT),
    (412, ErrorKind.EVIDENCE_STALE),
    (413, ErrorKind.CONTEXT_LENGTH),
    (422, ErrorKind.VALIDATION),
    (423, ErrorKind.LOCKED),
    (429, ErrorKind.RATE_LIMITED),
    (451, ErrorKind.POLICY_DENIED),
    (500, ErrorKind.SERVER),
    (501, ErrorKind.UNKNOWN),
    (502, ErrorKind.SERVER),
    (503, ErrorKind.SERVER),
    (504, ErrorKind.TIMEOUT),
    (507, ErrorKind.DISK_FULL),
    (529, ErrorKind.SERVER),
]


@pytest.mark.parametrize("fetch", [fetch_with_httpx, fetch_with_urllib])
@pytest.mark.parametrize(("status", "kind"), STATUSES)
def test_what_a_server_answers_decides(
    server: str, fetch: Callable[[str], None], status: int, kind: ErrorKind
) -> None:
    error = raised_by(lambda: fetch(f"{server}/{status}"))
    assert classify(error) is kind
    if isinstance(error, urllib.error.HTTPError):
        error.close()


@pytest.mark.parametrize("fetch", [fetch_with_httpx, fetch_with_urllib])
def test_a_server_that_is_slow_or_is_not_there_is_transient(
    server: str, fetch: Callable[[str], None]
) -> None:
    assert classify(raised_by(lambda: fetch(f"{server}/slow"))) is ErrorKind.TIMEOUT
    refused = f"http://127.0.0.1:{closed_port()}/"
    assert classify(raised_by(lambda: fetch(refused))) is ErrorKind.TRANSIENT_NETWORK


def test_an_answer_that_breaks_off_is_transient(server: str) -> None:
    assert classify(raised_by(lambda: fetch_with_httpx(f"{server}/cut"))) is ErrorKind.TRANSIENT_NETWORK


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after-ms": "250", "Retry-After": "1"}, 0.25),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "-3"}, None),
        ({"Retry-After": "nan"}, None),
        ({}, None),
    ],
)
@pytest.mark.parametrize("fetch", [fetch_with_httpx, fetch_with_urllib])
def test_the_wait_that_a_server_asks_for_is_kept(
    server: str, fetch: Callable[[str], None], headers: dict[str, str], seconds: float | None
) -> None:
    Answering.headers_to_send = headers
    error = raised_by(lambda: fetch(f"{server}/429"))
    assert verdict_for(error).retry_after_s == seconds
    if isinstance(error, urllib.error.HTTPError):
        error.close()


def test_a_wait_until_a_date_is_counted_from_now(server: str, clock: Any) -> None:
    Answering.headers_to_send = {"Retry-After": "Fri, 15 Jan 2027 08:00:30 GMT"}
    error = raised_by(lambda: fetch_with_httpx(f"{server}/503"))
    assert verdict_for(error, clock=clock).retry_after_s == 30.0
    clock.sleep(60)
    assert verdict_for(error, clock=clock).retry_after_s == 0.0


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"error": {"code": "content_filter", "type": null}}', ErrorKind.CONTENT_FILTER),
        (
            b'{"error": {"code": "x", "innererror": {"code": "ResponsibleAIPolicyViolation"}}}',
            ErrorKind.CONTENT_FILTER,
        ),
        (
            b'{"error": {"code": "context_length_exceeded", "type": "invalid_request_error"}}',
            ErrorKind.CONTEXT_LENGTH,
        ),
        (
            b'{"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 210000 tokens"}}',
            ErrorKind.CONTEXT_LENGTH,
        ),
        (
            b'{"type": "error", "error": {"type": "invalid_request_error", "message": "Output blocked by content filtering policy"}}',
            ErrorKind.CONTENT_FILTER,
        ),
        (b'{"error": {"type": "idempotency_error"}}', ErrorKind.IDEMPOTENCY_CONFLICT),
        (b'{"error": {"message": "amount is required"}}', ErrorKind.VALIDATION),
        (b'["not", "an object"]', ErrorKind.VALIDATION),
        (b"not json", ErrorKind.VALIDATION),
        (b'{"error": {"error": {"error": {"error": {"code": "content_filter"}}}}}', ErrorKind.VALIDATION),
    ],
)
def test_what_a_providers_answer_says_counts_before_its_status(
    server: str, body: bytes, kind: ErrorKind
) -> None:
    Answering.body = body
    assert classify(raised_by(lambda: fetch_with_httpx(f"{server}/400"))) is kind


class ProviderError(Exception):
    """As the client libraries of model providers raise them: with whatever attributes say."""

    def __init__(self, message: str = "", **attributes: Any) -> None:
        super().__init__(message)
        vars(self).update(attributes)


class GrpcError(Exception):
    def code(self) -> Any:
        return type("StatusCode", (), {"name": "UNAVAILABLE"})


@rows(
    "error, kind",
    [
        (ProviderError(status_code=429, code="rate_limit_exceeded"), ErrorKind.RATE_LIMITED),
        (ProviderError(status_code=429, code="insufficient_quota"), ErrorKind.AUTH),
        (ProviderError(status_code=401, type="invalid_request_error"), ErrorKind.AUTH),
        (ProviderError(status_code=400, body={"code": "content_filter"}), ErrorKind.CONTENT_FILTER),
        (
            ProviderError(status_code=529, body={"type": "error", "error": {"type": "overloaded_error"}}),
            ErrorKind.SERVER,
        ),
        (ProviderError(body={"type": "server_error"}), ErrorKind.SERVER),
        (ProviderError(code=429, status="RESOURCE_EXHAUSTED"), ErrorKind.RATE_LIMITED),
        (ProviderError(code="refusal"), ErrorKind.REFUSAL),
        (ProviderError("Your credit balance is too low", status_code=400), ErrorKind.AUTH),
        (
            ProviderError(
                response={
                    "Error": {"Code": "ThrottlingException"},
                    "ResponseMetadata": {"HTTPStatusCode": 400},
                }
            ),
            ErrorKind.RATE_LIMITED,
        ),
        (
            ProviderError(response={"Error": {"Code": "ConditionalCheckFailedException"}}),
            ErrorKind.EVIDENCE_STALE,
        ),
        (GrpcError(), ErrorKind.SERVER),
        (ProviderError("nothing that anybody knows"), ErrorKind.UNKNOWN),
    ],
)
def test_providers_errors_are_told_apart_by_what_they_carry(error: Exception, kind: ErrorKind) -> None:
    assert classify(error) is kind


@rows(
    "error, kind",
    [
        (OSError(errno.ENOSPC, "no space"), ErrorKind.DISK_FULL),
        (OSError(errno.EDQUOT, "quota"), ErrorKind.DISK_FULL),
        (OSError(errno.EIO, "I/O"), ErrorKind.STORAGE),
        (OSError(errno.EROFS, "read-only"), ErrorKind.STORAGE),
        (OSError(errno.EBUSY, "busy"), ErrorKind.LOCKED),
        (OSError(errno.ENETUNREACH, "unreachable"), ErrorKind.TRANSIENT_NETWORK),
        (OSError(errno.ETIMEDOUT, "timed out"), ErrorKind.TIMEOUT),
        (FileNotFoundError(errno.ENOENT, "gone"), ErrorKind.NOT_FOUND),
        (PermissionError(errno.EACCES, "no"), ErrorKind.AUTH),
        (FileExistsError(errno.EEXIST, "there"), ErrorKind.VALIDATION),
        (BlockingIOError(errno.EAGAIN, "later"), ErrorKind.LOCKED),
        (BrokenPipeError(errno.EPIPE, "pipe"), ErrorKind.TRANSIENT_NETWORK),
        (socket.gaierror(socket.EAI_NONAME, "no name"), ErrorKind.TRANSIENT_NETWORK),
        (OSError("nothing more"), ErrorKind.UNKNOWN),
        (TimeoutError(), ErrorKind.TIMEOUT),
        (subprocess.TimeoutExpired("x", 1), ErrorKind.TIMEOUT),
        (DeadlineExceeded("late"), ErrorKind.TIMEOUT),
        (asyncio.CancelledError(), ErrorKind.CANCELLED),
        (KeyboardInterrupt(), ErrorKind.CANCELLED),
        (SystemExit(500), ErrorKind.UNKNOWN),
        (ValueError("bad"), ErrorKind.VALIDATION),
        (RuntimeError("boom"), ErrorKind.UNKNOWN),
        (errors.StoreLocked("locked"), ErrorKind.LOCKED),
        (errors.StoreFull("full"), ErrorKind.DISK_FULL),
        (errors.StoreCorrupt("damaged"), ErrorKind.STORAGE),
        (errors.NotFoundError("none"), ErrorKind.NOT_FOUND),
        (errors.DeniedError("no"), ErrorKind.POLICY_DENIED),
        (errors.ContractError("wrong"), ErrorKind.VALIDATION),
        (errors.SBError("something"), ErrorKind.UNKNOWN),
        (ToolError(ToolErrorCode.RATE_LIMITED, "slow down"), ErrorKind.RATE_LIMITED),
        (ToolError(ToolErrorCode.PERMISSION_DENIED, "no"), ErrorKind.POLICY_DENIED),
        (tool_failure(ErrorKind.EVIDENCE_STALE, "changed"), ErrorKind.EVIDENCE_STALE),
        (ExceptionGroup("both", [TimeoutError(), TimeoutError()]), ErrorKind.TIMEOUT),
        (ExceptionGroup("mixed", [TimeoutError(), ValueError()]), ErrorKind.UNKNOWN),
    ],
)
def test_exceptions_have_kinds(error: BaseException, kind: ErrorKind) -> None:
    assert classify(error) is kind


def exceptions_of_http_libraries() -> list[tuple[BaseException, ErrorKind]]:
    import aiohttp  # half a second, which not every process of a run needs
    import httpx

    return [
        (aiohttp.ServerDisconnectedError(), ErrorKind.TRANSIENT_NETWORK),
        (aiohttp.ServerTimeoutError(), ErrorKind.TIMEOUT),
        (httpx.PoolTimeout("full"), ErrorKind.TIMEOUT),
        (httpx.RemoteProtocolError("closed"), ErrorKind.TRANSIENT_NETWORK),
    ]


@rows("error, kind", exceptions_of_http_libraries)
def test_exceptions_of_http_libraries_have_kinds(error: BaseException, kind: ErrorKind) -> None:
    assert classify(error) is kind


def test_what_an_exception_was_raised_from_counts_when_it_says_nothing() -> None:
    def wrap(inner: BaseException, *, hide: bool = False) -> None:
        try:
            raise inner
        except TimeoutError as error:
            raise RuntimeError("it went wrong") from (None if hide else error)

    assert classify(raised_by(lambda: wrap(TimeoutError()))) is ErrorKind.TIMEOUT
    assert classify(raised_by(lambda: wrap(TimeoutError(), hide=True))) is ErrorKind.UNKNOWN
    itself = RuntimeError("it is its own cause")
    itself.__cause__ = itself
    assert classify(itself) is ErrorKind.UNKNOWN


@pytest.fixture(params=DRIVERS)
def sqlite(request: pytest.FixtureRequest) -> Any:
    return importlib.import_module(request.param)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tool.db"


def test_a_locked_database_is_locked(sqlite: Any, path: Path) -> None:
    holder, other = sqlite.connect(path), sqlite.connect(path, timeout=0)
    holder.execute("CREATE TABLE t (a PRIMARY KEY)")
    holder.execute("BEGIN EXCLUSIVE")
    assert classify(raised_by(lambda: other.execute("BEGIN IMMEDIATE"))) is ErrorKind.LOCKED
    holder.close()
    other.close()


def test_a_full_database_is_a_full_disk(sqlite: Any, path: Path) -> None:
    connection = sqlite.connect(path)
    connection.execute("CREATE TABLE t (a)")
    connection.execute("PRAGMA max_page_count = 3")
    error = raised_by(lambda: connection.execute("INSERT INTO t VALUES (zeroblob(100000))"))
    assert classify(error) is ErrorKind.DISK_FULL
    connection.close()


def test_a_damaged_a_foreign_and_a_read_only_database_are_storage(sqlite: Any, path: Path) -> None:
    connection = sqlite.connect(path)
    connection.execute("CREATE TABLE t (a)")
    connection.executemany("INSERT INTO t VALUES (?)", [("x" * 500,)] * 200)
    connection.commit()
    connection.close()
    read_only = sqlite.connect(f"file:{path}?mode=ro", uri=True)
    error = raised_by(lambda: read_only.execute("INSERT INTO t VALUES (1)"))
    assert classify(error) is ErrorKind.STORAGE
    read_only.close()
    content = bytearray(path.read_bytes())
    content[4096:20_000] = b"\xff" * (20_000 - 4096)
    path.write_bytes(content)
    damaged = sqlite.connect(path)
    assert classify(raised_by(lambda: damaged.execute("SELECT * FROM t").fetchall())) is ErrorKind.STORAGE
    damaged.close()
    path.write_bytes(b"this is no database, and it is long enough to be looked at" * 100)
    foreign = sqlite.connect(path)
    assert classify(raised_by(lambda: foreign.execute("SELECT * FROM t"))) is ErrorKind.STORAGE
    foreign.close()
    missing = f"file:{path.parent}/none/x.db"
    assert classify(raised_by(lambda: sqlite.connect(missing, uri=True))) is ErrorKind.STORAGE


def test_a_broken_constraint_is_a_wrong_value_and_wrong_sql_is_unknown(sqlite: Any) -> None:
    connection = sqlite.connect(":memory:")
    connection.execute("CREATE TABLE t (a UNIQUE)")
    connection.execute("INSERT INTO t VALUES (1)")
    assert classify(raised_by(lambda: connection.execute("INSERT INTO t VALUES (1)"))) is ErrorKind.VALIDATION
    assert classify(raised_by(lambda: connection.execute("SELECT * FROM none"))) is ErrorKind.UNKNOWN
    connection.close()


@pytest.mark.parametrize("url", ["example.org/no-scheme", "gopher://example.org", "http://exa\x00mple"])
def test_an_address_that_is_none_is_a_wrong_value_since_nothing_was_sent(url: str) -> None:
    error = raised_by(lambda: fetch_with_httpx(url))
    assert (classify(error), code_for(error)) == (ErrorKind.VALIDATION, ToolErrorCode.VALIDATION_ERROR)


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("OperationalError", "database is locked", ErrorKind.LOCKED),
        ("OperationalError", "database table is locked: t", ErrorKind.LOCKED),
        ("OperationalError", "database or disk is full", ErrorKind.DISK_FULL),
        ("OperationalError", "attempt to write a readonly database", ErrorKind.STORAGE),
        ("OperationalError", "disk I/O error", ErrorKind.STORAGE),
        ("OperationalError", "unable to open database file", ErrorKind.STORAGE),
        ("DatabaseError", "database disk image is malformed", ErrorKind.STORAGE),
        ("DatabaseError", "file is not a database", ErrorKind.STORAGE),
        ("IntegrityError", "UNIQUE constraint failed: t.a", ErrorKind.VALIDATION),
        ("IntegrityError", "datatype mismatch", ErrorKind.VALIDATION),
        ("OperationalError", 'near "SELEC": syntax error', ErrorKind.UNKNOWN),
    ],
)
def test_an_error_that_lost_its_code_is_known_by_its_words(
    sqlite: Any, name: str, text: str, kind: ErrorKind
) -> None:
    assert classify(getattr(sqlite, name)(text)) is kind


def test_the_stores_own_errors_have_the_kinds_of_what_caused_them(tmp_path: Path) -> None:
    broken = tmp_path / "brain.db"
    broken.write_bytes(b"no database at all, but long enough to be looked at" * 100)
    assert classify(raised_by(lambda: open_database(broken))) is ErrorKind.STORAGE


class Hostile(Exception):
    @property
    def status_code(self) -> int:
        raise RuntimeError("no")

    def __str__(self) -> str:
        raise RuntimeError("no")


def test_an_exception_that_raises_when_it_is_looked_at_is_unknown() -> None:
    assert classify(Hostile()) is ErrorKind.UNKNOWN
    verdict = verdict_for(Hostile())
    assert (verdict.kind, verdict.message) == (ErrorKind.UNKNOWN, "Hostile")


ANYTHING = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
SAID = st.dictionaries(
    st.sampled_from(
        ["code", "type", "status", "body", "details", "response", "headers", "retry_after", "status_code"]
    ),
    st.recursive(
        ANYTHING, lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.just("error"), inner)
    ),
)


@settings(max_examples=25)  # dear ones
@given(st.text(), SAID)
def test_every_exception_has_a_kind_and_a_verdict_on_one_line(message: str, said: dict[str, Any]) -> None:
    error = ProviderError(message, **said)
    verdict = verdict_for(error)
    assert verdict.kind is classify(error)
    assert "\n" not in verdict.message
    assert verdict.retry_after_s is None or 0 <= verdict.retry_after_s < float("inf")


@given(st.sampled_from(list(ToolErrorCode)), st.sampled_from(list(ErrorKind)), st.text())
def test_a_mark_refines_a_code_and_never_contradicts_it(
    code: ToolErrorCode, kind: ErrorKind, message: str
) -> None:
    found, rest, _ = marked(code, f"error_kind={kind}: {message}")
    assert CODES[found] is code
    assert rest == message
    assert (found is kind) == (CODES[kind] is code)


@rows("kind", list(ErrorKind))
def test_a_tool_can_say_each_kind(kind: ErrorKind) -> None:
    failure = tool_failure(kind, "what happened", 2.5)
    assert marked(failure.code, str(failure)) == (kind, "what happened", 2.5)
    with pytest.raises(errors.UsageError):
        tool_failure(kind, "x", -1)
