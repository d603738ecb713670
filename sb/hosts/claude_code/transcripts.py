"""Claude Code's transcripts: one file of JSON lines a session, and one for each of its subagents.

A response with several blocks is several lines, each with the usage of the whole response so far.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sb.hosts.hooks.calls.fields import table, text
from sb.hosts.hooks.event import NativeCall
from sb.hosts.transcripts import (
    CallEnded,
    Item,
    Prompt,
    RecordedCall,
    Reply,
    Session,
    TranscriptReader,
    blocks,
    dollars,
    find_transcripts,
    seconds,
    tokens,
    written,
)
from sb.kernel.review.session_usage import Used
from sb.kernel.review.usage import Tokens

if TYPE_CHECKING:
    from sb.hosts.install.host import Places

_SUBAGENTS = 3  # folders below projects/: PROJECT/SESSION/subagents
# What the program writes in a user's name: its own commands and their output, reminders, and that a turn was stopped.
_NOT_ASKED = (
    "<command-",
    "<local-command",
    "<bash-",
    "<ide_",
    "<system-reminder>",
    "<task-notification>",
    "<user-memory-input>",
    "Caveat: ",
    "[Request interrupted",
)


class ClaudeCodeReader(TranscriptReader):
    host = "claude-code"
    source = "its documentation names the folder and `transcript_path`; the fields are those of the program's files"
    counts_tokens = True

    def files(self, places: Places) -> Iterator[Path]:
        projects = places.named("CLAUDE_CONFIG_DIR", ".claude") / "projects"
        return find_transcripts(projects, _SUBAGENTS, lambda path: path.suffix == ".jsonl")

    def companions(self, file: Path) -> Iterator[Path]:
        return find_transcripts(file.with_suffix("") / "subagents", 1, lambda path: path.suffix == ".jsonl")

    def read(self, record: dict[str, Any], session: Session) -> Iterator[Item]:
        at = seconds(record.get("timestamp"))
        message = table(record, "message")
        session.note(id=text(record, "sessionId"), cwd=text(record, "cwd"), at=at)
        for block in blocks(message.get("content")):
            kind = block.get("type")
            if kind == "tool_use" and text(block, "name"):
                call = NativeCall(text(block, "name"), table(block, "input"), text(block, "id"))
                yield RecordedCall(call, session.cwd, at)
            elif kind == "tool_result":
                yield CallEnded(text(block, "tool_use_id"), block.get("is_error") is not True)
        yield from _texts(record, message, at)
        usage = table(message, "usage")
        written_for = table(usage, "cache_creation")
        hour, minutes = (tokens(written_for.get(f"ephemeral_{time}_input_tokens")) for time in ("1h", "5m"))
        if usage.get("cache_creation_input_tokens") is not None:
            minutes = max(tokens(usage["cache_creation_input_tokens"]) - hour, 0)
        used = Tokens(
            tokens(usage.get("input_tokens")),
            tokens(usage.get("output_tokens")),
            tokens(usage.get("cache_read_input_tokens")),
            minutes,
            hour,
        )
        if record.get("type") == "assistant" and used:
            session.note(model=text(message, "model"))
            key, model = text(message, "id") or text(record, "uuid"), text(message, "model")
            yield Used(key, model, used, at, dollars(record.get("costUSD")))


def _texts(record: dict[str, Any], message: dict[str, Any], at: float | None) -> Iterator[Item]:
    """The prompts and replies of one record."""
    content, kind = message.get("content"), record.get("type")
    if kind == "assistant":
        text = written([block for block in blocks(content) if block.get("type") == "text"])
        if text:
            yield Reply(text, at)
    elif kind == "user" and not (record.get("isMeta") or record.get("isCompactSummary")):
        parts = [content] if isinstance(content, str) else [block.get("text") for block in blocks(content)]
        asked = [part for part in parts if isinstance(part, str) and not part.lstrip().startswith(_NOT_ASKED)]
        text = written(asked)
        if text:
            yield Prompt(text, at, record.get("isSidechain") is True)


READER = ClaudeCodeReader()
