"""Answers of agents as lines of JSON: tool calls, then the last message."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from sb.base.secrets.redaction import one_line
from sb.base.text import counted, human_bytes, nearest
from sb.errors import ConfigError
from sb.evals.answer import Answer, Task
from sb.kernel.trajectory_eval.model import RecordedCall
from sb.kernel.trajectory_eval.reading import read_call

LONGEST_LINE = 8 << 20  # bytes
MOST_BYTES = 64 << 20  # of one answer
MOST_CALLS = 100_000
DEEPEST = 100  # lists and objects in each other
_LATEST_S = 1e12  # seconds; with these two, sums stay numbers
_MOST_CENTS = 1e12
_SHOWN = 120  # characters of a wrong line
_CALL, _FINAL, _ERROR = "tool_call", "final", "error"
_FIELDS = {
    _CALL: {"type", "tool", "args", "success", "safety_class", "ms", "call_id", "at"},
    _FINAL: {"type", "output", "cost_cents", "calls"},
    _ERROR: {"type", "message"},
}


class ProtocolError(Exception):
    """An agent's answer is not as it has to be; the message is one line."""


def request_document(task: Task) -> dict[str, Any]:
    """The request for an agent, as one line of JSON."""
    return {
        "id": task.case_id,
        "input": task.input,
        "vars": dict(task.vars),
        "attempt": task.attempt,
        "seed": task.seed,
        "folder": str(task.folder),
        "home": str(task.home),
    }


def read_json(data: bytes) -> Any:
    """A JSON value that can be written again as it is: finite, not too deep, in whole characters.

    Raises:
        ValueError: it is none; the message says why.
    """
    try:
        value = json.loads(data, parse_constant=_refuse_number, parse_float=_finite)
        if data.count(b"[") + data.count(b"{") > DEEPEST and _depth(value) > DEEPEST:
            raise RecursionError
        if b"\\ud" in data.lower():  # half a character, which no file can hold
            value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except RecursionError:
        raise ValueError(f"is nested deeper than {DEEPEST} levels") from None
    except _NotFinite as error:
        raise ValueError(f"has the number {error}, which is not finite") from None
    except ValueError:
        raise ValueError("is not JSON; log to stderr") from None
    return value


class _NotFinite(ArithmeticError):
    """A number that JSON cannot hold."""


def _refuse_number(text: str) -> float:
    raise _NotFinite(text)


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse_number(text)


def _depth(value: Any) -> int:
    """The depth of nested lists and objects; counted in rounds, since Python's stack may be too small."""
    level, inner = 0, [value]
    while inner := [item for item in inner if isinstance(item, dict | list)]:
        level += 1
        inner = [each for item in inner for each in (item.values() if isinstance(item, dict) else item)]
    return level


class AnswerLines:
    """Collects the lines of one answer.

    Args:
        ended: its last line was read.
    """

    def __init__(self) -> None:
        self.ended = False
        self._calls: list[tuple[float, RecordedCall]] = []
        self._output = ""
        self._error = ""
        self._cost: float | None = None
        self._number = 0
        self._bytes = 0

    @property
    def calls(self) -> tuple[RecordedCall, ...]:
        """The calls in the order in which they began."""
        return tuple(call for _, call in sorted(self._calls, key=lambda item: item[0]))

    def add(self, line: bytes) -> None:
        """Take one line, without its end.

        Raises:
            ProtocolError: it is no line of an answer.
        """
        self._number += 1
        self._bytes += len(line)
        if self._bytes > MOST_BYTES:
            raise ProtocolError(f"its answer has more than {human_bytes(MOST_BYTES)}")
        if not line.strip():
            return
        try:
            document = read_json(line)
        except ValueError as error:
            raise self._wrong(line, str(error)) from None
        self.add_document(document, line)

    def add_document(self, document: Any, line: bytes = b"") -> None:
        """Take one line that is read already.

        Raises:
            ProtocolError: it is no line of an answer.
        """
        shown = line or json.dumps(document, default=str).encode()
        if self.ended:
            raise self._wrong(shown, "comes after the final one")
        kind = document.get("type") if isinstance(document, dict) else None
        if not isinstance(kind, str) or kind not in _FIELDS:
            raise self._wrong(shown, f'has no "type" of {", ".join(_FIELDS)}')
        for name in document:
            if name not in _FIELDS[kind]:
                raise self._wrong(shown, f"has the unknown field {name!r}{nearest(name, _FIELDS[kind])}")
        try:
            getattr(self, f"_add_{kind}")(document)
        except (ValueError, TypeError) as error:
            raise self._wrong(shown, str(error)) from None
        except ConfigError as error:
            raise ProtocolError(one_line(error.message, 300)) from None

    def _add_tool_call(self, document: Mapping[str, Any]) -> None:
        at = document.get("at", self._calls[-1][0] if self._calls else 0.0)
        if isinstance(at, bool) or not isinstance(at, int | float) or abs(at) > _LATEST_S:
            raise TypeError("at: not a number of seconds")
        if len(self._calls) >= MOST_CALLS:
            raise ValueError(f"is call {MOST_CALLS + 1:,}")
        self._calls.append((float(at), self._read_call(document)))

    def _read_call(self, document: Any) -> RecordedCall:
        if not isinstance(document, dict):
            raise TypeError("a call is an object with tool, args and success")
        fields = {name: value for name, value in document.items() if name not in ("type", "at")}
        return read_call(fields, f"line {max(self._number, 1)} of its answer")

    def _add_final(self, document: Mapping[str, Any]) -> None:
        output, cost = document.get("output"), document.get("cost_cents")
        if not isinstance(output, str):
            raise TypeError("output: not a text")
        if cost is not None and (isinstance(cost, bool) or not isinstance(cost, int | float)):
            raise TypeError("cost_cents: not a number of cents")
        if cost is not None and not 0 <= cost <= _MOST_CENTS:
            raise ValueError(f"cost_cents: not from 0 to {_MOST_CENTS:g}")
        calls = document.get("calls", [])
        if not isinstance(calls, list):
            raise TypeError("calls: not a list")
        if not self._calls:
            self._calls = [(float(number), self._read_call(call)) for number, call in enumerate(calls)]
        self._output, self._cost, self.ended = output, None if cost is None else float(cost), True

    def _add_error(self, document: Mapping[str, Any]) -> None:
        self._error, self.ended = one_line(document.get("message") or "it failed", 300), True

    def answer(self, error: str = "", **facts: Any) -> Answer:
        """The answer so far.

        Args:
            error: why the agent could not be run; by default what it said itself.
            facts: other fields of `Answer`.
        """
        return Answer(
            output=self._output,
            calls=facts.pop("calls", None) or self.calls,
            cost_cents=self._cost,
            error=error or self._error,
            **facts,
        )

    def _wrong(self, line: bytes, reason: str) -> ProtocolError:
        text = one_line(line.decode("utf-8", "backslashreplace"), _SHOWN)
        return ProtocolError(f"line {max(self._number, 1)} of its answer {reason}: {text}")


def cut_off(line: bytes) -> str:
    """The error for an answer that ends in half a line."""
    return f"its last line is cut off after {counted(len(line), 'byte')}: {one_line(line.decode('utf-8', 'replace'), _SHOWN)}"
