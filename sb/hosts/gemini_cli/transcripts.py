"""Gemini CLI's sessions: JSON lines, and one JSON document a session in versions before 0.40 or so.

A line is a message, or `$set` with messages. The folder of the session stands in a file beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sb.hosts.hooks.calls.fields import table, text
from sb.hosts.hooks.event import NativeCall
from sb.hosts.transcripts import (
    Item,
    Prompt,
    RecordedCall,
    Reply,
    Session,
    TranscriptReader,
    blocks,
    find_transcripts,
    first_line,
    seconds,
    tokens,
    written,
)
from sb.kernel.review.session_usage import Used
from sb.kernel.review.usage import Tokens

if TYPE_CHECKING:
    from sb.hosts.install.host import Places

_CHATS = 3  # folders below tmp/: PROJECT/chats/SESSION
_PROJECT_ROOT = ".project_root"


class GeminiReader(TranscriptReader):
    host = "gemini-cli"
    source = "docs/cli/session-management.md names the folder and what is saved; the fields are those of its sources"
    counts_tokens = True
    single = (".json",)

    def files(self, places: Places) -> Iterator[Path]:
        base = places.named("GEMINI_CLI_HOME", "") / ".gemini" / "tmp"
        return find_transcripts(base, _CHATS, _is_chat)

    def place(self, file: Path) -> tuple[str, str]:
        chats = next((folder for folder in file.parents if folder.name == "chats"), None)
        return "", first_line(chats.parent / _PROJECT_ROOT) if chats else ""

    def read(self, record: dict[str, Any], session: Session) -> Iterator[Item]:
        changed = table(record, "$set")
        session.note(id=text(record, "sessionId"), at=seconds(record.get("startTime")))
        for message in (record, *blocks(record.get("messages")), *blocks(changed.get("messages"))):
            if message.get("type") == "gemini":
                yield from _message(message, session)
            elif message.get("type") == "user" and (asked := written(message.get("content"))):
                yield Prompt(asked, seconds(message.get("timestamp")))


def _is_chat(path: Path) -> bool:
    return "chats" in path.parts and path.suffix in (".json", ".jsonl")


def _message(message: dict[str, Any], session: Session) -> Iterator[Item]:
    at = seconds(message.get("timestamp"))
    session.note(at=at, model=text(message, "model"))
    answer = written(message.get("content"))
    if answer:
        yield Reply(answer, at)
    for block in blocks(message.get("toolCalls")):
        name, args, status = text(block, "name"), table(block, "args"), text(block, "status")
        if not name:
            continue
        folder = text(args, "dir_path", "directory") if name == "run_shell_command" else ""
        call = NativeCall(name, args, text(block, "id"), cwd=folder)
        ended = {"success": True, "error": False, "cancelled": False}.get(status)
        yield RecordedCall(call, session.cwd, seconds(block.get("timestamp")) or at, ended)
    used = table(message, "tokens")
    cached = tokens(used.get("cached"))
    counts = Tokens(
        max(tokens(used.get("input")) - cached, 0) + tokens(used.get("tool")),
        tokens(used.get("output")) + tokens(used.get("thoughts")),
        cached,
    )
    if counts:
        yield Used(text(message, "id") or str(at), text(message, "model"), counts, at)


READER = GeminiReader()
