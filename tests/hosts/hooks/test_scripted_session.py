"""The whole story, told to real processes: start, edits, a denied command, an approval from another terminal, undo, stop."""

from __future__ import annotations

import json
import os
from typing import Any

from tests.hosts.hooks.conftest import UNWATCHED, Host


class Terminal:
    """Another terminal of the same person."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def __call__(self, *arguments: str) -> str:
        env = {"PATH": os.environ["PATH"], "HOME": "/data/nobody", "SB_HOME": str(self._host.home)}
        assert self._host.forks is not None
        done = self._host.forks.run("-m", "sb", *arguments, env=env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def json(self, *arguments: str) -> Any:
        return json.loads(self(*arguments, "--json"))


def test_an_agent_works_a_person_approves_one_call_and_undoes_a_file(host: Host) -> None:
    host.mode = UNWATCHED
    terminal = Terminal(host)
    settings, notes = host.project / "settings.ini", host.project / "notes.md"
    settings.write_text("[shop]\nopen = yes\n", encoding="utf-8")

    def say(event: str, **fields: Any) -> str:
        done = host.ask(host.payload(event, **fields))
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    def call(tool: str, use_id: str, response: Any = None, **given: Any) -> str:
        fields = {"tool_name": tool, "tool_use_id": use_id, "tool_input": given}
        if response is None:
            return say("PreToolUse", **fields)
        return say("PostToolUse", **fields, tool_response=response)

    assert "sb memory search" in say("SessionStart", source="startup")
    edit = {"file_path": str(settings), "old_string": "yes", "new_string": "no"}
    assert call("Edit", "t1", **edit) == ""
    settings.write_text("[shop]\nopen = no\n", encoding="utf-8")
    assert call("Edit", "t1", {"userModified": False}, **edit) == ""
    assert call("Write", "t2", file_path=str(notes), content="closed") == ""
    notes.write_text("closed", encoding="utf-8")
    assert call("Write", "t2", {"type": "create"}, file_path=str(notes), content="closed") == ""

    output = json.loads(call("Bash", "t3", command="rm -rf /data/build"))["hookSpecificOutput"]
    assert output["permissionDecision"] == "deny"
    (waiting,) = terminal.json("approvals", "list")["items"]
    assert waiting["id"] in output["permissionDecisionReason"]
    assert waiting["agent"] == "claude-code"
    terminal("approvals", "approve", waiting["id"], "--reason", "it is only the build")
    assert call("Bash", "t4", command="rm -rf /data/build") == ""
    assert call("Bash", "t4", {"stdout": ""}, command="rm -rf /data/build") == ""
    assert say("Stop", stop_hook_active=False) == ""

    undone = terminal("undo", "--list")
    assert "settings.ini  yes" in undone
    mutations = terminal.json("undo", "--list")["items"]
    edited = next(mutation for mutation in mutations if str(settings) in json.dumps(mutation))
    terminal("undo", edited["mutation_id"], "--reason", "the shop stays open", "--yes")
    assert settings.read_text(encoding="utf-8") == "[shop]\nopen = yes\n"
    assert notes.read_text(encoding="utf-8") == "closed"

    assert say("SessionEnd", reason="prompt_input_exit") == ""
    assert json.loads(terminal("log", "verify", "--json"))["ok"]
    log = terminal("log", "tail", "--limit", "0")
    assert "asked       claude-code: rm -rf /data/build (host.shell.destructive)" in log
    assert "claude-code finished the run" in log
