"""Gemini CLI's settings.

A command that is missing (exit 127 with a shell's message) blocks every tool call, so the entry itself checks for the wrapper. Timeouts are in milliseconds. The name is what `hooksConfig.disabled` and the fingerprints of project hooks go by.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sb.hosts.install.documents import find
from sb.hosts.install.host import RELAXED, TIMEOUT_S, Host, Observation, Places, Wanted, peek

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


def _handler(event: str, wanted: Wanted) -> dict[str, Any]:
    command = wanted.command_if_there("gemini-cli", event == "BeforeTool")
    return {"type": "command", "name": _NAME, "command": command, "timeout": TIMEOUT_S * 1000}


def _observations(file: Path, places: Places) -> Iterator[Observation]:
    for settings in dict.fromkeys((file, places.home / ".gemini" / "settings.json")):
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


HOST = Host(
    name="gemini-cli",
    folder=".gemini",
    file="settings.json",
    project_file=".gemini/settings.json",
    root="hooks",
    events=_EVENTS,
    handler=_handler,
    grouped=True,
    form=RELAXED,
    steps=("start gemini again; /hooks shows what it runs",),
    observations=_observations,
)
