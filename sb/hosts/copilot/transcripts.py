"""Copilot CLI's event logs: JSON lines with a type and data, one file a session. Tokens are not read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sb.hosts.copilot.events import SEPARATOR
from sb.hosts.hooks.calls.fields import table, text
from sb.hosts.hooks.event import NativeCall
from sb.hosts.transcripts import (
    CallEnded,
    Item,
    RecordedCall,
    Session,
    TranscriptReader,
    find_transcripts,
    seconds,
)

if TYPE_CHECKING:
    from sb.hosts.install.host import Places


class CopilotReader(TranscriptReader):
    host = "copilot"
    source = "its documentation names COPILOT_HOME; the program ships a schema of the events"

    def files(self, places: Places) -> Iterator[Path]:
        folder = places.named("COPILOT_HOME", ".copilot") / "session-state"
        return find_transcripts(folder, 1, lambda path: path.name == "events.jsonl")

    def place(self, file: Path) -> tuple[str, str]:
        return file.parent.name, ""

    def read(self, record: dict[str, Any], session: Session) -> Iterator[Item]:
        at, data = seconds(record.get("timestamp")), table(record, "data")
        session.note(at=at, cwd=text(table(data, "context"), "cwd"))
        name = text(data, "toolName")
        if record.get("type") == "tool.execution_start" and name:
            server, tool = text(data, "mcpServerName"), text(data, "mcpToolName")
            if server and tool:
                name = f"mcp__{server}__{tool}"
            args, use_id = table(data, "arguments"), text(data, "toolCallId")
            call = NativeCall(name, args, use_id, server=server, separator=SEPARATOR)
            yield RecordedCall(call, session.cwd, at)
        elif record.get("type") == "tool.execution_complete":
            yield CallEnded(text(data, "toolCallId"), data.get("success") is not False)


READER = CopilotReader()
