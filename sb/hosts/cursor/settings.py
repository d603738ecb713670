"""How is Cursor joined?

A command that is missing lets calls run; one that prints nothing is said to block them, so the wrapper prints an object.
Before an edit, and before a tool that is no shell, MCP call or reading, there is only preToolUse, so it is registered for
all. One unknown event name made Cursor drop the whole file: only documented ones stand here.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from sb.hosts.install.entries import Entry
from sb.hosts.install.host import WAITS_S, Host, Places, Wanted

_GATES = ("preToolUse", "beforeShellExecution", "beforeMCPExecution", "beforeReadFile")
_EVENTS = (
    *_GATES,
    "postToolUse",
    "postToolUseFailure",
    "afterShellExecution",
    "afterMCPExecution",
    "beforeSubmitPrompt",
    "sessionStart",
    "sessionEnd",
    "stop",
    "subagentStart",
    "subagentStop",
    "preCompact",
)


def _entries(wanted: Wanted) -> list[Entry]:
    return [Entry(("hooks", event), _handler(event, wanted)) for event in _EVENTS]


def _handler(event: str, wanted: Wanted) -> dict[str, Any]:
    args = wanted.args("cursor", event in _GATES)
    handler: dict[str, Any] = {"command": " ".join([shlex.quote(str(wanted.wrapper)), *args])}
    handler["timeout"] = WAITS_S
    if len(args) > 1:
        handler["failClosed"] = True
    return handler


def _file(places: Places) -> Path:
    return places.home / ".cursor" / "hooks.json"


CURSOR = Host(
    name="cursor",
    user_file=_file,
    project_file=lambda places: places.project / ".cursor" / "hooks.json",
    root="hooks",
    entries=_entries,
    extras=(("version", 1),),
    closes=True,
    steps=("Cursor reads the file when it is saved; Settings > Hooks shows what it runs",),
)
