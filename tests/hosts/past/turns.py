"""Transcripts with prompts, calls and answers, as three hosts write them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.hosts.transcripts.written import DAY, SESSION, at, lines


class Turn(NamedTuple):
    """A prompt, its calls as (tool, arguments, whether it succeeded), and the answer; "" for none yet."""

    prompt: str
    calls: Sequence[tuple[str, dict[str, Any], bool]] = ()
    answer: str = "Done."


def claude_code(
    home: Path, cwd: str, turns: Iterable[Turn], *, name: str = SESSION, session: str = SESSION
) -> Path:
    records: list[dict[str, Any]] = []

    def add(kind: str, content: Any) -> None:
        message = {"id": f"m{len(records)}", "model": "claude-x", "content": content}
        about = {"sessionId": session, "cwd": cwd, "timestamp": at(len(records))}
        records.append({"type": kind, **about, "message": message})

    for turn in turns:
        add("user", turn.prompt)
        add("assistant", [{"type": "text", "text": "Let me look at the rhubarb."}])
        for tool, given, ok in turn.calls:
            use_id = f"toolu_{len(records)}"
            add("assistant", [{"type": "tool_use", "id": use_id, "name": tool, "input": given}])
            add("user", [{"type": "tool_result", "tool_use_id": use_id, "content": "x", "is_error": not ok}])
        if turn.answer:
            add("assistant", [{"type": "text", "text": turn.answer}])
    return lines(home / ".claude" / "projects" / "-p" / f"{name}.jsonl", records)


def codex(home: Path, cwd: str, turns: Iterable[Turn]) -> Path:
    start = {"id": SESSION, "cwd": cwd, "cli_version": "0.169.0"}
    records: list[dict[str, Any]] = [{"timestamp": at(0), "type": "session_meta", "payload": start}]

    def add(payload: dict[str, Any]) -> None:
        records.append({"timestamp": at(len(records)), "type": "response_item", "payload": payload})

    def say(role: str, text: str) -> None:
        add({"type": "message", "role": role, "content": [{"type": f"{role}_text", "text": text}]})

    say("user", "<environment_context><cwd>/</cwd></environment_context>")
    for turn in turns:
        say("user", turn.prompt)
        say("assistant", "Let me look at the rhubarb.")
        for tool, given, ok in turn.calls:
            use_id = f"call_{len(records)}"
            if tool == "Bash":
                made = {"type": "function_call", "name": "shell", "arguments": json.dumps(given)}
            else:
                made = {"type": "custom_tool_call", "name": tool, "input": given["command"]}
            add({**made, "call_id": use_id})
            output = json.dumps({"metadata": {"exit_code": int(not ok)}})
            add({"type": "function_call_output", "call_id": use_id, "output": output})
        if turn.answer:
            say("assistant", turn.answer)
    folder = home / ".codex" / "sessions" / "2026" / "11" / "20"
    return lines(folder / f"rollout-{DAY}-{SESSION}.jsonl", records)


def gemini_cli(home: Path, cwd: str, turns: Iterable[Turn]) -> Path:
    project = home / ".gemini" / "tmp" / "shop"
    project.mkdir(parents=True, exist_ok=True)
    (project / ".project_root").write_text(cwd, encoding="utf-8")
    records: list[dict[str, Any]] = [{"sessionId": SESSION, "startTime": at(0), "kind": "main"}]

    def add(kind: str, **more: Any) -> None:
        records.append({"id": f"m{len(records)}", "timestamp": at(len(records)), "type": kind, **more})

    for turn in turns:
        add("user", content=[{"text": turn.prompt}])
        calls = [
            {
                "id": f"{tool}-{len(records)}",
                "name": tool,
                "args": given,
                "status": "success" if ok else "error",
            }
            for tool, given, ok in turn.calls
        ]
        add("gemini", content="Let me look at the rhubarb.", toolCalls=calls)
        if turn.answer:
            add("gemini", content=turn.answer)
    # It writes the whole list again now and then.
    records.append({"$set": {"messages": records[1:]}})
    return lines(project / "chats" / f"session-{DAY}T10-00-3f0c5a51.jsonl", records)
