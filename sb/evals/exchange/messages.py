"""Tool calls in chat messages: OpenAI's chat completions and responses, and Anthropic's content blocks.

These formats do not say whether a call succeeded. A call with a result counts as succeeded unless the result says
otherwise: Anthropic's `is_error`, an object with a true `error` or a false `ok` or `success`, or a text that begins
with "error". Of a call without a result nobody knows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from sb.evals.answer import Answer
from sb.evals.exchange.recording import Recording
from sb.kernel.trajectory_eval.model import RecordedCall

_FAILED_WORD = "error"
UNREADABLE = "[unreadable arguments]"  # the key under which arguments stand that are no JSON object


class _Result(NamedTuple):
    """A tool's answer to the call of an id."""

    call_id: str
    ok: bool


def is_conversation(value: Any) -> bool:
    """True if this is a list of messages or items of one of these formats."""
    if not isinstance(value, list) or not value or not all(isinstance(item, dict) for item in value):
        return False
    messages = ["role" in item and not isinstance(item.get("message"), dict) for item in value]
    calls = [str(item.get("type", "")).startswith("function_call") for item in value]
    typed = ["type" in item and "message" not in item for item in value]  # such as an item of reasoning
    return any(messages + calls) and all(map(any, zip(messages, typed, strict=True)))


def read_conversation(messages: Sequence[dict[str, Any]]) -> Recording:
    """The calls of a conversation, its last text of the assistant, and the user's messages before that.

    Raises:
        ValueError: a call has no name.
    """
    calls: dict[int, RecordedCall] = {}
    places: dict[str, int] = {}
    output = ""
    for message in messages:
        for item in _items(message):
            if isinstance(item, RecordedCall):
                places[item.call_id or f"#{len(calls)}"] = len(calls)
                calls[len(calls)] = item
            elif item.call_id in places:
                place = places[item.call_id]
                calls[place] = replace(calls[place], success=item.ok)
        if message.get("role") == "assistant":
            output = _text_of(message.get("content")) or output
    answer = Answer(output=output, calls=tuple(calls.values()))
    return Recording(answer, input=_input(messages))


def write_conversation(recording: Recording) -> list[dict[str, Any]]:
    """A recording as OpenAI's chat messages: the question, each call with a result, and the last answer.

    What a tool returned is not recorded, so a result only says whether the call succeeded.
    """
    asked = recording.input
    messages = list(asked) if is_conversation(asked) else [{"role": "user", "content": _shown(asked)}]
    for number, call in enumerate(recording.answer.calls, 1):
        call_id = call.call_id or f"call_{number}"
        function = {"name": call.tool, "arguments": json.dumps(dict(call.args), ensure_ascii=False)}
        wanted = {"id": call_id, "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [wanted]})
        if call.success is not None:
            result = {"ok": call.success}
            messages.append({"role": "tool", "tool_call_id": call_id, "content": json.dumps(result)})
    messages.append({"role": "assistant", "content": recording.answer.output})
    return messages


def _items(message: dict[str, Any]) -> Iterator[RecordedCall | _Result]:
    """The calls and results of one message or item."""
    kind, content = message.get("type"), message.get("content")
    if kind == "function_call":  # responses: an item of its own
        yield _call(message.get("name"), message.get("arguments"), message.get("call_id"))
    elif kind == "function_call_output":
        yield _Result(str(message.get("call_id", "")), _succeeded(message.get("output")))
    elif message.get("role") == "tool":
        yield _Result(str(message.get("tool_call_id", "")), _succeeded(content))
    for wanted in message.get("tool_calls") or ():
        function = wanted.get("function") or wanted.get("custom") or wanted
        yield _call(function.get("name"), function.get("arguments", function.get("input")), wanted.get("id"))
    if isinstance(message.get("function_call"), dict):  # before there were several calls in a message
        function = message["function_call"]
        yield _call(function.get("name"), function.get("arguments"), function.get("name"))
    elif message.get("role") == "function":
        yield _Result(str(message.get("name", "")), _succeeded(content))
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == "tool_use":
            yield _call(block.get("name"), block.get("input"), block.get("id"))
        elif isinstance(block, dict) and block.get("type") == "tool_result":
            failed = block.get("is_error") is True
            yield _Result(str(block.get("tool_use_id", "")), not failed and _succeeded(block.get("content")))


def _call(name: Any, arguments: Any, call_id: Any) -> RecordedCall:
    if not isinstance(name, str) or not name:
        raise ValueError("a tool call without a name")
    return RecordedCall(name, read_arguments(arguments), call_id=str(call_id or ""))


def read_arguments(arguments: Any) -> dict[str, Any]:
    """Arguments as an object; what a model wrote that is none stands under one key, so that no step fits it."""
    value = arguments
    if isinstance(arguments, str):
        try:
            value = json.loads(arguments) if arguments.strip() else {}
        except (ValueError, RecursionError):
            value = arguments
    if value is None:
        return {}
    return value if isinstance(value, dict) else {UNREADABLE: value}


def _succeeded(result: Any) -> bool:
    """True if what a tool answered says nothing of a failure."""
    text = _text_of(result)
    value = result
    if text.lstrip().startswith("{"):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = text
    if isinstance(value, dict):
        denied = value.get("ok") is False or value.get("success") is False
        return not (value.get("error") or value.get("isError") is True or denied)
    return not text.lstrip().lower().startswith(_FAILED_WORD)


def _text_of(content: Any) -> str:
    """The texts of a content, which may be a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _input(messages: Sequence[dict[str, Any]]) -> Any:
    """The input before the assistant's first message: its text if it is a single one of the user."""
    answering = (message.get("role") == "assistant" or "role" not in message for message in messages)
    first = next((number for number, answered in enumerate(answering) if answered), len(messages))
    asked = list(messages[:first])
    if len(asked) == 1 and asked[0].get("role") == "user" and isinstance(asked[0].get("content"), str):
        return asked[0]["content"]
    return asked


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
