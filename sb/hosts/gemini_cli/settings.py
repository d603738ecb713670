"""How is Gemini CLI joined?

A command that is missing (exit 127 with a shell's message) blocks every tool call, so the entry itself looks whether the
wrapper is there. Timeouts are in milliseconds. The name is what `hooksConfig.disabled` and the fingerprints of project hooks go by.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from sb.hosts.install.documents import find
from sb.hosts.install.entries import Entry
from sb.hosts.install.host import RELAXED, WAITS_S, Host, Places, Sight, Wanted, peek

_EVENTS = (
    "BeforeTool",
    "AfterTool",
    "BeforeAgent",
    "AfterAgent",
    "SessionStart",
    "SessionEnd",
    "PreCompress",
)
_NAME = "secondbrain"


def _entries(wanted: Wanted) -> list[Entry]:
    wrapper = shlex.quote(str(wanted.wrapper))
    command = f"[ ! -x {wrapper} ] || exec {wrapper} gemini-cli"
    handler = {"type": "command", "name": _NAME, "command": command, "timeout": WAITS_S * 1000}
    return [Entry(("hooks", event), {"hooks": [handler]}) for event in _EVENTS]


def _file(places: Places) -> Path:
    return places.home / ".gemini" / "settings.json"


def _sights(file: Path, places: Places) -> Iterator[Sight]:
    for settings in dict.fromkeys((file, _file(places))):
        switches = find(peek(RELAXED, settings), ("hooksConfig",))
        if find(switches, ("enabled",)) is False:
            yield True, f"hooks are switched off by hooksConfig.enabled in {settings}", "/hooks enable-all"
        disabled = find(switches, ("disabled",))
        if isinstance(disabled, list) and _NAME in disabled:
            yield (
                True,
                f"{_NAME} is switched off by hooksConfig.disabled in {settings}",
                f"/hooks enable {_NAME}",
            )


GEMINI_CLI = Host(
    name="gemini-cli",
    user_file=_file,
    project_file=lambda places: places.project / ".gemini" / "settings.json",
    root="hooks",
    entries=_entries,
    form=RELAXED,
    steps=("start gemini again; /hooks shows what it runs",),
    sights=_sights,
)
