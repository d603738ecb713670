"""Answers of tools: shapes that a model reads, and errors that it can act on."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, NotRequired, ParamSpec, TypeVar

from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, ContentBlock, TextContent
from typing_extensions import TypedDict  # pydantic wants it before Python 3.12

from sb.base.secrets.redaction import one_line
from sb.errors import SBError
from sb.memory.views import Hit, Memory

_P = ParamSpec("_P")
_T = TypeVar("_T")
_LONGEST_ERROR = 500  # characters
_LONGEST_TEXT = 2_000


class Remembered(TypedDict):
    """A memory."""

    id: str
    kind: str
    text: str
    scope: str
    by: str
    at: str
    superseded_by: NotRequired[str]
    corrected_by: NotRequired[str]
    conflict: NotRequired[str]


class Saved(TypedDict):
    """Where a memory is saved. `merged` says that one with that content was there before; `notes` what to know of it."""

    id: str
    merged: bool
    notes: list[str]


class Notice(TypedDict):
    """A short answer."""

    id: str
    message: str


def memory_answer(memory: Memory) -> Remembered:
    """A memory in short: one of a megabyte would fill the context of every model that meets it in a search."""
    detail = memory.details.get("rationale")
    text = (
        f"{memory.content}\nWhy: {detail}" if detail and str(detail) not in memory.content else memory.content
    )
    text = "\nRestated as: ".join((text, *memory.restated))
    answer = Remembered(
        id=memory.id,
        kind=memory.category or memory.kind,
        text=text
        if len(text) <= _LONGEST_TEXT
        else f"{text[:_LONGEST_TEXT]}… [cut; sb://record/{memory.id} has all of it]",
        scope=memory.scope,
        by=memory.agent_id,
        at=when(memory.happened_at),
    )
    if memory.superseded_by:
        answer["superseded_by"] = memory.superseded_by
    if memory.corrected_by:
        answer["corrected_by"] = memory.corrected_by
    if memory.conflict:
        answer["conflict"] = memory.conflict
    return answer


def hit_answers(hits: Iterable[Hit]) -> list[Remembered]:
    """Hits, the best first."""
    return [memory_answer(hit) for hit in hits]


def in_words(found: list[Remembered], words: str) -> CallToolResult:
    """Memories as the answer of a tool, after a sentence on them; an empty list alone says nothing to a model."""
    texts = [*filter(None, [words]), *(json.dumps(item, ensure_ascii=False, indent=2) for item in found)]
    content: list[ContentBlock] = [TextContent(type="text", text=text) for text in texts]
    return CallToolResult(content=content, structured_content={"result": found})


def when(seconds: float) -> str:
    """A time as UTC, to the second."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def plain_errors(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """The function, with errors that its caller can act on as answers of one line, and without secrets."""

    @functools.wraps(function)
    def wrapped(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return function(*args, **kwargs)
        except (SBError, ValueError, TypeError) as error:
            raise ToolError(error_line(error)) from error

    return wrapped


def error_line(error: Exception) -> str:
    """One line: the error, and what to do."""
    hint: Any = getattr(error, "hint", "")
    return one_line(f"{error}; {hint}" if hint else str(error), _LONGEST_ERROR)
