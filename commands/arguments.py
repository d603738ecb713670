"""Reads option values: JSON objects, files, stdin and closed choices."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from sb.base.text import nearest, plain
from sb.errors import UsageError


def read_arguments(text: str) -> dict[str, Any]:
    """The arguments of a call: a JSON object, @FILE for a file that holds one, - for stdin."""
    source = "--args"
    if text == "-":
        source, text = "stdin", read_stdin()
    elif text.startswith("@"):
        source = text[1:]
        try:
            text = Path(source).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"cannot read {source}: {error}") from None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"{source} is not JSON: {error}", """an object, such as --args '{"path": "notes.md"}'"""
        ) from None
    if not isinstance(value, dict):
        raise UsageError(f"{source} must be a JSON object, not {type(value).__name__}")
    return value


def read_stdin() -> str:
    """All of stdin; raises UsageError if it cannot be read."""
    if sys.stdin is None:
        raise UsageError("stdin is closed", "pass the arguments themselves, or @FILE")
    try:
        return sys.stdin.read()
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read stdin: {error}") from None


def choice(option: str, text: str, kind: type[Any]) -> Any:
    """The member of an enumeration that was typed for an option."""
    try:
        return kind(text)
    except ValueError:
        known = [str(value) for value in kind]
        message = f"{option}: no {plain(text, one_line=True)!r}{nearest(text, known)}"
        raise UsageError(message, "one of " + ", ".join(known)) from None


def require_reason(reason: str) -> None:
    """Raise UsageError where a decision is given without a reason."""
    if not reason.strip():
        raise UsageError("a decision needs a reason", "--reason TEXT")
