"""OpenTelemetry spans and metrics of calls.

A span ``execute_tool {tool}`` with the `gen_ai.*` names of the semantic conventions and our own under `sb.*`, and two
metrics. Nothing is imported for it: the process that has set up OpenTelemetry has loaded its API, in any other one
there is nothing to tell.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from sb.base.secrets.redaction import redact_json
from sb.kernel.contracts import ToolResult, ToolSpec
from sb.kernel.run_context import RunContext

SCOPE = "sb.kernel"


class CallSpan:
    """The span of one call; this one is for a process without OpenTelemetry and does nothing."""

    span_id = ""

    def end(self, result: ToolResult) -> None:
        """Close the span with what the call gave back."""


_NO_SPAN = CallSpan()


class _OtelSpan(CallSpan):
    """A live span, current until it ends, so that what the tool itself traces hangs below it."""

    def __init__(self, tracer: Any, ctx: RunContext, spec: ToolSpec, call_id: str, shown: str | None) -> None:
        from opentelemetry import context, trace

        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": spec.tool_id,
            "gen_ai.tool.call.id": call_id,
            "gen_ai.agent.name": ctx.agent_name,
            "sb.run.id": ctx.run_id,
            "sb.trace.id": ctx.trace_id,
            "sb.session.id": ctx.session_id,
            "sb.tool.safety_class": str(spec.safety_class),
        }
        if shown is not None:
            attributes["gen_ai.tool.call.arguments"] = shown
        self._detach = context.detach
        self._span = tracer.start_span(
            f"execute_tool {spec.tool_id}", context=_parent(trace, ctx.trace_id), attributes=attributes
        )
        self._token = context.attach(trace.set_span_in_context(self._span))
        self._failed = trace.Status(trace.StatusCode.ERROR)
        self.span_id = f"{self._span.get_span_context().span_id:016x}"

    def end(self, result: ToolResult) -> None:
        self._span.set_attribute("sb.call.success", result.success)
        self._span.set_attribute("sb.call.retries", result.retries)
        if result.error_code is not None:
            self._span.set_attribute("error.type", str(result.error_code))
            self._span.set_status(self._failed)
        self._detach(self._token)
        self._span.end()


def _parent(trace: Any, trace_id: str) -> Any:
    """The current span when it is of the run's trace, else one made up from the run's trace id."""
    try:
        number = int(trace_id, 16)
    except ValueError:  # a caller's own id that is no OpenTelemetry trace
        return None
    if trace.get_current_span().get_span_context().trace_id == number:
        return None
    sampled = trace.TraceFlags(trace.TraceFlags.SAMPLED)
    remote = trace.SpanContext(number, (number >> 64) or 1, is_remote=True, trace_flags=sampled)
    return trace.set_span_in_context(trace.NonRecordingSpan(remote))


class Telemetry:
    """Spans and metrics for calls.

    Args:
        arguments: whether spans carry the redacted arguments.
        tracer_provider: an OpenTelemetry provider of spans; by default the one of the process.
    """

    def __init__(self, *, arguments: bool = False, tracer_provider: Any = None) -> None:
        self._arguments = arguments
        self._tracer_provider = tracer_provider
        self._instruments: tuple[Any, Any, Any] | None = None

    def start(self, ctx: RunContext, spec: ToolSpec, call_id: str, shown: Callable[[], Any]) -> CallSpan:
        """Open the span of a call; `shown` gives its arguments without the sensitive ones."""
        api = sys.modules.get("opentelemetry.trace")
        if api is None or not spec.emit_trace:
            return _NO_SPAN
        tracer = api.get_tracer(SCOPE, tracer_provider=self._tracer_provider)
        return _OtelSpan(tracer, ctx, spec, call_id, redact_json(shown()) if self._arguments else None)

    def measure(self, spec: ToolSpec, result: ToolResult) -> None:
        """Count the call and its duration."""
        api = sys.modules.get("opentelemetry.metrics")
        if api is None or not spec.emit_metric:
            return
        if self._instruments is None or self._instruments[0] is not api.get_meter_provider():
            meter = api.get_meter(SCOPE)
            calls = meter.create_counter("sb.tool.calls", unit="{call}", description="Tool calls")
            seconds = meter.create_histogram("sb.tool.duration", unit="s", description="Time inside tools")
            self._instruments = (api.get_meter_provider(), calls, seconds)
        attributes = {"gen_ai.tool.name": spec.tool_id, "error.type": str(result.error_code or "")}
        self._instruments[1].add(1, attributes)
        self._instruments[2].record(result.latency_ms / 1000, attributes)
