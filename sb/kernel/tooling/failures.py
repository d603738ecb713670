"""Which error code stands for an exception that a tool raised?

Source: the kernel reference, "ToolErrorCode taxonomy". A tool that knows better raises ToolError.
"""

from __future__ import annotations

import socket
import ssl
from typing import Any

from sb.kernel.contracts import ToolError, ToolErrorCode

_BY_STATUS = {
    401: ToolErrorCode.PERMISSION_DENIED,
    403: ToolErrorCode.PERMISSION_DENIED,
    404: ToolErrorCode.NOT_FOUND,
    408: ToolErrorCode.TIMEOUT,
    410: ToolErrorCode.NOT_FOUND,
    429: ToolErrorCode.RATE_LIMITED,
    504: ToolErrorCode.TIMEOUT,
}
# The first entry that fits decides, so that a subclass comes before its base.
_BY_TYPE: tuple[tuple[type[BaseException], ToolErrorCode], ...] = (
    (TimeoutError, ToolErrorCode.TIMEOUT),
    (FileNotFoundError, ToolErrorCode.NOT_FOUND),
    (PermissionError, ToolErrorCode.PERMISSION_DENIED),
    (ConnectionError, ToolErrorCode.NETWORK_ERROR),
    (socket.gaierror, ToolErrorCode.NETWORK_ERROR),
    (ssl.SSLError, ToolErrorCode.NETWORK_ERROR),
    (ValueError, ToolErrorCode.VALIDATION_ERROR),
)
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


def code_for(error: BaseException) -> ToolErrorCode:
    """The code of an exception; a chained cause counts when the exception itself says nothing."""
    if isinstance(error, ToolError):
        return error.code
    status = http_status(error)
    if status is not None:
        return _BY_STATUS.get(
            status, ToolErrorCode.NETWORK_ERROR if status >= 500 else ToolErrorCode.UNEXPECTED
        )
    for kind, code in _BY_TYPE:
        if isinstance(error, kind):
            return code
    if isinstance(error.__cause__, OSError):
        return code_for(error.__cause__)
    return ToolErrorCode.UNEXPECTED


def may_retry(error: BaseException) -> bool:
    """Whether another attempt could help: always (kernel reference, step 5) unless the tool itself said no."""
    return not (isinstance(error, ToolError) and error.code in _PERMANENT)


def message_for(error: BaseException) -> str:
    """One line that names the failure."""
    if isinstance(error, SystemExit):
        return f"the tool tried to end the process (exit {error.code})"
    text = " ".join(str(error).split())
    if isinstance(error, ToolError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
