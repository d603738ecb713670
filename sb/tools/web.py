"""One HTTP request to a checked address, within a deadline."""

from __future__ import annotations

import errno
import io
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from sb.base.values.frozen import frozen
from sb.config.host_patterns import normal_host
from sb.tools.failures import invalid

if TYPE_CHECKING:
    import http.client
    import socket
    import ssl

    from _typeshed import WriteableBuffer

Resolver = Callable[..., Iterable[tuple[Any, ...]]]
"""`socket.getaddrinfo`, or something that takes (host, port, type=...) and answers in the same form."""

_CONNECT_S = 5.0  # for one address, so that an unreachable one leaves time for the next
_URL_CHARACTERS = "%/:=&?~#+!$,;'@()*[]"  # already have a meaning in a URL; all others are percent-encoded
_DEFAULT_PORTS = {"http": 80, "https": 443}


class Deadline:
    """A point in time `seconds` from now."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def remaining(self) -> float:
        """Seconds left; raises TimeoutError when there are none."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left


@frozen
class Target:
    """The target of one request.

    Args:
        resource: path and query.
    """

    scheme: str
    host: str
    port: int
    resource: str

    @classmethod
    def parse(cls, url: str) -> Target:
        """Read an absolute http or https URL; raises ToolError (VALIDATION_ERROR)."""
        from urllib.parse import quote, urlsplit

        try:
            parts = urlsplit(quote(_without_controls(url), safe=_URL_CHARACTERS))
            port = parts.port
        except ValueError:
            raise invalid("the URL is malformed") from None
        if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
            raise invalid("the URL must begin with http:// or https:// and a host")
        if "@" in parts.netloc:
            raise invalid("the URL must not carry a user name or password")
        host = normal_host(parts.hostname)
        if host is None:
            raise invalid("the host of the URL is malformed; write international names as xn--...")
        resource = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return cls(parts.scheme, host, _DEFAULT_PORTS[parts.scheme] if port is None else port, resource)

    @property
    def authority(self) -> str:
        """Host and port as the Host header has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def site(self) -> str:
        """Scheme and authority: all of a URL that is fit for a message, since the rest may hold secrets."""
        return f"{self.scheme}://{self.authority}"

    @property
    def url(self) -> str:
        return self.site + self.resource

    def redirected(self, location: str) -> Target:
        """The target of a Location header; raises ToolError (VALIDATION_ERROR)."""
        from urllib.parse import quote, urljoin

        try:
            # Header values arrive decoded as Latin-1, whatever bytes they were.
            reference = quote(_without_controls(location).encode("latin-1"), safe=_URL_CHARACTERS)
            url = urljoin(self.url, reference)
        except ValueError:
            raise invalid("the URL is malformed") from None
        return Target.parse(url)


def _without_controls(url: str) -> str:
    """The URL itself; raises ValueError if it holds characters that parsers silently drop or that end a line."""
    if any(character < " " or character == "\x7f" for character in url):
        raise ValueError("a control character")
    return url


@contextmanager
def get(
    target: Target, addresses: Iterable[tuple[Any, ...]], deadline: Deadline, context: ssl.SSLContext | None
) -> Iterator[http.client.HTTPResponse]:
    """Send GET to the first reachable address and return the response, its body unread.

    Args:
        addresses: in the form of `socket.getaddrinfo`; nothing is resolved here.
        context: for https.

    Raises:
        TimeoutError: the deadline passed, also while the body is read.
        OSError, http.client.HTTPException: the connection or the answer failed.
    """
    import http.client

    with ExitStack() as stack:
        connected: socket.socket = stack.enter_context(_connect(addresses, deadline))
        if context is not None:
            connected.settimeout(deadline.remaining())
            connected = stack.enter_context(context.wrap_socket(connected, server_hostname=target.host))
        connection = http.client.HTTPConnection(target.host, target.port)
        connection.sock = _TimedSocket(connected, deadline)
        connection.request(
            "GET",
            target.resource,
            headers={
                "Host": target.authority,
                "User-Agent": "SecondBrain",
                "Accept": "*/*",
                "Accept-Encoding": "identity",
                "Connection": "close",
            },
        )
        yield stack.enter_context(connection.getresponse())


def _connect(addresses: Iterable[tuple[Any, ...]], deadline: Deadline) -> socket.socket:
    failure: OSError = OSError("no address")
    for entry in addresses:
        patience = min(deadline.remaining(), _CONNECT_S)
        try:
            return _connect_to(entry, patience)
        except OSError as error:
            failure = error
    raise failure


def _connect_to(entry: tuple[Any, ...], patience: float) -> socket.socket:
    import socket

    family, kind, protocol, _, address = entry
    with ExitStack() as undo:
        connection = undo.enter_context(socket.socket(family, kind, protocol))
        connection.settimeout(patience)
        connection.connect(address)
        undo.pop_all()
        return connection


class _TimedSocket:
    """Socket for http.client: every wait is bounded by the deadline of the whole call.

    A socket's own timeout begins anew with every packet, so a server that sends a byte now and then would never
    exceed it.
    """

    def __init__(self, connected: socket.socket, deadline: Deadline) -> None:
        self._socket = connected
        self._deadline = deadline

    def sendall(self, data: bytes) -> None:
        self._socket.settimeout(self._deadline.remaining())
        self._socket.sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        return _WholeLines(_TimedReader(self._socket, self._deadline))

    def close(self) -> None:
        """Nothing: http.client closes before the body is read; `get` owns the socket."""


class _TimedReader(io.RawIOBase):
    def __init__(self, connected: socket.socket, deadline: Deadline) -> None:
        self._socket = connected
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        self._socket.settimeout(self._deadline.remaining())
        return self._socket.recv_into(buffer)


class _WholeLines(io.BufferedReader):
    """http.client takes the end of the stream for the end of the header: a cut answer would pass as an empty one."""

    def readline(self, size: int | None = -1) -> bytes:
        line = super().readline(size)
        if not line:
            raise ConnectionResetError(errno.ECONNRESET, "the connection closed before the answer was whole")
        return line
