"""Project and run of a host's event."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

from sb.hosts.hooks.event import HookEvent
from sb.hosts.hooks.remotes import remotes_of
from sb.kernel.run_context import RunContext
from sb.repository import project_folder


def project_of(cwd: str) -> str:
    """The root of the git repository that a folder is in, else the folder; "" for none."""
    return project_folder(Path(os.path.realpath(cwd))) if os.path.isabs(cwd) else ""


def context_of(event: HookEvent) -> RunContext:
    """The run of a host's session, the same in every process."""
    identity = f"{event.host}\n{event.session_id}".encode()
    token = sha256(identity).hexdigest()
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
        },
    )
    ctx.run_id = f"run_{token[:16]}"
    return ctx
