"""Work of the helper before it is asked, and after it has answered."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from sb.config import load_config
from sb.config.model import Config
from sb.hosts.hooks.opening import Opening
from sb.memory import Brain
from sb.memory.housekeeping import is_due
from sb.protocols.types import Fact
from sb.resident import worker
from sb.runtime import open_runtime
from sb.store.open_requests import OpenRequests
from sb.store.records.places import Place

# In a process of its own: the test's has imported everything.
JUDGED = """\
import json, sys
from pathlib import Path
from sb.config import load_config
from sb.hosts.hooks.judging import judge
from sb.hosts.registry import adapter_for
from sb.resident.warming import warm

home = Path(sys.argv[1])
warm()
config = load_config(env={"SB_HOME": str(home), "HOME": str(home)}, cwd=home, flags={})
for name, payload in json.load(sys.stdin).items():
    before = set(sys.modules)
    adapter = adapter_for("claude-code", payload)
    judge(config, adapter, adapter.read(payload))
    imported = sorted(module for module in set(sys.modules) - before if module.startswith("sb."))
    if imported:
        print(name, *imported)
"""
EVENTS: dict[str, dict[str, object]] = {
    "reads": {"hook_event_name": "PreToolUse", "tool_name": "Read", "tool_input": {"file_path": "a.txt"}},
    "runs": {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "make | tail"}},
    "deletes": {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "rm a.txt"}},
    "writes": {
        "hook_event_name": "PreToolUse",
        "tool_name": "Write",
        "tool_input": {"file_path": "a.txt", "content": "x"},
    },
    "wrote": {
        "hook_event_name": "PostToolUse",
        "tool_name": "Write",
        "tool_input": {"file_path": "a.txt", "content": "x"},
        "tool_response": "ok",
    },
    "calls a server": {"hook_event_name": "PreToolUse", "tool_name": "mcp__x__y", "tool_input": {}},
    "ends a turn": {"hook_event_name": "Stop"},
}


def test_events_are_judged_without_importing_more_of_sb(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    home = tmp_path / "home"
    home.mkdir()
    config = load_config(env={"SB_HOME": str(home), "HOME": str(home)}, cwd=home, flags={})
    with open_runtime(config, hosted=True):
        pass  # a database is made by more code than opens it
    session = {"session_id": "s1", "transcript_path": "/t", "cwd": str(tmp_path)}
    payloads = {name: {**session, "tool_use_id": name, **event} for name, event in EVENTS.items()}
    command = [sys.executable, "-c", JUDGED, str(home)]
    done = subprocess.run(command, input=json.dumps(payloads), capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("", 0), done.stderr


@pytest.fixture
def config(tmp_path: Path) -> Config:
    home = tmp_path / "home"
    home.mkdir()
    return load_config(env={"SB_HOME": str(home), "HOME": str(home)}, cwd=home, flags={})


def test_log_of_the_database_is_emptied_when_nobody_asks_and_not_before(config: Config) -> None:
    log = config.database.with_name("brain.db-wal")
    opening = Opening()
    with open_runtime(config, hosted=True) as another:
        another.log.append("kernel.tool.dispatch", {})
        opening.prepare(config)
        assert log.stat().st_size > 0
        opening.tidy()
        assert log.stat().st_size == 0
        opening.runtime(config)
        another.log.append("kernel.tool.dispatch", {})
        opening.tidy()  # somebody has asked meanwhile
        assert log.stat().st_size > 0
        opening.close()


def test_a_helper_does_the_housekeeping_of_memory(config: Config) -> None:
    with Brain("ada", config=config) as brain:
        brain.writer.keep_all([Fact(f"fact number {number}") for number in range(60)], Place("default"))
        opening = Opening()
        opening.prepare(config)
        while opening.tidy():
            pass
        assert not is_due(brain.space)
        opening.close()


def test_arguments_of_requests_that_are_over_go_once_the_host_has_its_answer(config: Config) -> None:
    opening, requests = Opening(), OpenRequests(config.home.open_requests)
    opening.prepare(config)
    requests.put("apr_over", {"command": "make"})
    opening.runtime(config)
    assert requests.ids() == {"apr_over"}
    opening.close()
    assert requests.ids() == set()


def test_child_that_waits_tidies_up_step_by_step_until_all_is_done(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(worker, "_QUIET_S", 0.01)
    lifeline, alive = os.pipe()
    tidied = []

    def tidy() -> bool:
        tidied.append(1)
        if len(tidied) == 3:
            os.close(alive)
        return len(tidied) < 3

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(tmp_path / "s"))
        listener.listen()
        assert worker._accepted(worker.Listeners(listener, listener), lifeline, tidy) is None
    os.close(lifeline)
    assert tidied == [1, 1, 1]
