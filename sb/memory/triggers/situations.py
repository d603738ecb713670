"""Situations of calls: the same for a host's call and for one of the executor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sb.base.secrets.redaction import redact_text
from sb.base.text import plain, shorten
from sb.kernel.calls.call import PATH_FIELDS
from sb.memory.triggers.precondition import LONGEST_PART, Situation

_LONGEST_TEXT = 500  # characters of an argument; longer ones are contents of files
_LONGEST_VALUE = 80  # of one by which a call is known
_LONGEST_COMMAND = 2_000  # of what is masked before it is cut
_NOT_ARGUMENTS = (
    "tool",
    "why",
    "cwd",
    "description",
    "timeout",
)  # of a call in the log, or by which no call is known


def of_call(
    args: Mapping[str, Any],
    tool: str,
    *,
    text: str = "",
    task: str = "",
    paths: Iterable[str] = (),
    error: str = "",
) -> Situation:
    """A call as triggers see it: its short arguments, the files that it names, its tool, and its error.

    Args:
        text: its effect in words. task: what the session is about. paths: further files. error: with which it ended.
    """
    values = (item for value in args.values() for item in (value if isinstance(value, list) else [value]))
    texts = [value for value in values if isinstance(value, str) and len(value) <= _LONGEST_TEXT]
    named = [path for name in (*PATH_FIELDS, "file") if isinstance(path := args.get(name), str)]
    return Situation(
        " ".join(filter(None, (*texts, text))),
        task,
        tuple(dict.fromkeys([*named, *paths])),
        tool,
        error,
        call_line(args, tool),
        is_call=True,
    )


def call_line(args: Mapping[str, Any], tool: str) -> str:
    """A call in one line, by which it is known when it is tried again: its command, else its tool and its target.

    The same for a call that is about to be made and for its arguments in the log; secrets are masked.
    """
    given = args.get("input")
    values = given if isinstance(given, Mapping) else args
    command = values.get("command")
    if isinstance(command, list):
        command = " ".join(map(str, command))
    if not isinstance(command, str) or not command.strip():
        paths = [value for name in PATH_FIELDS if isinstance(value := values.get(name), str)]
        named = (f"{name}={value}" for name, value in values.items() if name not in _NOT_ARGUMENTS)
        command = " ".join(
            (
                str(args.get("tool") or tool),
                *(paths or (item for item in named if len(item) <= _LONGEST_VALUE)),
            )
        )
    return shorten(redact_text(plain(command[:_LONGEST_COMMAND], one_line=True)).strip(), LONGEST_PART)
