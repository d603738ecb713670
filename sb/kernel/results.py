"""Results of calls: data, error code, and whether a failed call changed something.

Source: the kernel reference, "ToolResult". These names are part of `sb.kernel.contracts`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, TypedDict, Unpack

from sb.base.sources import SYSTEM_IDS
from sb.base.values.frozen import frozen, mutable


class ToolErrorCode(StrEnum):
    """Error code of a call."""

    NOT_FOUND = "NOT_FOUND"
    PERMISSION_DENIED = "PERMISSION_DENIED"
    TIMEOUT = "TIMEOUT"
    VALIDATION_ERROR = "VALIDATION_ERROR"
    NETWORK_ERROR = "NETWORK_ERROR"
    RATE_LIMITED = "RATE_LIMITED"
    BUDGET_EXCEEDED = "BUDGET_EXCEEDED"
    UNEXPECTED = "UNEXPECTED"


REFUSALS = (ToolErrorCode.PERMISSION_DENIED, ToolErrorCode.BUDGET_EXCEEDED)
# Of a call with side effects: nobody knows whether it happened, so it is never retried.
OUTCOME_UNKNOWN = frozenset((ToolErrorCode.TIMEOUT, ToolErrorCode.NETWORK_ERROR))


class Effect(StrEnum):
    """Effect of a failed call: whether it changed something all the same."""

    UNSTATED = ""
    DONE = "done"  # the tool came to its end; only its answer cannot be used
    UNKNOWN = "in_doubt"
    PARTIAL = "in_part"  # a part was done, and repeating the call tries the rest


@frozen
class ToolProvenance:
    """Where a result came from, and how old it may be, in seconds (None: unknown)."""

    source_uri: str = ""
    freshness_s: float | None = None


class ResultDetails(TypedDict, total=False):
    """The fields of a ToolResult that describe the call rather than its outcome."""

    call_id: str
    latency_ms: float
    retries: int
    trace_id: str
    span_id: str
    provenance: ToolProvenance | None
    mutation_id: str
    effect: Effect
    rule: str


@mutable
class ToolResult:
    """Result of a call; made with `ToolResult.ok` or `ToolResult.error`.

    Args:
        latency_ms: milliseconds inside the tool, retries included.
        retries: attempts after the first.
        trace_id, span_id: hex ids of the run's trace and of this call's span ("" without one).
        mutation_id: names what it changed, for `sb undo`; "" when it changed nothing.
        effect: of a failure: whether something was changed all the same.
        rule: of a call that was refused: what decided it, as the log names it.
        warning: what its caller has to know before it uses the data, such as that they read like an attack; and the
            reminders and lessons that fit the call, whether or not it failed.
    """

    call_id: str
    tool_id: str
    success: bool
    data: Any = None
    error_code: ToolErrorCode | None = None
    error_message: str = ""
    latency_ms: float = 0.0
    retries: int = 0
    trace_id: str = ""
    span_id: str = ""
    provenance: ToolProvenance | None = None
    mutation_id: str = ""
    effect: Effect = Effect.UNSTATED
    rule: str = ""
    warning: str = ""

    @property
    def refused(self) -> bool:
        """True if policy, contract, a person or the budget said no."""
        return self.error_code in REFUSALS

    @classmethod
    def ok(cls, tool_id: str, data: Any = None, **details: Unpack[ResultDetails]) -> ToolResult:
        """A success; `details` are the other fields."""
        if "call_id" not in details:
            details["call_id"] = new_call_id()
        return cls(tool_id=tool_id, success=True, data=data, **details)

    @classmethod
    def error(
        cls,
        tool_id: str,
        error_code: ToolErrorCode,
        error_message: str,
        data: Any = None,
        **details: Unpack[ResultDetails],
    ) -> ToolResult:
        """A failure; `details` are the other fields."""
        if "call_id" not in details:
            details["call_id"] = new_call_id()
        return cls(
            tool_id=tool_id,
            success=False,
            data=data,
            error_code=error_code,
            error_message=error_message,
            **details,
        )


def new_call_id() -> str:
    return f"call_{SYSTEM_IDS.token(8)}"


class ToolError(Exception):
    """Raised by a tool to say exactly why it failed; never retried when the code is permanent.

    Args:
        code: any ToolErrorCode.
        message: one line for the agent and the log.
        effect: whether something was changed all the same.
    """

    def __init__(self, code: ToolErrorCode, message: str, effect: Effect = Effect.UNSTATED) -> None:
        super().__init__(message)
        self.code, self.effect = code, effect
