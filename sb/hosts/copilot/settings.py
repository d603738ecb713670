"""Copilot CLI's settings.

It reads every file of a folder, so ours is a file of its own. A command that is missing makes it deny every tool call, so the entry
itself checks for the wrapper. Payloads of events under camelCase names say by their fields which event they are.
"""

from __future__ import annotations

from typing import Any

from sb.hosts.install.host import TIMEOUT_S, Host, Wanted


def _handler(event: str, wanted: Wanted) -> dict[str, Any]:
    return {
        "type": "command",
        "bash": wanted.command_if_there("copilot", event == "preToolUse"),
        "timeoutSec": TIMEOUT_S,
    }


HOST = Host(
    name="copilot",
    folder=".copilot",
    folder_variable="COPILOT_HOME",
    file="hooks/sb.json",
    project_file=".github/hooks/sb.json",
    root="hooks",
    events=(
        "preToolUse",
        "postToolUse",
        "postToolUseFailure",
        "userPromptSubmitted",
        "sessionStart",
        "sessionEnd",
        "agentStop",
    ),
    handler=_handler,
    extras=(("version", 1),),
    steps=("start copilot again: it reads its hooks when it starts",),
)
