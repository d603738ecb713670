"""Collect the spans of a probe's run, where OpenTelemetry is installed."""

from __future__ import annotations

from typing import Any


class Spans:
    """Keeps finished spans in memory.

    Args:
        provider: for open_runtime; None without OpenTelemetry.
    """

    def __init__(self) -> None:
        self.provider: Any = None
        try:
            from opentelemetry.sdk.trace import SpanLimits, TracerProvider
            from opentelemetry.sdk.trace.export import SimpleSpanProcessor
            from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
            from opentelemetry.sdk.trace.sampling import ALWAYS_ON
        except ImportError:
            return
        self._exporter = InMemorySpanExporter()
        # Else the environment says which spans there are, and what is cut from them.
        self.provider = TracerProvider(ALWAYS_ON, span_limits=SpanLimits(*[SpanLimits.UNSET] * 8))
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))

    @property
    def installed(self) -> bool:
        return self.provider is not None

    def of(self, tool_id: str) -> list[Any]:
        """The spans of one tool's calls, in the order in which they ended."""
        spans = self._exporter.get_finished_spans() if self.installed else ()
        return [span for span in spans if (span.attributes or {}).get("gen_ai.tool.name") == tool_id]

    def places(self, tool_id: str) -> list[Any]:
        """Trace and span of each, as OpenTelemetry knows them."""
        return [span.get_span_context() for span in self.of(tool_id)]

    def evidence(self, text: str) -> str:
        if not self.installed:
            return "Telemetry.start: no spans, since opentelemetry-sdk is not installed (the extra otel)"
        return f"Telemetry.start: {text}"
