"""A recorded run: a case's question with the answer that an agent once gave, and our own format of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from sb.base.values.frozen import frozen
from sb.errors import ConfigError
from sb.evals.answer import Answer
from sb.kernel.trajectory_eval import reading
from sb.kernel.trajectory_eval.model import RecordedCall

_OF_A_CALL = frozenset(field.name for field in fields(RecordedCall))


@frozen
class Recording:
    """A recorded question and the agent's acts.

    Args:
        case_id: the case that it answers; "" if the file does not say.
        input: a text, or a list of messages; "" if the file does not say.
    """

    answer: Answer
    case_id: str = ""
    input: Any = ""


def recording_document(recording: Recording) -> dict[str, Any]:
    """A recording as plain JSON, as `read_recording` reads it."""
    answer = recording.answer
    document = {"id": recording.case_id, "input": recording.input, "output": answer.output}
    document["calls"] = [call_document(call) for call in answer.calls]
    optional = {
        "cost_cents": answer.cost_cents,
        "seconds": answer.seconds or None,
        "error": answer.error or None,
    }
    return document | {name: value for name, value in optional.items() if value is not None}


def read_recording(record: Mapping[str, Any]) -> Recording:
    """A recording from plain JSON.

    Raises:
        ValueError, TypeError: a field is missing or not as it has to be.
    """
    answer = Answer(
        output=_text(record, "output"),
        calls=tuple(read_call(call) for call in _list(record, "calls")),
        cost_cents=_number(record, "cost_cents"),
        seconds=_number(record, "seconds") or 0.0,
        error=_text(record, "error"),
    )
    return Recording(answer, _text(record, "id"), record.get("input", ""))


def call_document(call: RecordedCall) -> dict[str, Any]:
    """A call as plain JSON; what nobody knows is left out."""
    known = {
        "success": call.success,
        "safety_class": None if call.safety_class is None else str(call.safety_class),
        "ms": call.ms,
        "call_id": call.call_id or None,
    }
    return {"tool": call.tool, "args": dict(call.args)} | {
        name: value for name, value in known.items() if value is not None
    }


def read_call(record: Any) -> RecordedCall:
    """A call from plain JSON, as `call_document` has it; keys that are not of a call are left to their writer.

    Raises:
        ValueError: a field is missing or not as it has to be.
    """
    known = record
    if isinstance(record, dict):
        known = {name: value for name, value in record.items() if name in _OF_A_CALL}
    try:
        return reading.read_call(known, "call")
    except ConfigError as error:
        raise ValueError(error.message) from None


def _text(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name) or ""
    if not isinstance(value, str):
        raise TypeError(f"{name}: not a text")
    return value


def _number(record: Mapping[str, Any], name: str) -> float | None:
    value = record.get(name)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise TypeError(f"{name}: not a number")
    return None if value is None else float(value)


def _list(record: Mapping[str, Any], name: str) -> list[Any]:
    value = record.get(name) or []
    if not isinstance(value, list):
        raise TypeError(f"{name}: not a list")
    return value
