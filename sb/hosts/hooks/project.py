"""Project and run of a host's event."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sb.base.repository import project_folder
from sb.hosts.hooks.event import HookEvent
from sb.hosts.hooks.guards.remotes import remotes_of
from sb.hosts.identity import run_id_of, session_token
from sb.kernel.run_context import CONTINUES, INTENT_UNSTATED, RunContext

_CONTINUED = ("resume", "fork")  # why a session starts that has calls under another id


def project_of(cwd: str) -> str:
    """The root of the git repository that a folder is in, else the folder; "" for none."""
    return project_folder(Path(os.path.realpath(cwd))) if os.path.isabs(cwd) else ""


def recorded_project(started_with: Mapping[str, Any], cwd: str) -> str:
    """The project of a session at its first event, or now where there is none yet."""
    return str(started_with.get("project", "")) or project_folder(Path(os.path.realpath(cwd)))


def context_of(event: HookEvent) -> RunContext:
    """The run of a host's session, the same in every process."""
    token = session_token(event.host, event.session_id)
    ctx = RunContext.create(
        event.host,
        intent=f"{event.host} session",
        session_id=event.session_id,
        trace_id=token[16:48],
        metadata={
            "host": event.host,
            "project": project_of(event.cwd),
            "subagent": event.agent_id,
            "remotes": remotes_of(event.cwd),
            INTENT_UNSTATED: True,
            CONTINUES: event.note if event.note in _CONTINUED else "",
        },
    )
    ctx.run_id = run_id_of(event.host, event.session_id)
    return ctx
