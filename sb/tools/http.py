"""http.get: fetch a page from an allowed host."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from sb.base.sources import SYSTEM_CLOCK
from sb.config.groups import Http
from sb.kernel.contracts import (
    ReversalClass,
    ReversalSpec,
    SafetyClass,
    ToolArgSchema,
    ToolError,
    ToolErrorCode,
    ToolReturnSchema,
)
from sb.kernel.error_kinds import ErrorKind, tool_failure
from sb.kernel.registry.registry import ToolRegistry
from sb.tools.content import byte_limit, to_content
from sb.tools.egress import is_public, names, permits
from sb.tools.failures import denied, display
from sb.tools.web import Deadline, Resolver, Target, get

if TYPE_CHECKING:
    import http.client
    import ssl

_TIMEOUT_MS = 30_000
_DEADLINE_S = (
    25.0  # for one call with its redirects, below the contract's limit, so that it can say what it waited for
)
_LONGEST_WAIT_S = 86_400.0  # that a server may ask for
_MAX_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_HEADERS = ("content-type", "content-encoding", "content-language", "etag", "last-modified")


def register_http(registry: ToolRegistry, settings: Http) -> None:
    """Register http.get."""
    registry.register_fn(
        "http.get",
        "Fetch a URL",
        HttpGet(settings).get,
        SafetyClass.NETWORK,
        "Fetch a URL by GET from an allowed host (the setting http.allow), following up to five redirects. No "
        "cookies, credentials or request headers are sent. Text comes back as it is, other bytes as base64.",
        idempotent=True,
        args_schema=[
            ToolArgSchema(
                "url", description="An absolute http or https URL, without user name and password."
            ),
            ToolArgSchema(
                "max_bytes",
                "integer",
                required=False,
                description="Return at most this many bytes of the body (default and most: the setting "
                "http.max_bytes).",
            ),
        ],
        returns_schema=ToolReturnSchema(
            "object",
            "url (after redirects), status, headers, content, encoding (utf-8 or base64), bytes (in content), "
            "truncated (the body is longer)",
        ),
        timeout_ms=_TIMEOUT_MS,
        reversal=ReversalSpec(ReversalClass.REVERSIBLE),  # GET is safe: RFC 9110, section 9.2.1
    )


class HttpGet:
    """The function of http.get.

    Args:
        resolver: instead of `socket.getaddrinfo`.
        deadline_s: seconds for one call with its redirects.
    """

    def __init__(
        self, settings: Http, resolver: Resolver | None = None, *, deadline_s: float = _DEADLINE_S
    ) -> None:
        self._settings = settings
        self._resolver = resolver
        self._deadline_s = deadline_s
        self._context: ssl.SSLContext | None = None
        self._lock = threading.Lock()

    def get(self, url: str, max_bytes: float | None = None) -> dict[str, Any]:
        """Fetch a URL.

        Raises:
            ToolError: VALIDATION_ERROR for an unusable URL or a request that the server calls wrong;
                PERMISSION_DENIED off the allowlist, at a private address, or by the server; NOT_FOUND;
                RATE_LIMITED; TIMEOUT; NETWORK_ERROR for everything on the way and for a server's failure.
        """
        limit = byte_limit(max_bytes, self._settings.max_bytes)
        deadline = Deadline(self._deadline_s)
        target = Target.parse(url)
        for _ in range(_MAX_REDIRECTS + 1):
            found = self._fetch(target, deadline, limit)
            if not isinstance(found, Target):
                return found
            if target.scheme == "https" and found.scheme == "http":
                raise denied(f"{target.site} redirects to {found.site}, which is not encrypted")
            target = found
        raise _network_error(target, f"more than {_MAX_REDIRECTS} redirects")

    def _fetch(self, target: Target, deadline: Deadline, limit: int) -> dict[str, Any] | Target:
        """The result, or the address that the server redirects to."""
        import http.client

        addresses = self._checked_addresses(target)
        context = self._tls() if target.scheme == "https" else None
        try:
            with get(target, addresses, deadline, context) as response:
                location = response.headers["Location"]
                if response.status in _REDIRECTS and location:
                    return _redirected(target, location)
                _require_success(target, response)
                return _result(target, response, limit)
        except TimeoutError:
            raise ToolError(ToolErrorCode.TIMEOUT, f"{target.site} did not answer in time") from None
        except OSError as error:
            raise _network_error(target, error.strerror or type(error).__name__) from error
        except http.client.HTTPException as error:
            raise _network_error(target, f"not a valid HTTP answer ({type(error).__name__})") from error

    def _checked_addresses(self, target: Target) -> list[tuple[Any, ...]]:
        """Every address of the host, resolved once; refused if one is not allowed."""
        import socket

        if not permits(self._settings.allow, target.host, target.port):
            raise denied(f"{target.host}:{target.port} is not in the setting http.allow")
        resolve = self._resolver or socket.getaddrinfo
        try:
            found = list(resolve(target.host, target.port, type=socket.SOCK_STREAM))
        except OSError as error:
            raise _network_error(target, f"cannot resolve the host: {error.strerror}") from error
        addresses = [entry for entry in found if entry[0] in (socket.AF_INET, socket.AF_INET6)]
        if not addresses:
            raise _network_error(target, "the host has no address")
        if not names(self._settings.allow, target.host, target.port):
            for entry in addresses:
                if not is_public(entry[4][0]):
                    raise denied(
                        f"{target.host} resolves to the private address {entry[4][0]}; only an entry "
                        f'"{target.host}:{target.port}" in the setting http.allow permits that'
                    )
        return addresses

    def _tls(self) -> ssl.SSLContext:
        """The TLS context, made once since loading certificates takes tens of milliseconds."""
        import ssl

        with self._lock:
            if self._context is None:
                self._context = ssl.create_default_context()
            return self._context


def _network_error(target: Target, reason: str) -> ToolError:
    return ToolError(ToolErrorCode.NETWORK_ERROR, display(f"{target.site}: {reason}"))


def _redirected(target: Target, location: str) -> Target:
    try:
        return target.redirected(location)
    except ToolError as error:
        raise _network_error(target, f"it redirects to where no request can go: {error}") from None


def _require_success(target: Target, response: http.client.HTTPResponse) -> None:
    status = response.status
    if 200 <= status < 300:
        return
    message = f"{target.site} answered with HTTP status {status}"
    if status == 429:
        from sb.kernel.error_classifier.provider_errors import asked_to_wait

        wait_s = asked_to_wait(response.headers, SYSTEM_CLOCK.now())
        raise tool_failure(
            ErrorKind.RATE_LIMITED, message, wait_s if wait_s is None else min(wait_s, _LONGEST_WAIT_S)
        )
    from sb.kernel.error_classifier.http_statuses import status_code

    refused = status_code(status, ToolErrorCode.VALIDATION_ERROR)
    raise ToolError(ToolErrorCode.NETWORK_ERROR if status >= 500 else refused, message)


def _result(target: Target, response: http.client.HTTPResponse, limit: int) -> dict[str, Any]:
    data = response.read(limit + 1)
    if len(data) <= limit and response.length:
        raise _network_error(target, "the connection closed before the whole body had arrived")
    headers = {name: response.headers[name] for name in _HEADERS if name in response.headers}
    return {
        "url": target.url,
        "status": response.status,
        "headers": headers,
        **to_content(data, limit).fields(),
    }
