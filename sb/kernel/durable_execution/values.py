"""Inputs and results that a workflow may have."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from sb.base.secrets.redaction import one_line
from sb.base.values.canonical import NotCanonical, encode, freeze
from sb.errors import UsageError

LONGEST_NAME = 200


_PLAIN = "use plain JSON values"


def frozen(value: Any, what: str, hint: str = _PLAIN) -> tuple[Any, bytes]:
    """A copy in plain JSON types, and its canonical bytes.

    Args:
        what, hint: of the UsageError that is raised when it is not JSON.
    """
    try:
        return freeze(value)
    except NotCanonical as error:
        raise UsageError(f"{what} cannot be recorded: {error}", hint) from None


def recordable(value: Any, what: str, max_bytes: int, hint: str = "") -> tuple[Any, str]:
    """A copy in plain JSON types, and the text that is stored of it, which gives the same values back.

    Args:
        what, hint: of the UsageError that is raised when it is not JSON, or has more than `max_bytes`.
    """
    copy, _ = frozen(value, what, hint or _PLAIN)
    encoded = encode(copy)
    if len(encoded) > max_bytes:
        size = f"{what} cannot be recorded: {len(encoded)} bytes of JSON, at most {max_bytes} are kept"
        raise UsageError(size, hint or "keep it in a file, and pass the file's name")
    return copy, encoded.decode()


def require_name(name: Any, what: str) -> str:
    """The name itself; raises UsageError unless it is text of 1 to LONGEST_NAME characters."""
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        raise UsageError(
            f"{what} must be printable text of 1 to {LONGEST_NAME} characters, not {one_line(repr(name), 80)}"
        )
    return name


def require_function(fn: Any) -> Callable[..., Any]:
    """The function itself; raises UsageError when it cannot be called, or would have to be awaited."""
    if not callable(fn):
        raise UsageError(f"{type(fn).__name__} is not a function")
    if inspect.iscoroutinefunction(fn) or inspect.isgeneratorfunction(fn):
        raise UsageError(
            f"{getattr(fn, '__name__', 'it')} would not run when it is called",
            "workflows and their steps are plain functions; asyncio.run can be called inside a step",
        )
    return fn  # type: ignore[no-any-return]
