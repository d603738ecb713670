"""Adapter for Windsurf's Cascade: reads its hook events and writes its answers.

Source: its documentation. It looks at exit codes alone: 2 from a hook that is asked before a call blocks it, and what
is on stderr says why. Calls have no id; the folder is told of commands only.
"""

from __future__ import annotations

import os
from typing import Any

from sb.hosts.hooks.event import Answer, Decision, HookEvent, Moment, NativeCall, Verdict
from sb.hosts.hooks.fields import decoded, table, text

HOST = "windsurf"
ASKS_ON: frozenset[str] = frozenset()
BLOCKED = 2

_MOMENTS = {"pre_user_prompt": Moment.PROMPT, "post_cascade_response": Moment.STOP}
_CALLS = frozenset(("read_code", "write_code", "run_command", "mcp_tool_use"))


def sent(payload: dict[str, Any]) -> bool:
    """Whether Windsurf sent it, by its fields."""
    return "agent_action_name" in payload


def read(payload: dict[str, Any]) -> HookEvent:
    """The event of a payload; unknown events and fields mean nothing to us."""
    name = text(payload, "agent_action_name")
    about = table(payload, "tool_info")
    when, _, what = name.partition("_")
    if what in _CALLS and when in ("pre", "post"):
        moment = Moment.BEFORE if when == "pre" else Moment.AFTER
        calls: tuple[NativeCall, ...] = (_call(what, about),)
    else:
        moment, calls = _MOMENTS.get(name, Moment.OTHER), ()
    folder = text(about, "cwd") or os.path.dirname(text(about, "file_path"))
    return HookEvent(HOST, name, moment, text(payload, "trajectory_id"), folder, calls)


def _call(what: str, about: dict[str, Any]) -> NativeCall:
    match what:
        case "read_code":
            return NativeCall("Read", {"file_path": text(about, "file_path")})
        case "write_code":
            edits = about.get("edits")
            return NativeCall("Write", {"file_path": text(about, "file_path"), "edits": edits})
        case "run_command":
            untold = not os.path.isabs(text(about, "cwd"))
            return NativeCall("Shell", {"command": text(about, "command_line")}, folder_untold=untold)
    server, tool = text(about, "mcp_server_name"), text(about, "mcp_tool_name")
    args = table(about, "mcp_tool_arguments")
    name = f"mcp__{server}__{tool}" if tool else ""
    return NativeCall(name, args, response=decoded(about.get("mcp_result")))


def answer(event: HookEvent, verdict: Verdict) -> Answer:
    """Silence for no opinion, else the exit code that blocks."""
    if event.moment is not Moment.BEFORE or verdict.decision is Decision.NONE:
        return Answer()
    return Answer(stderr=f"{verdict.reason}\n", code=BLOCKED)
