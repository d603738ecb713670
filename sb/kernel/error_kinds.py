"""Kinds of failure, and how a tool names the one it means.

What failed is kept apart from what to do about it, which is `sb.kernel.compensation.dispatcher`'s question. Source: the survival
layer, section 2.
"""

from __future__ import annotations

import re
from enum import StrEnum

from sb.errors import UsageError
from sb.kernel.contracts import ToolError, ToolErrorCode


class ErrorKind(StrEnum):
    """Kind of a failure.

    IDEMPOTENCY_CONFLICT: the same request was accepted before. EVIDENCE_STALE: what the call was based on has changed.
    CONTENT_FILTER, REFUSAL: a model's provider, or the model, said no. AUTH: credentials, permissions or the account's
    quota. BUDGET: the run's own limits. LOCKED: somebody else holds it for a moment. STORAGE: a disk or database that
    is damaged or cannot be written. PARTIAL_EFFECT: a part of it happened. UNUSABLE_RESULT: it happened, and its answer
    cannot be used.
    """

    IDEMPOTENCY_CONFLICT = "idempotency_conflict"
    EVIDENCE_STALE = "evidence_stale"
    POLICY_DENIED = "policy_denied"
    CONTENT_FILTER = "content_filter"
    REFUSAL = "refusal"
    TIMEOUT = "timeout"
    TRANSIENT_NETWORK = "transient_network"
    RATE_LIMITED = "rate_limited"
    SERVER = "server"
    VALIDATION = "validation"
    NOT_FOUND = "not_found"
    AUTH = "auth"
    BUDGET = "budget"
    CONTEXT_LENGTH = "context_length"
    LOCKED = "locked"
    DISK_FULL = "disk_full"
    STORAGE = "storage"
    PARTIAL_EFFECT = "partial_effect"
    UNUSABLE_RESULT = "unusable_result"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


# A kind refines one code and contradicts none: no text that a tool passes on can make a denied call look transient,
# or one in doubt look like one that never happened.
CODES: dict[ErrorKind, ToolErrorCode] = {
    ErrorKind.IDEMPOTENCY_CONFLICT: ToolErrorCode.VALIDATION_ERROR,
    ErrorKind.EVIDENCE_STALE: ToolErrorCode.VALIDATION_ERROR,
    ErrorKind.POLICY_DENIED: ToolErrorCode.PERMISSION_DENIED,
    ErrorKind.CONTENT_FILTER: ToolErrorCode.PERMISSION_DENIED,
    ErrorKind.REFUSAL: ToolErrorCode.PERMISSION_DENIED,
    ErrorKind.TIMEOUT: ToolErrorCode.TIMEOUT,
    ErrorKind.TRANSIENT_NETWORK: ToolErrorCode.NETWORK_ERROR,
    ErrorKind.RATE_LIMITED: ToolErrorCode.RATE_LIMITED,
    ErrorKind.SERVER: ToolErrorCode.NETWORK_ERROR,
    ErrorKind.VALIDATION: ToolErrorCode.VALIDATION_ERROR,
    ErrorKind.NOT_FOUND: ToolErrorCode.NOT_FOUND,
    ErrorKind.AUTH: ToolErrorCode.PERMISSION_DENIED,
    ErrorKind.BUDGET: ToolErrorCode.BUDGET_EXCEEDED,
    ErrorKind.CONTEXT_LENGTH: ToolErrorCode.VALIDATION_ERROR,
    ErrorKind.LOCKED: ToolErrorCode.UNEXPECTED,
    ErrorKind.DISK_FULL: ToolErrorCode.UNEXPECTED,
    ErrorKind.STORAGE: ToolErrorCode.UNEXPECTED,
    ErrorKind.PARTIAL_EFFECT: ToolErrorCode.UNEXPECTED,
    ErrorKind.UNUSABLE_RESULT: ToolErrorCode.VALIDATION_ERROR,
    ErrorKind.CANCELLED: ToolErrorCode.UNEXPECTED,
    ErrorKind.UNKNOWN: ToolErrorCode.UNEXPECTED,
}
KINDS: dict[ToolErrorCode, ErrorKind] = {
    ToolErrorCode.NOT_FOUND: ErrorKind.NOT_FOUND,
    ToolErrorCode.PERMISSION_DENIED: ErrorKind.POLICY_DENIED,
    ToolErrorCode.TIMEOUT: ErrorKind.TIMEOUT,
    ToolErrorCode.VALIDATION_ERROR: ErrorKind.VALIDATION,
    ToolErrorCode.NETWORK_ERROR: ErrorKind.TRANSIENT_NETWORK,
    ToolErrorCode.RATE_LIMITED: ErrorKind.RATE_LIMITED,
    ToolErrorCode.BUDGET_EXCEEDED: ErrorKind.BUDGET,
    ToolErrorCode.UNEXPECTED: ErrorKind.UNKNOWN,
}
_MARK = re.compile(r"error_kind=([a-z_]+)(?: retry_after_s=([0-9]{1,6}(?:\.[0-9]{1,3})?))?: ")


def tool_failure(kind: ErrorKind, message: str, retry_after_s: float | None = None) -> ToolError:
    """The exception by which a tool says exactly what failed: the message is all of a failure that the log keeps.

    Args:
        message: one line for the agent; ``error_kind=<kind>: `` goes in front of it.
        retry_after_s: seconds that the other side asked to wait.

    Raises:
        UsageError: the wait is not a number of seconds from 0 to 999 999.
    """
    if retry_after_s is None:
        return ToolError(CODES[kind], f"error_kind={kind}: {message}")
    if not 0 <= retry_after_s <= 999_999:
        raise UsageError(f"retry_after_s is {retry_after_s!r}, must be seconds from 0 to 999999")
    return ToolError(CODES[kind], f"error_kind={kind} retry_after_s={retry_after_s:.3f}: {message}")


def marked(code: ToolErrorCode | None, message: str) -> tuple[ErrorKind, str, float | None]:
    """The kind, message without its mark, and seconds to wait (None: not given) of a failed call.

    A mark that contradicts the code is not believed.
    """
    plain_kind = ErrorKind.UNKNOWN if code is None else KINDS.get(code, ErrorKind.UNKNOWN)
    mark = _MARK.match(message)
    if mark is None or mark[1] not in list(ErrorKind):
        return plain_kind, message, None
    rest = message[mark.end() :]
    kind = ErrorKind(mark[1])
    if CODES[kind] is not code:
        return plain_kind, rest, None
    return kind, rest, None if mark[2] is None else float(mark[2])
