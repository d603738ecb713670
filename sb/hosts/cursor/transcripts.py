"""Cursor's agent transcripts: JSON lines with a role and a message, without times, results and tokens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sb.hosts.hooks.calls.fields import table, text
from sb.hosts.hooks.event import NativeCall
from sb.hosts.transcripts import Item, RecordedCall, Session, TranscriptReader, blocks, find_transcripts

if TYPE_CHECKING:
    from sb.hosts.install.host import Places

_TRANSCRIPTS = "agent-transcripts"
_SUBAGENTS = 4  # folders below projects/: PROJECT/agent-transcripts/SESSION/subagents


class CursorReader(TranscriptReader):
    host = "cursor"
    source = "its hooks documentation names `transcript_path`; neither folder nor fields are documented"

    def files(self, places: Places) -> Iterator[Path]:
        projects = places.home / ".cursor" / "projects"
        return find_transcripts(
            projects, _SUBAGENTS, lambda path: path.suffix == ".jsonl" and _TRANSCRIPTS in path.parts
        )

    def place(self, file: Path) -> tuple[str, str]:
        return file.stem, ""

    def read(self, record: dict[str, Any], session: Session) -> Iterator[Item]:
        for block in blocks(table(record, "message").get("content")):
            tool, args = text(block, "name"), table(block, "input")
            if block.get("type") != "tool_use" or not tool:
                continue
            folder = text(args, "working_directory", "workingDirectory")
            if tool == "Shell":  # as its hooks see it
                shell = {"command": text(args, "command")}
                call = NativeCall(tool, shell, text(block, "id"), cwd=folder, folder_unknown=not folder)
            else:
                call = NativeCall(tool, args, text(block, "id"))
            yield RecordedCall(call, session.cwd)


READER = CursorReader()
