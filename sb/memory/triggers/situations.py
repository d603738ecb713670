"""Situations of calls: the same for a host's call and for one of the executor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sb.kernel.calls.call import PATH_FIELDS
from sb.memory.triggers.precondition import Situation

_LONGEST_TEXT = 500  # characters of an argument; longer ones are contents of files


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
        is_call=True,
    )
