"""Tool calls in OpenTelemetry spans as OTLP JSON, with the names of the GenAI semantic conventions.

Both the current names and the events that earlier versions put messages into are read. A trace is one run; its calls
stand in the order of their start times.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from sb.evals.answer import Answer
from sb.evals.exchange.messages import read_arguments
from sb.evals.exchange.recording import Recording
from sb.kernel.contracts import SafetyClass
from sb.kernel.trajectory_eval.model import RecordedCall

_FAILED = (2, "STATUS_CODE_ERROR")
_NS_A_MS = 1e6
_TOOL = "execute_tool"
CASE_ATTRIBUTES = (
    "sb.run.id",
    "gen_ai.conversation.id",
)  # names of the case, the first one first


def is_spans(value: Any) -> bool:
    """True if this is a document of spans."""
    return isinstance(value, dict) and isinstance(value.get("resourceSpans"), list)


def read_spans(documents: Iterable[dict[str, Any]]) -> list[Recording]:
    """A recording for each trace with tool calls, in the order in which they began.

    Raises:
        ValueError: a span is not as OTLP writes it.
    """
    traces: dict[str, list[dict[str, Any]]] = {}
    for document in documents:
        for span in _spans(document):
            traces.setdefault(str(span.get("traceId", "")), []).append(span)
    found = [_recording(trace, sorted(spans, key=_start)) for trace, spans in traces.items()]
    return [recording for recording in found if recording.answer.calls]


def _spans(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for resource in _objects(document.get("resourceSpans")):
        for scope in _objects(resource.get("scopeSpans")):
            yield from _objects(scope.get("spans"))


def _recording(trace: str, spans: list[dict[str, Any]]) -> Recording:
    calls, output, asked, names = [], "", "", dict[str, str]()
    for span in spans:
        attributes = _attributes(span)
        for name in CASE_ATTRIBUTES:
            names.setdefault(name, str(attributes.get(name) or ""))
            names[name] = names[name] or str(attributes.get(name) or "")
        if attributes.get("gen_ai.operation.name") == _TOOL or attributes.get("gen_ai.tool.name"):
            calls.append(_call(span, attributes))
        output = _last_text(attributes.get("gen_ai.output.messages")) or output
        asked = asked or _last_text(attributes.get("gen_ai.input.messages"), role="user")
    begun = min(map(_start, spans))
    seconds = (max(_nanoseconds(span, "endTimeUnixNano") for span in spans) - begun) / 1e9
    case_id = next((names[name] for name in CASE_ATTRIBUTES if names.get(name)), trace)
    return Recording(Answer(output=output, calls=tuple(calls), seconds=max(seconds, 0.0)), case_id, asked)


def _call(span: dict[str, Any], attributes: dict[str, Any]) -> RecordedCall:
    name = attributes.get("gen_ai.tool.name") or str(span.get("name", "")).removeprefix(f"{_TOOL} ")
    if not isinstance(name, str) or not name:
        raise ValueError("a tool's span without gen_ai.tool.name")
    status = span.get("status")
    failed = isinstance(status, dict) and status.get("code") in _FAILED
    word = attributes.get("sb.tool.safety_class")
    end = _nanoseconds(span, "endTimeUnixNano")
    return RecordedCall(
        name,
        read_arguments(attributes.get("gen_ai.tool.call.arguments")),
        not (failed or attributes.get("error.type")),
        SafetyClass(word) if word in list(SafetyClass) else None,
        max(end - _start(span), 0) / _NS_A_MS if end else None,
        str(attributes.get("gen_ai.tool.call.id") or span.get("spanId") or ""),
    )


def _attributes(span: dict[str, Any]) -> dict[str, Any]:
    """A span's attributes, with those of its events beside them."""
    found = dict[str, Any]()
    for event in _objects(span.get("events")):
        found |= {
            str(item.get("key")): _value(item.get("value")) for item in _objects(event.get("attributes"))
        }
    return found | {
        str(item.get("key")): _value(item.get("value")) for item in _objects(span.get("attributes"))
    }


def _value(value: Any) -> Any:
    """The value of an attribute; OTLP writes its type beside it, and whole numbers as texts."""
    if not isinstance(value, dict) or len(value) != 1:
        return None
    [(kind, inner)] = value.items()
    if kind == "intValue":
        return int(inner)
    if kind == "arrayValue":
        return [_value(item) for item in _objects((inner or {}).get("values"))]
    if kind == "kvlistValue":
        pairs = _objects((inner or {}).get("values"))
        return {str(pair.get("key")): _value(pair.get("value")) for pair in pairs}
    return inner


def _last_text(value: Any, role: str = "") -> str:
    """The text of the last message that has one, in the conventions' form of messages: a JSON text of parts."""
    messages = read_arguments(f'{{"messages": {value}}}' if isinstance(value, str) else {"messages": value})
    found = ""
    for message in _objects(messages.get("messages")):
        parts = _objects(message.get("parts"))
        texts = [part.get("content") for part in parts if part.get("type") == "text"]
        if not role or message.get("role") == role:
            found = "\n".join(text for text in texts if isinstance(text, str)) or found
    return found


def _objects(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _start(span: dict[str, Any]) -> int:
    return _nanoseconds(span, "startTimeUnixNano")


def _nanoseconds(span: dict[str, Any], name: str) -> int:
    try:
        return int(span.get(name) or 0)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: not a time in nanoseconds") from None
