"""Transcripts as hosts write them, made for tests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

Calls = Iterable[tuple[str, dict[str, Any]]]
SESSION = "3f0c5a51-8c1b-4b4e-9a7e-0d6f3f6f2a11"
DAY = "2026-11-20"


def lines(path: Path, records: Iterable[object]) -> Path:
    """Write records as JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def at(second: int) -> str:
    return f"{DAY}T10:{second // 60:02}:{second % 60:02}.000Z"


def claude_response(
    number: int,
    cwd: str,
    *content: Mapping[str, Any],
    usage: Mapping[str, object] | None = None,
    model: str = "claude-x",
) -> dict[str, Any]:
    """One line of an assistant's response."""
    message = {"id": f"msg_{number}", "role": "assistant", "model": model, "content": list(content)}
    return {
        "type": "assistant",
        "sessionId": SESSION,
        "cwd": cwd,
        "timestamp": at(number),
        "uuid": f"u{number}",
        "message": {**message, **({"usage": usage} if usage else {})},
    }


def claude_code(home: Path, cwd: str, calls: Calls, name: str = SESSION) -> Path:
    """A session of Claude Code with these calls, each answered."""
    records: list[dict[str, Any]] = [
        {"type": "file-history-snapshot", "snapshot": {}},
        {
            "type": "user",
            "sessionId": SESSION,
            "cwd": cwd,
            "timestamp": at(0),
            "message": {"content": "do it"},
        },
    ]
    for number, (tool, given) in enumerate(calls, 1):
        use = {"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": given}
        records.append(claude_response(number, cwd, use))
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": "ok", "is_error": False}
        records.append({"type": "user", "sessionId": SESSION, "cwd": cwd, "message": {"content": [result]}})
    return lines(home / ".claude" / "projects" / "-p" / f"{name}.jsonl", records)


def codex(home: Path, cwd: str, calls: Calls) -> Path:
    """A rollout of Codex with these commands and patches."""
    records: list[dict[str, Any]] = [
        {
            "timestamp": at(0),
            "type": "session_meta",
            "payload": {"id": SESSION, "cwd": cwd, "cli_version": "0.169.0"},
        },
        {"timestamp": at(0), "type": "turn_context", "payload": {"cwd": cwd, "model": "gpt-x"}},
    ]
    for number, (tool, given) in enumerate(calls, 1):
        if tool == "apply_patch":
            call = {
                "type": "custom_tool_call",
                "name": tool,
                "input": given["command"],
                "call_id": f"call_{number}",
            }
        else:
            arguments = json.dumps({"command": ["bash", "-lc", given["command"]], "workdir": cwd})
            call = {
                "type": "function_call",
                "name": "shell",
                "arguments": arguments,
                "call_id": f"call_{number}",
            }
        records.append({"timestamp": at(number), "type": "response_item", "payload": call})
        output = {
            "type": "function_call_output",
            "call_id": f"call_{number}",
            "output": '{"metadata": {"exit_code": 0}}',
        }
        records.append({"timestamp": at(number), "type": "response_item", "payload": output})
    return lines(
        home / ".codex" / "sessions" / "2026" / "11" / "20" / f"rollout-{DAY}-{SESSION}.jsonl", records
    )


def gemini_message(number: int, calls: Calls, tokens: Mapping[str, int] | None = None) -> dict[str, Any]:
    made = [
        {
            "id": f"{tool}-{number}-{index}",
            "name": tool,
            "args": given,
            "status": "success",
            "timestamp": at(number),
        }
        for index, (tool, given) in enumerate(calls)
    ]
    message = {
        "id": f"m{number}",
        "timestamp": at(number),
        "type": "gemini",
        "model": "gemini-x",
        "toolCalls": made,
    }
    return {**message, **({"tokens": tokens} if tokens else {})}


def gemini_cli(home: Path, cwd: str, calls: Calls, *, document: bool = False) -> Path:
    """A session of Gemini CLI, as lines or as the single document of older versions."""
    project = home / ".gemini" / "tmp" / "shop"
    project.mkdir(parents=True, exist_ok=True)
    (project / ".project_root").write_text(cwd, encoding="utf-8")
    about = {"sessionId": SESSION, "projectHash": "ab", "startTime": at(0), "kind": "main"}
    messages = [gemini_message(number, [call]) for number, call in enumerate(calls, 1)]
    path = project / "chats" / f"session-{DAY}T10-00-3f0c5a51.json"
    if document:
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({**about, "messages": messages}), encoding="utf-8")
        return path
    half = len(messages) // 2
    return lines(
        path.with_suffix(".jsonl"), [about, {"$set": {"messages": messages[:half]}}, *messages[half:]]
    )


def copilot(home: Path, cwd: str, calls: Calls) -> Path:
    """The events of a session of Copilot CLI."""
    start = {"sessionId": SESSION, "version": 1, "context": {"cwd": cwd}}
    records: list[dict[str, Any]] = [{"type": "session.start", "data": start, "timestamp": at(0)}]
    for number, (tool, given) in enumerate(calls, 1):
        call = {"toolCallId": f"t{number}", "toolName": tool, "arguments": given}
        records.append({"type": "tool.execution_start", "data": call, "timestamp": at(number)})
        ended = {"toolCallId": f"t{number}", "success": True}
        records.append({"type": "tool.execution_complete", "data": ended, "timestamp": at(number)})
    return lines(home / ".copilot" / "session-state" / SESSION / "events.jsonl", records)


def cursor(home: Path, cwd: str, calls: Calls) -> Path:
    """An agent transcript of Cursor."""
    records: list[dict[str, Any]] = [
        {"role": "user", "message": {"content": [{"type": "text", "text": "do it"}]}}
    ]
    for tool, given in calls:
        where = {"working_directory": cwd} if tool == "Shell" else {}
        use = {"type": "tool_use", "name": tool, "input": {**given, **where}}
        records.append({"role": "assistant", "message": {"content": [use]}})
    folder = home / ".cursor" / "projects" / "p" / "agent-transcripts" / SESSION
    return lines(folder / f"{SESSION}.jsonl", [*records, {"type": "turn_ended", "status": "success"}])


def windsurf(home: Path, cwd: str, calls: Calls) -> Path:
    """A transcript of Windsurf's Cascade."""
    records: list[dict[str, Any]] = [
        {"type": "user_input", "status": "done", "user_input": {"user_response": "do it"}}
    ]
    for tool, given in calls:
        if tool == "Write":
            step: dict[str, Any] = {
                "type": "code_action",
                "code_action": {"path": given["file_path"], "new_content": ""},
            }
        else:
            step = {"type": "run_command", "run_command": {"command_line": given["command"], "cwd": cwd}}
        records.append({**step, "status": "done"})
    return lines(home / ".windsurf" / "transcripts" / f"{SESSION}.jsonl", records)
