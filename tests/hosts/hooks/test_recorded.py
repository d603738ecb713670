"""Each documented event of each host is read, answered and recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sb.hosts.registry import WITH_HOOKS, adapter_for
from sb.kernel.review.log_verification import verify
from tests.hosts.hooks import recorded
from tests.hosts.hooks.conftest import Host
from tests.rows import rows

ALL = [(host, name) for host in recorded.HOSTS for name in recorded.names(host)]
# Two hosts say the same of a session's start and end: whose file the entry is in decides.
ALIKE = {
    ("codex", "SessionStart"),
    ("codex", "SessionEnd"),
    ("claude-code", "SessionStart"),
    ("gemini-cli", "SessionStart"),
    ("gemini-cli", "SessionEnd"),
    ("copilot", "pascal.SessionStart"),
}

CLAUDE_EVENTS = (
    "PreToolUse PostToolUse PostToolUseFailure PostToolBatch PermissionRequest PermissionDenied UserPromptSubmit SessionStart SessionEnd "
    "Stop SubagentStop SubagentStart PreCompact PostCompact Notification ConfigChange UserPromptExpansion StopFailure CwdChanged "
    "FileChanged DirectoryAdded Setup InstructionsLoaded MessageDisplay PreModelSwitch PostModelSwitch TeammateIdle TaskCreated "
    "TaskCompleted Elicitation ElicitationResult WorktreeCreate WorktreeRemove"
)

# One session of each host, in the order in which it tells of it, and what of its calls is on record then.
SESSIONS: dict[str, tuple[list[str], list[tuple[str, str]]]] = {
    "claude-code": (
        ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolBatch", "Stop", "SessionEnd"],
        [("host.shell.network", "intent"), ("host.shell.network", "done")],
    ),
    "codex": (
        [
            *("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PreToolUse.apply_patch"),
            *("PostToolUse.apply_patch", "PreToolUse.mcp", "Interrupt", "SessionEnd"),
        ],
        [
            *(("host.shell.network", "intent"), ("host.shell.network", "done")),
            *(("host.write", "intent"), ("host.write", "done"), ("host.mcp", "intent"), ("host.mcp", "unreported")),
        ],
    ),
    "copilot": (
        [
            *("sessionStart", "userPromptSubmitted", "preToolUse", "postToolUse", "preToolUse.create"),
            *("postToolUseFailure.create", "pascal.PreToolUse", "pascal.PostToolUse", "agentStop", "sessionEnd"),
        ],
        [
            *(("host.shell.network", "intent"), ("host.shell.network", "done")),
            *(("host.write", "intent"), ("host.write", "failed"), ("host.shell.read", "done")),
        ],
    ),
    "cursor": (
        [
            *("sessionStart", "beforeSubmitPrompt", "preToolUse", "afterFileEdit", "postToolUse", "preToolUse.shell"),
            *("beforeShellExecution", "afterShellExecution", "postToolUse.shell", "beforeMCPExecution"),
            *("afterMCPExecution", "beforeReadFile", "postToolUse.read", "postToolUseFailure", "stop", "sessionEnd"),
        ],
        [
            *(("host.write", "intent"), ("host.write", "done")),
            *(("host.shell.network", "intent"), ("host.shell.network", "done")),
            *(("host.mcp", "intent"), ("host.mcp", "done"), ("host.read", "done")),
        ],
    ),
    "gemini-cli": (
        [
            *("SessionStart", "BeforeAgent", "BeforeModel", "BeforeTool", "AfterTool", "BeforeTool.write_file"),
            *("AfterTool.write_file", "BeforeTool.mcp", "AfterTool.mcp", "AfterAgent", "SessionEnd"),
        ],
        [
            *(("host.shell.network", "intent"), ("host.shell.network", "done")),
            *(("host.write", "intent"), ("host.write", "done"), ("host.mcp", "intent"), ("host.mcp", "failed")),
        ],
    ),
    "opencode": (
        ["session.created", "chat.message", "tool.execute.before", "tool.execute.after", "session.idle", "session.deleted"],
        [("host.write", "intent"), ("host.write", "done")],
    ),
    "vscode": (
        ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PreToolUse.create_file", "Stop"],
        [
            *(("host.shell.network", "intent"), ("host.shell.network", "done")),
            *(("host.write", "intent"), ("host.write", "unreported")),
        ],
    ),
    "windsurf": (
        [
            *("pre_user_prompt", "pre_read_code", "post_read_code", "pre_write_code", "post_write_code"),
            *("pre_run_command", "post_run_command", "pre_mcp_tool_use", "post_mcp_tool_use", "post_cascade_response"),
        ],
        [
            *(("host.read", "done"), ("host.write", "intent"), ("host.write", "done")),
            *(("host.shell.network", "intent"), ("host.shell.network", "done")),
            *(("host.mcp", "intent"), ("host.mcp", "done")),
        ],
    ),
}  # fmt: skip


def neutral(host: str, name: str) -> Any:
    """The answers that leave a call to the host and its person."""
    if host != "cursor":
        return None
    event = name.partition(".")[0]
    if event in ("beforeShellExecution", "beforeMCPExecution"):
        return {"permission": "ask"}
    if event in ("preToolUse", "beforeReadFile", "beforeTabFileRead", "subagentStart"):
        return {"permission": "allow"}
    return {"continue": True} if event == "beforeSubmitPrompt" else {}


@rows("host, name", ALL)
def test_sender_is_recognised_by_its_payload(host: str, name: str, tmp_path: Path) -> None:
    sent = recorded.payload(host, name, tmp_path)
    others = () if (host, name) in ALIKE else WITH_HOOKS
    for named in (host, *others):
        sender = adapter_for(named, sent).host
        assert sender == host, named


def test_every_event_that_claude_code_has_is_there() -> None:
    assert {name.partition(".")[0] for name in recorded.names("claude-code")} == set(CLAUDE_EVENTS.split())


@pytest.mark.parametrize("name", recorded.HOSTS)
def test_a_session_is_answered_neutrally_and_put_on_record(host: Host, name: str) -> None:
    host.configure('hooks: {mcp: {"mcp*tracker*": read, "MCP:*": read}}\nmemory: {hooks: false}\n')
    hooks, calls = SESSIONS[name]
    others = [event for event in recorded.names(name) if event not in hooks]
    for event in (*[other for other in others if not about_a_call(name, other)], *hooks):
        done = host.ask(recorded.payload(name, event, host.project), name)
        assert (done.returncode, done.stderr) == (0, ""), event
        answer = json.loads(done.stdout) if done.stdout else None
        if event.lower().startswith("sessionstart"):
            answer = without_usage(answer)
        assert answer == neutral(name, event), event
    with host.open() as runtime:
        events = list(runtime.log.events(agent=name))
        assert verify(runtime.log).ok
        assert len({event.subject.run_id for event in events}) == 1
    dispatched = [event for event in events if event.kind == "kernel.tool.dispatch"]
    phases = [
        (item.subject.tool_id, (item.payload or {}).get("state") or (item.payload or {})["phase"])
        for item in dispatched
    ]
    assert phases == calls
    started = next(event.payload or {} for event in events if event.kind == "kernel.run.started")
    assert started["host"] == name
    database = b"".join(path.read_bytes() for path in host.home.glob("brain.db*"))
    assert b"ada@example.com" not in database
    assert b"CONFIDENTIAL" not in database


def without_usage(answer: dict[str, Any] | None) -> dict[str, Any] | None:
    """The answer to the start of a session but for the lines on how to use memory, which hosts with context get."""
    if answer and "hookSpecificOutput" in answer:
        assert "To search SecondBrain's memory" in answer["hookSpecificOutput"]["additionalContext"]
        return None
    if answer:
        assert "To search SecondBrain's memory" in answer.pop("additional_context")
    return answer


def about_a_call(host: str, name: str) -> bool:
    """True if an event that is in no session above would add a call to the record, or is asked about one."""
    return name in recorded.ASKING[host] or name.lower().startswith(("post", "pre_", "permissionrequest"))


@pytest.mark.parametrize("name", ["PostToolUse.mcp", "PostToolUse"])
def test_report_without_announcement_is_recorded(host: Host, name: str) -> None:
    assert host.ask(recorded.payload("codex", name, host.project), "codex").returncode == 0
    with host.open() as runtime:
        (event,) = runtime.log.events(agent="codex", kind="kernel.tool.dispatch")
    assert (event.payload or {})["state"] == "done"
