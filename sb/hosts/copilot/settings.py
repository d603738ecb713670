"""How is Copilot CLI joined?

It reads every file of a folder, so ours is a file of its own. A command that is missing makes it deny every tool call, so the entry
itself looks whether the wrapper is there. Payloads of events under camelCase names say by their fields which event they are.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from sb.hosts.install.entries import Entry
from sb.hosts.install.host import WAITS_S, Host, Places, Wanted

_EVENTS = (
    "preToolUse",
    "postToolUse",
    "postToolUseFailure",
    "userPromptSubmitted",
    "sessionStart",
    "sessionEnd",
    "agentStop",
)


def _entries(wanted: Wanted) -> list[Entry]:
    wrapper = shlex.quote(str(wanted.wrapper))
    command = f"[ ! -x {wrapper} ] || exec {wrapper} copilot"
    handler = {"type": "command", "bash": command, "timeoutSec": WAITS_S}
    return [Entry(("hooks", event), handler) for event in _EVENTS]


def _file(places: Places) -> Path:
    return places.named("COPILOT_HOME", ".copilot") / "hooks" / "sb.json"


COPILOT = Host(
    name="copilot",
    user_file=_file,
    project_file=lambda places: places.project / ".github" / "hooks" / "sb.json",
    root="hooks",
    entries=_entries,
    extras=(("version", 1),),
    steps=("start copilot again: it reads its hooks when it starts",),
)
