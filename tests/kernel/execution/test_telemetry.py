"""Spans and metrics of a call in OpenTelemetry."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from sb.kernel import RunContext, SafetyClass, ToolArgSchema, ToolErrorCode, ToolRegistry
from sb.kernel.execution.executor import ToolExecutor
from sb.kernel.execution.telemetry import Telemetry

EXPORTER = InMemorySpanExporter()
READER = InMemoryMetricReader()


@pytest.fixture(scope="module", autouse=True)
def _providers() -> None:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(EXPORTER))
    trace.set_tracer_provider(provider)
    metrics.set_meter_provider(MeterProvider(metric_readers=[READER]))


@pytest.fixture(autouse=True)
def _empty_exporter() -> None:
    EXPORTER.clear()


def make(**options: Any) -> ToolExecutor:
    registry = ToolRegistry()
    registry.register_fn(
        "t.x",
        "X",
        lambda text, pin="": text,
        args_schema=[ToolArgSchema("text"), ToolArgSchema("pin", sensitive=True, required=False)],
    )
    registry.register_fn("t.fails", "F", lambda: 1 / 0, max_retries=0)
    registry.register_fn("t.quiet", "Q", lambda: 1, emit_trace=False, emit_metric=False)
    registry.register_fn("t.destroys", "D", lambda: 1, SafetyClass.DESTRUCTIVE)
    return ToolExecutor(registry, **options)


def test_a_call_is_a_span_with_the_names_of_the_conventions_and_the_ids_of_the_run() -> None:
    executor = make()
    ctx = RunContext.create(agent_name="a", session_id="s")
    result = executor.execute(ctx, "t.x", {"text": "hi"})
    (span,) = EXPORTER.get_finished_spans()
    assert span.name == "execute_tool t.x"
    assert dict(span.attributes or {}) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "t.x",
        "gen_ai.tool.call.id": result.call_id,
        "gen_ai.agent.name": "a",
        "sb.run.id": ctx.run_id,
        "sb.trace.id": ctx.trace_id,
        "sb.session.id": "s",
        "sb.tool.safety_class": "read_only",
        "sb.call.success": True,
        "sb.call.retries": 0,
    }
    context = span.get_span_context()
    assert context is not None
    assert f"{context.trace_id:032x}" == ctx.trace_id == result.trace_id
    assert f"{context.span_id:016x}" == result.span_id
    assert [event.subject.call_id for event in executor.event_log.events()][-1] == result.call_id


@pytest.mark.parametrize(
    ("tool_id", "code"),
    [("t.fails", ToolErrorCode.UNEXPECTED), ("t.destroys", ToolErrorCode.PERMISSION_DENIED)],
)
def test_a_failed_or_denied_call_is_a_span_that_says_error(tool_id: str, code: ToolErrorCode) -> None:
    make().execute(RunContext.create(agent_name="a"), tool_id, {})
    (span,) = EXPORTER.get_finished_spans()
    assert (span.attributes or {})["error.type"] == code
    assert span.status.status_code is trace.StatusCode.ERROR


def test_arguments_are_on_spans_by_choice_only_and_never_the_sensitive_ones() -> None:
    args = {"text": "mail bob@example.org", "pin": "9371-canary"}
    ctx = RunContext.create(agent_name="a")
    make().execute(ctx, "t.x", args)
    make(telemetry=Telemetry(arguments=True)).execute(ctx, "t.x", args)
    without, with_arguments = EXPORTER.get_finished_spans()
    assert "gen_ai.tool.call.arguments" not in (without.attributes or {})
    shown = str((with_arguments.attributes or {})["gen_ai.tool.call.arguments"])
    assert shown == '{"text":"mail [redacted:email]","pin":"[redacted:sensitive]"}'


def test_a_contract_can_switch_spans_and_metrics_off() -> None:
    make().execute(RunContext.create(agent_name="a"), "t.quiet", {})
    assert EXPORTER.get_finished_spans() == ()
    assert "t.quiet" not in str(READER.get_metrics_data())


def test_what_a_tool_traces_itself_hangs_below_its_call() -> None:
    registry = ToolRegistry()

    def tool() -> None:
        with trace.get_tracer("theirs").start_as_current_span("inner"):
            pass

    registry.register_fn("t.x", "X", tool, SafetyClass.LOCAL_WRITE)
    ToolExecutor(registry).execute(RunContext.create(agent_name="a"), "t.x", {})
    inner, outer = EXPORTER.get_finished_spans()
    assert inner.parent is not None
    assert outer.context is not None
    assert inner.parent.span_id == outer.context.span_id


def test_a_run_can_join_a_trace_that_is_there() -> None:
    with trace.get_tracer("theirs").start_as_current_span("request") as span:
        ctx = RunContext.create(agent_name="a", trace_id=f"{span.get_span_context().trace_id:032x}")
        make().execute(ctx, "t.x", {"text": ""})
    call, request = EXPORTER.get_finished_spans()
    assert call.parent is not None
    assert request.context is not None
    assert call.parent.span_id == request.context.span_id


def test_calls_and_their_duration_are_measured() -> None:
    make().execute(RunContext.create(agent_name="a"), "t.fails", {})
    text = str(READER.get_metrics_data())
    assert "sb.tool.calls" in text
    assert "sb.tool.duration" in text
    assert "t.fails" in text


def test_without_opentelemetry_nothing_of_it_is_imported() -> None:
    script = (
        "import sys\n"
        "from sb.kernel import RunContext, ToolExecutor, ToolRegistry\n"
        "registry = ToolRegistry(); registry.register_fn('t.x', 'X', lambda: 1)\n"
        "assert ToolExecutor(registry).execute(RunContext.create('a'), 't.x', {}).success\n"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
