"""Codex's rollouts: JSON lines with a time, a type and a payload.

Its hooks are asked about commands, patches and calls of MCP servers, so only those are read. Tokens are written as the
sum of the session, with what a cache gave among the input.
"""

from __future__ import annotations

import shlex
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
    find_transcripts,
    seconds,
    tokens,
    written,
)
from sb.kernel.review.session_usage import Used
from sb.kernel.review.usage import Tokens

if TYPE_CHECKING:
    from sb.hosts.install.host import Places

_DAYS = 3  # folders below sessions/: YEAR/MONTH/DAY
_SHELLS = frozenset(("shell", "shell_command", "exec_command", "container.exec", "local_shell"))
_INSTRUCTIONS = "# AGENTS.md instructions"
_RUNS_A_SCRIPT = frozenset(("-c", "-lc"))


class CodexReader(TranscriptReader):
    host = "codex"
    source = (
        "its documentation names CODEX_HOME and the sessions folder; the fields are those of its open sources"
    )
    counts_tokens = True

    def files(self, places: Places) -> Iterator[Path]:
        home = places.named("CODEX_HOME", ".codex")
        for folder in ("sessions", "archived_sessions"):
            yield from find_transcripts(home / folder, _DAYS, _is_rollout)

    def read(self, record: dict[str, Any], session: Session) -> Iterator[Item]:
        at, kind, payload = seconds(record.get("timestamp")), record.get("type"), table(record, "payload")
        session.note(at=at)
        if kind in ("session_meta", "turn_context"):
            session.note(
                id=text(payload, "id") if kind == "session_meta" else "",
                cwd=text(payload, "cwd"),
                model=text(payload, "model"),
            )
        elif kind == "response_item" and payload.get("type") == "message":
            yield from _message(payload, at)
        elif kind == "response_item":
            yield from _response(payload, session, at)
        elif kind == "event_msg" and payload.get("type") == "token_count":
            used = _sum(table(table(payload, "info"), "total_token_usage"))
            if used:
                yield Used("", session.model, used, at)


def _is_rollout(path: Path) -> bool:
    return path.name.startswith("rollout-") and path.suffix == ".jsonl"


def _message(payload: dict[str, Any], at: float | None) -> Iterator[Item]:
    text = written(payload.get("content"))
    if text and payload.get("role") == "assistant":
        yield Reply(text, at)
    elif text and payload.get("role") == "user" and not _is_its_own(text):
        yield Prompt(text, at)


def _is_its_own(text: str) -> bool:
    """True if the program wrote it in the user's name: the folder, instructions of files, that a turn was stopped."""
    return text.startswith(_INSTRUCTIONS) or (text[0] == "<" and text[-1] == ">")


def _sum(usage: dict[str, Any]) -> Tokens:
    cached = tokens(usage.get("cached_input_tokens"))
    return Tokens(
        max(tokens(usage.get("input_tokens")) - cached, 0), tokens(usage.get("output_tokens")), cached
    )


def _response(payload: dict[str, Any], session: Session, at: float | None) -> Iterator[Item]:
    kind, use_id = payload.get("type"), text(payload, "call_id", "id")
    call = None
    if kind == "local_shell_call":
        action = table(payload, "action")
        call = _shell(action.get("command"), text(action, "working_directory"), use_id)
    elif kind == "function_call":
        name, args = text(payload, "namespace") + text(payload, "name"), table(payload, "arguments")
        if name in _SHELLS:
            call = _shell(args.get("command", args.get("cmd")), text(args, "workdir"), use_id)
        elif name == "apply_patch":
            call = NativeCall(name, {"command": text(args, "input", "patch", "text")}, use_id)
        elif name.startswith("mcp__"):
            call = NativeCall(name, args, use_id)
    elif kind == "custom_tool_call" and payload.get("name") == "apply_patch":
        call = NativeCall("apply_patch", {"command": text(payload, "input")}, use_id)
    elif kind in ("function_call_output", "custom_tool_call_output"):
        yield CallEnded(use_id, _succeeded(payload.get("output")))
    if call is not None:
        yield RecordedCall(call, session.cwd, at)


def _shell(command: Any, folder: str, use_id: str) -> NativeCall | None:
    """The command as its hooks see it: a script, without the shell that runs it."""
    if isinstance(command, list):
        words = [word for word in command if isinstance(word, str)]
        script = len(words) == 3 and words[1] in _RUNS_A_SCRIPT
        command = words[2] if script else shlex.join(words)
    if not isinstance(command, str) or not command:
        return None
    return NativeCall("Bash", {"command": command}, use_id, cwd=folder, folder_unknown=not folder)


def _succeeded(output: Any) -> bool:
    """True if a call succeeded: older versions write the exit code as JSON, newer ones in the text."""
    from sb.hosts.hooks.calls.fields import decoded

    value = decoded(output)
    metadata = value.get("metadata") if isinstance(value, dict) else None
    code = metadata.get("exit_code") if isinstance(metadata, dict) else None
    if isinstance(code, int):
        return code == 0
    excerpt = str(output)[:500] if isinstance(output, str) else ""
    return "Process exited with code" not in excerpt or "Process exited with code 0" in excerpt


READER = CodexReader()
