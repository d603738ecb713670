"""How is one HTTP request made to an address that was checked, within a deadline?"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sb.kernel.contracts import ToolError, ToolErrorCode
from sb.tools.egress import normal_host
from sb.tools.failures import invalid

if TYPE_CHECKING:
    import socket
    import ssl

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


@dataclass(frozen=True)
class Target:
    """Where one request goes.

    Args:
        resource: path and query.
    """

    scheme: str
    host: str
    port: int
    resource: str

    @classmethod
    def parse(cls, url: str | bytes) -> Target:
        """Read an absolute http or https URL; raises ToolError (VALIDATION_ERROR)."""
        from urllib.parse import quote, urlsplit

        text = quote(url, safe=_URL_CHARACTERS) if _is_clean(url) else ""
        try:
            parts = urlsplit(text)
            port = parts.port
        except ValueError:
            raise invalid("the URL is malformed") from None
        if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
            raise invalid("the URL must begin with http:// or https:// and a host")
        if "@" in parts.netloc:
            raise invalid("the URL must not carry a user name or password")
        try:
            host = normal_host(parts.hostname)
        except ValueError:
            raise invalid("the host of the URL is malformed; write international names as xn--...") from None
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

    def joined(self, location: str) -> Target:
        """Where a Location header leads from here; raises ToolError."""
        from urllib.parse import urljoin

        # Header values arrive decoded as Latin-1, whatever bytes they were.
        clean = location.encode("latin-1", "replace")
        return Target.parse(urljoin(self.url.encode("ascii"), clean))
