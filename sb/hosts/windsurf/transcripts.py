"""Windsurf's transcripts: JSON lines of steps, written only where its `post_cascade_response_with_transcript` hook is on.

Its documentation says that steps may change. Times and tokens are not in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sb.hosts.hooks.calls.fields import table, text
from sb.hosts.hooks.event import NativeCall
from sb.hosts.transcripts import Item, RecordedCall, Session, TranscriptReader, find_transcripts

if TYPE_CHECKING:
    from sb.hosts.install.host import Places


class WindsurfReader(TranscriptReader):
    host = "windsurf"
    source = "its hooks documentation"

    def files(self, places: Places) -> Iterator[Path]:
        folder = places.home / ".windsurf" / "transcripts"
        return find_transcripts(folder, 0, lambda path: path.suffix == ".jsonl")

    def place(self, file: Path) -> tuple[str, str]:
        return file.stem, ""

    def read(self, record: dict[str, Any], session: Session) -> Iterator[Item]:
        step = table(record, text(record, "type"))
        ok = True if record.get("status") == "done" else None
        command, path = text(step, "command_line", "command"), text(step, "path", "file_path")
        if command:
            folder = text(step, "cwd")
            call = NativeCall("Shell", {"command": command}, cwd=folder, folder_unknown=not folder)
            yield RecordedCall(call, session.cwd, ok=ok)
        elif record.get("type") == "code_action" and path:
            yield RecordedCall(NativeCall("Write", {"file_path": path}), session.cwd, ok=ok)


READER = WindsurfReader()
