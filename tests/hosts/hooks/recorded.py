"""Payloads of hosts: the files of tests/hosts/hooks/payloads, and the events that each host asks about before a call."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "payloads"
HOSTS = sorted(folder.name for folder in FOLDER.iterdir() if folder.is_dir())

# Events on which a call can be stopped.
ASKING = {
    "claude-code": ["PreToolUse"],
    "codex": ["PreToolUse", "PreToolUse.apply_patch", "PreToolUse.mcp"],
    "copilot": ["preToolUse", "preToolUse.create", "pascal.PreToolUse"],
    "cursor": ["preToolUse", "beforeShellExecution", "beforeMCPExecution", "beforeReadFile"],
    "gemini-cli": ["BeforeTool", "BeforeTool.write_file", "BeforeTool.mcp"],
    "opencode": ["tool.execute.before"],
    "vscode": ["PreToolUse", "PreToolUse.create_file"],
    "windsurf": ["pre_read_code", "pre_write_code", "pre_run_command", "pre_mcp_tool_use"],
}


def names(host: str) -> list[str]:
    return sorted(path.name.removesuffix(".json") for path in (FOLDER / host).glob("*.json"))


def payload(host: str, name: str, project: Path) -> dict[str, Any]:
    text = (FOLDER / host / f"{name}.json").read_text(encoding="utf-8")
    read: dict[str, Any] = json.loads(text.replace("@project@", str(project)))
    return read
