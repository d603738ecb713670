"""HTTP statuses as kinds of failure and as error codes."""

from __future__ import annotations

from sb.kernel.error_kinds import CODES, ErrorKind
from sb.kernel.results import ToolErrorCode

_KINDS = {
    401: ErrorKind.AUTH,
    402: ErrorKind.AUTH,
    403: ErrorKind.AUTH,
    404: ErrorKind.NOT_FOUND,
    407: ErrorKind.AUTH,
    408: ErrorKind.TIMEOUT,
    409: ErrorKind.IDEMPOTENCY_CONFLICT,  # what stands in the way may be the same request: never repeated
    410: ErrorKind.NOT_FOUND,
    412: ErrorKind.EVIDENCE_STALE,
    413: ErrorKind.CONTEXT_LENGTH,
    423: ErrorKind.LOCKED,
    425: ErrorKind.TRANSIENT_NETWORK,
    429: ErrorKind.RATE_LIMITED,
    451: ErrorKind.POLICY_DENIED,
    501: ErrorKind.UNKNOWN,
    504: ErrorKind.TIMEOUT,
    505: ErrorKind.UNKNOWN,
    507: ErrorKind.DISK_FULL,
}
_CERTAIN = (401, 403, 404, 408, 410, 429, 504)  # what each server means the same by, whoever asked


def status_kind(status: int) -> ErrorKind:
    """The kind of failure that a status from 400 stands for."""
    return _KINDS.get(status, ErrorKind.SERVER if status >= 500 else ErrorKind.VALIDATION)


def status_code(status: int, other: ToolErrorCode = ToolErrorCode.UNEXPECTED) -> ToolErrorCode:
    """The error code that a status from 400 stands for.

    Args:
        other: of a request that was refused for a reason that the status leaves open.
    """
    if status in _CERTAIN:
        return CODES[_KINDS[status]]
    return ToolErrorCode.NETWORK_ERROR if status >= 500 else other
