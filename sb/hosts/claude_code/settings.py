"""Claude Code's settings.

The wrapper is named as it is. With `args` it is started without a shell; older versions, and other programs that read this
file, ignore `args`, and the wrapper then takes itself to be meant for this host. `/bin/sh` in its place would run the
payload as a script there. A command that cannot be started lets its calls run unless `onFailure` says otherwise, which
versions before 2.1.295 ignore. SessionEnd gets 1.5 s unless the entry says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sb.hosts.install.documents import find
from sb.hosts.install.host import STRICT, TIMEOUT_S, Host, Observation, Places, Wanted, peek

_EVENTS = (
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "UserPromptSubmit",
    "SessionStart",
    "SessionEnd",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "ConfigChange",
    "PermissionRequest",
    "PermissionDenied",
)


def _handler(event: str, wanted: Wanted) -> dict[str, Any]:
    gate = event == "PreToolUse"
    args = wanted.args("claude-code", gate)
    closed = {"onFailure": "block"} if gate else {}
    return {"type": "command", "command": str(wanted.wrapper), "args": args, "timeout": TIMEOUT_S, **closed}


def _observations(file: Path, places: Places) -> Iterator[Observation]:
    users = places.named("CLAUDE_CONFIG_DIR", ".claude") / "settings.json"
    for settings in dict.fromkeys((file, users, places.project / ".claude" / "settings.json")):
        if find(peek(STRICT, settings), ("disableAllHooks",)) is True:
            yield True, f"hooks are switched off by disableAllHooks in {settings}", "remove that key"


HOST = Host(
    name="claude-code",
    folder=".claude",
    folder_variable="CLAUDE_CONFIG_DIR",
    file="settings.json",
    project_file=".claude/settings.local.json",
    root="hooks",
    events=_EVENTS,
    handler=_handler,
    grouped=True,
    confiner_variable="CLAUDE_CODE_SHELL_PREFIX",
    can_fail_closed=True,
    servers=Host(
        name="claude-code",
        folder="",
        folder_variable="CLAUDE_CONFIG_DIR",
        file=".claude.json",
        project_file=".mcp.json",
        root="mcpServers",
        server={"type": "stdio"},
        steps=("start a new session of claude; /mcp shows the server",),
    ),
    steps=("start a new session of claude: one that is open may keep its old hooks; /hooks shows them",),
    observations=_observations,
)
