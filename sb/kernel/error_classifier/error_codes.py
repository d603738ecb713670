"""Map an exception that a tool raised to an error code.

Source: the kernel reference, "ToolErrorCode taxonomy". A tool that knows better raises ToolError.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator
from typing import Any

from sb.kernel.contracts import ToolError, ToolErrorCode
from sb.kernel.error_classifier.http_statuses import status_code
from sb.kernel.registry.workers import DeadlineExceeded

_UNREACHABLE = {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN}
# Loaded only by who uses them: module, class, code.
_BY_NAME = (
    ("socket", "gaierror", ToolErrorCode.NETWORK_ERROR),
    ("ssl", "SSLError", ToolErrorCode.NETWORK_ERROR),
    ("subprocess", "TimeoutExpired", ToolErrorCode.TIMEOUT),
    ("asyncio", "CancelledError", ToolErrorCode.TIMEOUT),
    ("concurrent.futures", "CancelledError", ToolErrorCode.TIMEOUT),
    ("http.client", "HTTPException", ToolErrorCode.NETWORK_ERROR),
    ("urllib.error", "URLError", ToolErrorCode.NETWORK_ERROR),
    ("httpx", "InvalidURL", ToolErrorCode.VALIDATION_ERROR),
    ("httpx", "UnsupportedProtocol", ToolErrorCode.VALIDATION_ERROR),  # of the URL: nothing was sent
    ("httpx", "TimeoutException", ToolErrorCode.TIMEOUT),
    ("httpx", "TransportError", ToolErrorCode.NETWORK_ERROR),
    ("httpx2", "InvalidURL", ToolErrorCode.VALIDATION_ERROR),
    ("httpx2", "UnsupportedProtocol", ToolErrorCode.VALIDATION_ERROR),
    ("httpx2", "TimeoutException", ToolErrorCode.TIMEOUT),
    ("httpx2", "TransportError", ToolErrorCode.NETWORK_ERROR),
    ("openai", "APITimeoutError", ToolErrorCode.TIMEOUT),
    ("openai", "APIConnectionError", ToolErrorCode.NETWORK_ERROR),
    ("anthropic", "APITimeoutError", ToolErrorCode.TIMEOUT),
    ("anthropic", "APIConnectionError", ToolErrorCode.NETWORK_ERROR),
    ("requests.exceptions", "Timeout", ToolErrorCode.TIMEOUT),
    ("requests.exceptions", "ConnectionError", ToolErrorCode.NETWORK_ERROR),
    ("requests.exceptions", "ChunkedEncodingError", ToolErrorCode.NETWORK_ERROR),
    ("aiohttp", "ServerTimeoutError", ToolErrorCode.TIMEOUT),
    ("aiohttp", "ClientConnectionError", ToolErrorCode.NETWORK_ERROR),
    ("aiohttp", "ClientPayloadError", ToolErrorCode.NETWORK_ERROR),
)
# The first entry that fits decides, so that a subclass comes before its base.
_BY_TYPE: tuple[tuple[type[BaseException], ToolErrorCode], ...] = (
    (TimeoutError, ToolErrorCode.TIMEOUT),
    (FileNotFoundError, ToolErrorCode.NOT_FOUND),
    (PermissionError, ToolErrorCode.PERMISSION_DENIED),
    (ConnectionError, ToolErrorCode.NETWORK_ERROR),
    (ValueError, ToolErrorCode.VALIDATION_ERROR),
)
_LONGEST_CHAIN = 8
_PERMANENT = {ToolErrorCode.NOT_FOUND, ToolErrorCode.PERMISSION_DENIED, ToolErrorCode.VALIDATION_ERROR}


def http_status(error: BaseException) -> int | None:
    """The HTTP status that an exception of a client library carries, as `status_code` or on its response."""
    holders: tuple[Any, ...] = (error, getattr(error, "response", None))
    for holder in holders:
        for name in ("status_code", "status", "code"):
            status = getattr(holder, name, None)
            if isinstance(status, int) and 400 <= status <= 599:
                return status
    return None


def is_instance(error: BaseException, module: str, name: str) -> bool:
    """True if it is of this class, without importing the module that has it."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(error, kind)


def causes(error: BaseException) -> Iterator[BaseException]:
    """The exception, and what it was raised from, outermost first."""
    seen: BaseException | None = error
    for _ in range(_LONGEST_CHAIN):
        if seen is None:
            return
        yield seen
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)


def code_for(error: BaseException) -> ToolErrorCode:
    """The code of an exception; what it was raised from counts when it says nothing itself.

    A timeout or a lost connection leaves the effect unknown, so it must not hide behind a wrapper.
    """
    for exception in causes(error):
        code = own_code(exception)
        if code is not None:
            return code
    return ToolErrorCode.UNEXPECTED


def own_code(error: BaseException) -> ToolErrorCode | None:
    """The code of an exception without what it was raised from; None when it says nothing."""
    if isinstance(error, ToolError):
        return error.code
    status = http_status(error)
    if status is not None:
        return status_code(status)
    for module, name, code in _BY_NAME:
        if is_instance(error, module, name):
            return code
    for kind, code in _BY_TYPE:
        if isinstance(error, kind):
            return code
    if isinstance(error, OSError) and error.errno in _UNREACHABLE:
        return ToolErrorCode.NETWORK_ERROR
    return None


def may_retry(error: BaseException) -> bool:
    """True if another attempt could help: always (kernel reference, step 5), unless the tool itself said no, or the
    attempt before hangs and would run beside it."""
    return not isinstance(error, DeadlineExceeded) and not (
        isinstance(error, ToolError) and error.code in _PERMANENT
    )


def message_for(error: BaseException) -> str:
    """One line that names the failure."""
    if isinstance(error, SystemExit):
        return f"the tool tried to end the process (exit {error.code})"
    text = " ".join(str(error).split())
    if isinstance(error, ToolError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
