"""Calls: what one is about on one line, how it ended, and how long it took."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

from sb.base.text import revealed_line
from sb.kernel.calls.call import PATH_FIELDS
from sb.kernel.calls.intents import STEP_TOOL

OBJECTS = ("command", "file_path", "path", "url")  # arguments that say by themselves what a call is about
ARGV = "argv"  # a command as a list of words
_ALSO = (*PATH_FIELDS, "pattern", "query")  # the same, of hosts' tools
_SEPARATORS = frozenset(',="')
_QUIET = {"tool", "server", "keep"}  # said by the tool's name, or of no use in a row


def call_object(tool_id: str, args: Any) -> str:
    """The object of a call, without control characters; the tool's name where nothing is known of its arguments.

    Args:
        args: as the log has them, masked.
    """
    if not isinstance(args, Mapping):
        return revealed_line(tool_id)
    if tool_id == STEP_TOOL:
        return _one_line(f"{args.get('step')} (workflow {args.get('workflow')})")
    given = args.get("input")
    known = {**given, **args} if isinstance(given, Mapping) else dict(args)
    command = _command(known)
    if command:
        return _one_line(command)
    listed = known.get("paths")
    if isinstance(listed, list) and listed:
        more = f" and {len(listed) - 1} more" if len(listed) > 1 else ""
        return _one_line(f"{_verb(tool_id, known)} {listed[0]}{more}")
    about = next((known[name] for name in (*OBJECTS, *_ALSO) if isinstance(known.get(name), str)), "")
    if about:
        return _one_line(f"{_verb(tool_id, known)} {about}")
    values = given if isinstance(given, Mapping) else args
    return _one_line(f"{_name(tool_id, args)} {_pairs(values)}".rstrip())


def _command(args: Mapping[str, Any]) -> str:
    """The command line of a shell, or "" for other tools."""
    command, argv = args.get("command"), args.get(ARGV)
    if isinstance(command, str):
        return command
    return shlex.join(map(str, argv)) if isinstance(argv, list) else ""


def _verb(tool_id: str, args: Mapping[str, Any]) -> str:
    """The tool's verb: the host's own name for it, else the end of its id."""
    return str(args.get("tool") or tool_id.rpartition(".")[2]).lower()


def _name(tool_id: str, args: Mapping[str, Any]) -> str:
    return str(args.get("tool") or tool_id)


def _pairs(values: Mapping[str, Any]) -> str:
    """Values by name, amounts first: a narrow list leaves out the middle."""
    pairs = [(name, value) for name, value in values.items() if name not in _QUIET]
    pairs.sort(key=lambda pair: not _is_amount(pair[1]))
    return ", ".join(f"{name}={_text(value)}" for name, value in pairs)


def _is_amount(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(value: Any) -> str:
    """A text without quotes, unless it could pass for more than one value, or for none."""
    simple = isinstance(value, str) and value == value.strip() and not set(value) & _SEPARATORS
    return value if simple and value else json.dumps(value, ensure_ascii=False)


def _one_line(text: str) -> str:
    """A line break separates commands, so it stays visible."""
    return " ".join(revealed_line(text.replace("\t", " ").replace("\n", "\\n")).split())
