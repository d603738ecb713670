"""Results of calls, as the executor gives them to its callers."""

from __future__ import annotations

from typing import Any, Unpack

from sb.kernel.calls.call import ToolCall
from sb.kernel.contracts import ToolErrorCode, ToolResult
from sb.kernel.execution.outcome import Outcome
from sb.kernel.execution.telemetry import CallSpan
from sb.kernel.results import ResultDetails


def result_of(call: ToolCall, outcome: Outcome, span: CallSpan) -> ToolResult:
    """The result that the caller gets of a call that ran."""
    failed = outcome.code is not None
    return ToolResult(
        call.call_id,
        call.tool_id,
        not failed,
        None if failed else outcome.value,
        outcome.code,
        outcome.message if failed else "",
        outcome.latency_ms,
        outcome.retries,
        call.ctx.trace_id,
        span.span_id,
        outcome.provenance,
        call.mutation_id,
        outcome.effect,
        warning=outcome.warning,
    )


def error_of(
    call: ToolCall,
    code: ToolErrorCode,
    message: str,
    data: dict[str, Any] | None = None,
    **details: Unpack[ResultDetails],
) -> ToolResult:
    """The error that the caller gets of a call that did not run, or could not be recorded."""
    details["call_id"], details["trace_id"] = call.call_id, call.ctx.trace_id
    return ToolResult.error(call.tool_id, code, message, data, **details)
