"""Hand one thing that needs a person to the desktop or to a command, never through a shell."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from sb.base.text import json_text
from sb.errors import UsageError

DESKTOP = "desktop"
TIMEOUT_S = 30  # that a command may take
_FIELDS = ("kind", "state", "object", "why", "agent", "id", "expires_at", "command")
_SCRIPT = (
    "on run argv",
    "display notification (item 2 of argv) with title (item 1 of argv)",
    "end run",
)

Notify = Callable[[dict[str, Any]], str]


def notifier(given: str) -> Notify:
    """The notifier: sends one item's `to_dict`, and returns the error, or "".

    Args:
        given: "desktop", or a command with its arguments.

    Raises:
        UsageError: it cannot be used here.
    """
    if given.strip() == DESKTOP:
        return _desktop()
    arguments = command_words("--notify", given)
    if shutil.which(arguments[0]) is None:
        raise UsageError(f"--notify: no program {arguments[0]!r}", "desktop, or a command with its arguments")
    return lambda need: hand_over(arguments, need, _environment(need))


def command_words(option: str, given: str) -> list[str]:
    """A command as its words.

    Raises:
        UsageError: it has none, or a quote is not closed.
    """
    try:
        words = shlex.split(given)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None
    if not words:
        raise UsageError(f"{option} names no command", "give a command with its arguments")
    return words


def hand_over(arguments: Sequence[str], value: Any, environment: dict[str, str] | None = None) -> str:
    """Run a command with a value as JSON on stdin; returns what went wrong, or "".

    No shell reads the value, so nothing in it can be a command.
    """
    try:
        done = subprocess.run(
            arguments,
            input=json_text(value),
            text=True,
            encoding="utf-8",
            env=None if environment is None else os.environ | environment,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"{arguments[0]}: no answer within {TIMEOUT_S} s"
    except OSError as error:
        return f"{arguments[0]}: {error.strerror or error}"
    return f"{arguments[0]} ended with {done.returncode}" if done.returncode else ""


def _environment(need: dict[str, Any]) -> dict[str, str]:
    return {f"SB_WATCH_{name.upper()}": str(need[name] or "") for name in _FIELDS}


def _desktop() -> Notify:
    """Notifications of the desktop's own program."""
    sender, script = shutil.which("notify-send"), shutil.which("osascript")
    if sender:
        first, marked_up = [sender, "--app-name=sb", "--"], True
    elif script:
        first, marked_up = [script, *(word for line in _SCRIPT for word in ("-e", line))], False
    else:
        raise UsageError(
            "--notify desktop: neither notify-send nor osascript is here", "--notify 'COMMAND ARGUMENTS'"
        )

    def notify(need: dict[str, Any]) -> str:
        body = escape(_body(need), quote=False) if marked_up else _body(need)
        return hand_over([*first, _title(need), body], need)

    return notify


def _title(need: dict[str, Any]) -> str:
    return f"sb · {need['agent']}" if need["agent"] else "sb"


def _body(need: dict[str, Any]) -> str:
    """A text that begins with our word, so that it passes for no option."""
    return "\n".join(filter(None, (f"{need['state']}: {need['object']}", need["why"], need["command"])))
