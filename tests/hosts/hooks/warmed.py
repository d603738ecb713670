"""One event that is judged where this is imported: what a process forked from there need not compile once more."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from sb.config import load_config
from sb.hosts.claude_code.events import ADAPTER
from sb.hosts.hooks.judging import judge

_EVENT = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_use_id": "t", "tool_name": "Bash"}


def _judge_one() -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        (folder / "sb").mkdir()
        (folder / "sb" / "config.yaml").write_text('policy:\n- {deny: "host.*"}\n', encoding="utf-8")
        config = load_config(env={"SB_HOME": str(folder / "sb")}, cwd=folder, flags={})
        event = ADAPTER.read({**_EVENT, "cwd": str(folder), "tool_input": {"command": "rm -rf build"}})
        assert judge(config, ADAPTER, event).reason
    finally:
        shutil.rmtree(folder)


_judge_one()
