"""Verdicts on failures: what failed, and what should be done about it.

Failed results and exceptions get the same verdicts. Source: the survival layer, section 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from sb.base.secrets.redaction import one_line
from sb.base.sources import SYSTEM_CLOCK, Clock
from sb.base.values.frozen import frozen
from sb.errors import UsageError
from sb.kernel.contracts import ToolError, ToolResult
from sb.kernel.error_classifier.classifier import classify
from sb.kernel.error_classifier.error_codes import causes, message_for
from sb.kernel.error_classifier.provider_errors import retry_after_s
from sb.kernel.error_kinds import ErrorKind, marked
from sb.kernel.results import Effect

LONGEST_MESSAGE = 500  # characters


class CompensationAction(StrEnum):
    """Action for a failure."""

    RETRY_WITH_BACKOFF = "retry_with_backoff"
    REFRESH_EVIDENCE = "refresh_evidence"
    DEPRECATE_AND_REPLAN = "deprecate_and_replan"
    ESCALATE_TO_HUMAN = "escalate_to_human"
    REVERSE = "reverse"
    REPLAN = "replan"
    ABORT = "abort"


PLAYBOOK: Mapping[ErrorKind, CompensationAction] = MappingProxyType(
    {
        ErrorKind.IDEMPOTENCY_CONFLICT: CompensationAction.DEPRECATE_AND_REPLAN,
        ErrorKind.EVIDENCE_STALE: CompensationAction.REFRESH_EVIDENCE,
        ErrorKind.POLICY_DENIED: CompensationAction.ESCALATE_TO_HUMAN,
        ErrorKind.CONTENT_FILTER: CompensationAction.ESCALATE_TO_HUMAN,
        ErrorKind.REFUSAL: CompensationAction.ESCALATE_TO_HUMAN,
        ErrorKind.TIMEOUT: CompensationAction.RETRY_WITH_BACKOFF,
        ErrorKind.TRANSIENT_NETWORK: CompensationAction.RETRY_WITH_BACKOFF,
        ErrorKind.RATE_LIMITED: CompensationAction.RETRY_WITH_BACKOFF,
        ErrorKind.SERVER: CompensationAction.RETRY_WITH_BACKOFF,
        ErrorKind.VALIDATION: CompensationAction.REPLAN,
        ErrorKind.NOT_FOUND: CompensationAction.REPLAN,
        ErrorKind.AUTH: CompensationAction.ESCALATE_TO_HUMAN,
        ErrorKind.BUDGET: CompensationAction.ABORT,
        ErrorKind.CONTEXT_LENGTH: CompensationAction.REPLAN,
        ErrorKind.LOCKED: CompensationAction.RETRY_WITH_BACKOFF,
        ErrorKind.DISK_FULL: CompensationAction.ESCALATE_TO_HUMAN,
        ErrorKind.STORAGE: CompensationAction.ESCALATE_TO_HUMAN,
        ErrorKind.PARTIAL_EFFECT: CompensationAction.REVERSE,
        ErrorKind.UNUSABLE_RESULT: CompensationAction.DEPRECATE_AND_REPLAN,
        ErrorKind.CANCELLED: CompensationAction.ABORT,
        ErrorKind.UNKNOWN: CompensationAction.ESCALATE_TO_HUMAN,
    }
)


@frozen
class Verdict:
    """The kind of a failure, and the action for it.

    Args:
        message: one redacted line.
        source: "tool" for a ToolResult, "exception".
        retry_after_s: seconds that the other side asked to wait; None if it did not.
        in_doubt: whether the failure itself says that nobody knows if the call happened.
        approval_id: the request that a person has to decide for this very call, or "".
    """

    kind: ErrorKind
    action: CompensationAction
    message: str
    source: str
    retry_after_s: float | None = None
    in_doubt: bool = False
    approval_id: str = ""


def verdict_for(failure: ToolResult | BaseException, *, clock: Clock = SYSTEM_CLOCK) -> Verdict:
    """The verdict on a failed result, or on an exception.

    Raises:
        UsageError: the result is a success, on which there is no verdict.
    """
    if isinstance(failure, BaseException):
        return _verdict_on_exception(failure, clock)
    if failure.success:
        raise UsageError(f"call {failure.call_id} succeeded: there is no verdict on it")
    kind, message, wait_s = marked(failure.error_code, str(failure.error_message))
    # It came to its end, although its answer cannot be used: repeating it would double its effect.
    if kind is not ErrorKind.PARTIAL_EFFECT and (failure.mutation_id or failure.effect is Effect.DONE):
        kind = ErrorKind.UNUSABLE_RESULT
    asked = failure.data.get("approval_id") if isinstance(failure.data, dict) else None
    return Verdict(
        kind,
        PLAYBOOK[kind],
        safe_line(message),
        "tool",
        wait_s,
        in_doubt=failure.effect is Effect.UNKNOWN,
        approval_id=asked if isinstance(asked, str) else "",
    )


def _verdict_on_exception(error: BaseException, clock: Clock) -> Verdict:
    kind = classify(error)
    try:
        message = marked(None, message_for(error))[1]
        waits = [_wait_of(exception, clock.now()) for exception in causes(error)]
    except Exception:  # noqa: BLE001 - the exception's own methods may raise anything
        message, waits = type(error).__name__, []
    wait_s = next((wait for wait in waits if wait is not None), None)
    return Verdict(kind, PLAYBOOK[kind], safe_line(message), "exception", wait_s)


def _wait_of(error: BaseException, now: float) -> float | None:
    if isinstance(error, ToolError):
        return marked(error.code, str(error))[2]
    return retry_after_s(error, now)


def safe_line(message: str) -> str:
    """A message redacted, on one line, at most LONGEST_MESSAGE characters."""
    return one_line(message, LONGEST_MESSAGE)
