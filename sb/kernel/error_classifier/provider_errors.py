"""Read errors of model providers and HTTP clients: kind of failure, and seconds to wait.

Read by what the objects have, never by importing a client library: words in a body or on the exception first, since
they say more than a status, then the status.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from sb.kernel.error_classifier.error_codes import http_status
from sb.kernel.error_classifier.http_statuses import status_kind
from sb.kernel.error_kinds import ErrorKind

_WORDS = {
    ErrorKind.IDEMPOTENCY_CONFLICT: (
        "idempotency_conflict idempotency_error idempotency_key_in_use already_exists duplicate_request already_processed"
    ),
    ErrorKind.EVIDENCE_STALE: (
        "evidence_stale precondition_failed failed_precondition conditionalcheckfailedexception version_conflict "
        "etag_mismatch aborted"
    ),
    ErrorKind.POLICY_DENIED: "policy_denied policy_violation",
    ErrorKind.CONTENT_FILTER: (
        "content_filter content_policy_violation responsibleaipolicyviolation moderation_blocked prohibited_content"
    ),
    ErrorKind.REFUSAL: "refusal",
    ErrorKind.TIMEOUT: "timeout timeout_error deadline_exceeded request_timeout",
    ErrorKind.RATE_LIMITED: (
        "rate_limit_exceeded rate_limit_error rate_limited too_many_requests resource_exhausted throttlingexception "
        "throttling"
    ),
    ErrorKind.SERVER: "server_error internal_server_error api_error overloaded_error unavailable internal",
    ErrorKind.VALIDATION: "invalid_argument out_of_range",
    ErrorKind.NOT_FOUND: "not_found not_found_error model_not_found",
    ErrorKind.AUTH: (
        "invalid_api_key authentication_error permission_error permission_denied unauthenticated insufficient_quota "
        "billing_error billing_hard_limit_reached billing_not_active quota_exceeded"
    ),
    ErrorKind.CONTEXT_LENGTH: (
        "context_length_exceeded request_too_large string_above_max_length model_context_window_exceeded"
    ),
    ErrorKind.CANCELLED: "cancelled",
}
_KIND_OF_WORD = {word: kind for kind, words in _WORDS.items() for word in words.split()}
# Some providers tell these apart only in the text of a 400.
_SAID_IN_400 = (
    (
        re.compile(
            r"prompt is too long|maximum context length|context window|too many tokens", re.IGNORECASE
        ),
        ErrorKind.CONTEXT_LENGTH,
    ),
    (
        re.compile(r"content filter|content management policy|blocked by .{0,40}policy", re.IGNORECASE),
        ErrorKind.CONTENT_FILTER,
    ),
    (re.compile(r"credit balance|insufficient (?:funds|quota)", re.IGNORECASE), ErrorKind.AUTH),
)
_DEEPEST = 4
_LARGEST_BODY = 1 << 16
_LONGEST_TEXT = 2_000


def provider_kind(error: BaseException) -> ErrorKind | None:
    """The kind that a provider's exception states; None for other exceptions."""
    for word in _words(error):
        kind = _KIND_OF_WORD.get(word.lower().replace("-", "_"))
        if kind is not None:
            return kind
    status = http_status(error)
    if status is None:
        return None
    if status == 400:
        response: Any = getattr(error, "response", None)
        text = str(error)[:_LONGEST_TEXT] + (response.text[:_LONGEST_TEXT] if _is_read(response) else "")
        return next((kind for pattern, kind in _SAID_IN_400 if pattern.search(text)), ErrorKind.VALIDATION)
    return status_kind(status)


def retry_after_s(error: BaseException, now: float) -> float | None:
    """Seconds that the other side asked to wait before another attempt, None if it did not.

    Args:
        now: seconds since the epoch, for a Retry-After that is a date.
    """
    for holder in (error, getattr(error, "response", None)):
        seconds = asked_to_wait(getattr(holder, "headers", None), now)
        if seconds is not None:
            return seconds
    return _seconds(getattr(error, "retry_after", None))


def asked_to_wait(headers: Any, now: float) -> float | None:
    """`retry_after_s` of an answer's headers."""
    if not callable(getattr(headers, "get", None)):
        return None
    milliseconds = _seconds(_header(headers, "retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = _header(headers, "retry-after")
    seconds = _seconds(value)
    return _until(value, now) if seconds is None and isinstance(value, str) else seconds


def _header(headers: Any, name: str) -> Any:
    return headers.get(name) or headers.get(name.title())


def _seconds(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        seconds = float(value)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _until(date: str, now: float) -> float | None:
    from email.utils import parsedate_to_datetime

    try:
        return max(parsedate_to_datetime(date).timestamp() - now, 0.0)
    except (ValueError, OverflowError):
        return None


def _words(error: BaseException) -> Iterator[str]:
    """The short names of what happened, the most specific first."""
    response = getattr(error, "response", None)
    for body in (getattr(error, "body", None), getattr(error, "details", None), response, _json_of(response)):
        yield from _words_in(body, _DEEPEST)
    for name in ("code", "type", "status"):
        value = getattr(error, name, None)
        if name == "code" and callable(value):  # gRPC
            value = getattr(value(), "name", None)
        if isinstance(value, str):
            yield value


def _words_in(body: Any, depth: int) -> Iterator[str]:
    if not isinstance(body, Mapping) or depth == 0:
        return
    for name in ("error", "Error", "innererror"):
        yield from _words_in(body.get(name), depth - 1)
    for name in ("code", "Code", "type", "status"):
        if isinstance(body.get(name), str):
            yield body[name]


def _is_read(response: Any) -> bool:
    """True if a body is there and small: asking for one that was not read would wait for the network."""
    read = getattr(response, "is_stream_consumed", getattr(response, "_content_consumed", False))
    return read is True and len(response.content) <= _LARGEST_BODY


def _json_of(response: Any) -> Any:
    if not _is_read(response):
        return None
    try:
        return response.json()
    except ValueError:
        return None
