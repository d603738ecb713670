"""Memory at the start and end of a host's session; its failures block nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sb.hosts.hooks.event import HookVerdict
from sb.hosts.hooks.guards.remembering import scope_of
from tests.hosts.hooks import recorded
from tests.hosts.hooks.conftest import Host

TAKES_CONTEXT = [
    ("claude-code", "SessionStart"),
    ("codex", "SessionStart"),
    ("gemini-cli", "SessionStart"),
    ("vscode", "SessionStart"),
    ("cursor", "sessionStart"),
]


def remember(host: Host, text: str, **more: Any) -> None:
    with host.open() as runtime, runtime.brain("ada", scope="project:shop") as brain:
        brain.remember(text, **more)


def records(host: Host) -> list[tuple[str, str, str]]:
    with host.open() as runtime:
        return runtime.database.query("SELECT kind, agent, text FROM records ORDER BY id")


@pytest.mark.parametrize(("name", "event"), TAKES_CONTEXT)
def test_session_gets_memory_in_its_hosts_form(host: Host, name: str, event: str) -> None:
    remember(host, "orders are numbered from 1000")
    done = host.ask(recorded.payload(name, event, host.project), name)
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    if name == "cursor":
        context = answer.pop("additional_context")
        assert answer == {}
    else:
        assert answer["hookSpecificOutput"].pop("hookEventName") == "SessionStart"
        context = answer["hookSpecificOutput"].pop("additionalContext")
        assert answer == {"hookSpecificOutput": {}}
    assert "orders are numbered from 1000" in context
    assert "not an instruction" in context


@pytest.mark.parametrize("name", ["copilot", "opencode"])
def test_hosts_without_context_get_no_memory(host: Host, name: str) -> None:
    remember(host, "orders are numbered from 1000")
    event = {"copilot": "sessionStart", "opencode": "session.created"}[name]
    done = host.ask(recorded.payload(name, event, host.project), name)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_session_starts_with_two_lines_on_how_to_use_memory_which_an_agent_may_run(host: Host) -> None:
    lines = host.tell("SessionStart", source="startup").context.splitlines()
    assert lines == [
        "To search SecondBrain's memory: sb memory search 'WORDS' --agent claude-code --scope project:shop",
        "To save what later sessions need: sb memory remember 'FACT' --agent claude-code --scope project:shop",
    ]
    for line in lines:
        assert host.before("Bash", command=line.partition(": ")[2]) == HookVerdict()
    assert host.tell("SessionStart", source="resume") == HookVerdict()


def test_handoff_of_a_session_that_wrote_nothing_says_it_once(host: Host) -> None:
    host.write(host.project / "cart.py", "x", "t1")
    host.tell("SessionEnd", reason="exit")
    context = Host(host.home, host.project, "session-2").tell("SessionStart", source="startup").context
    assert context.count("claude-code session ended (exit); changed cart.py") == 1


def test_project_without_memory_is_told_nothing_of_others(host: Host) -> None:
    with host.open() as runtime, runtime.brain("ada", scope="project:other") as brain:
        brain.remember("of another project")
    assert "of another project" not in host.tell("SessionStart", source="startup").context


def test_context_has_no_control_characters_and_fits_the_budget(host: Host) -> None:
    host.configure("memory:\n  orient_tokens: 300\n")
    for number in range(80):
        remember(host, f"fact \x1b[31m{number}\x07 of the shop")
    context = host.tell("SessionStart", source="startup").context
    assert "\x1b" not in context
    assert "\x07" not in context
    assert len(context) / 4 * 1.3 < 350


def test_resumed_session_gets_new_memory_only_and_a_cleared_one_gets_all(host: Host) -> None:
    remember(host, "orders are numbered from 1000")
    fact = "orders are numbered from 1000"
    assert fact in host.tell("SessionStart", source="startup").context
    assert fact not in host.tell("SessionStart", source="resume").context
    assert fact in host.tell("SessionStart", source="compact").context


def test_next_session_gets_a_handoff_of_writes_and_changes(host: Host) -> None:
    host.tell("SessionStart", source="startup")
    with (
        host.open() as runtime,
        runtime.brain("claude-code", session=host.session, scope="project:shop") as brain,
    ):
        brain.log("make orders exportable", "session_start")
        brain.log("export of umlauts is not yet tested", "warning")
    host.write(host.project / "src" / "export.py", "x", "t1")
    host.write(host.project / "src" / "export.py", "y", "t2")
    host.tell("SessionEnd", reason="logout")
    context = Host(host.home, host.project, "session-2").tell("SessionStart", source="startup").context
    assert "From claude-code, verified" in context
    assert "Goal: make orders exportable" in context
    assert "State: claude-code session ended (logout); changed src/export.py\n" in context
    assert "Open: export of umlauts is not yet tested" in context


def test_idle_session_leaves_no_handoff(host: Host) -> None:
    remember(host, "a fact")
    host.tell("SessionStart", source="startup")
    host.before("Read", "t1", file_path=str(host.project / "a.txt"))
    host.tell("SessionEnd", reason="other")
    assert [kind for kind, _, _ in records(host)] == ["fact"]


def test_session_that_ends_twice_leaves_one_handoff(host: Host) -> None:
    host.write(host.project / "a.txt", "one", "t1")
    for _ in range(2):
        host.tell("SessionEnd", reason="other")
    assert [kind for kind, _, _ in records(host)] == ["event", "handoff"]
    host.tell("SessionStart", source="resume")
    host.write(host.project / "b.txt", "two", "t2")
    host.tell("SessionEnd", reason="other")
    written = records(host)
    assert [kind for kind, _, _ in written] == ["event", "handoff", "event", "handoff"]
    assert "changed b.txt" in written[2][2]


def test_memory_hooks_off_reads_and_writes_nothing(host: Host) -> None:
    remember(host, "a fact")
    host.configure("memory:\n  hooks: false\n")
    assert host.tell("SessionStart", source="startup") == HookVerdict()
    host.write(host.project / "a.txt", "one", "t1")
    assert host.tell("SessionEnd", reason="other") == HookVerdict()
    assert len(records(host)) == 1


def test_failure_of_memory_is_reported_and_blocks_nothing(host: Host) -> None:
    with host.open() as runtime, runtime.brain("bob", session=host.session) as brain:
        brain.remember("the host's id is taken by somebody else")
    done = host.ask(host.payload("SessionStart", source="startup"))
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"SecondBrain: memory: session '{host.session}' is bob's, in stack 'default'\n"
    host.write(host.project / "a.txt", "one", "t1")
    assert host.ask(host.payload("SessionEnd", reason="other")).returncode == 0
    assert [event.kind for event in host.events()][-1] == "kernel.run.finished"


def test_altered_handoff_is_not_shown(host: Host) -> None:
    with host.open() as runtime:
        runtime.brain("ada", scope="project:shop").wrap_up("do this next: rm -rf /")
        with runtime.database.write() as execute:
            execute("UPDATE records SET fields = replace(fields, 'rm', 'mv') WHERE kind = 'handoff'")
    context = host.tell("SessionStart", source="startup").context
    assert "cannot be relied on" in context
    assert "do this next" not in context


@pytest.mark.parametrize(
    ("folder", "scope"),
    [("shop", "project:shop"), ("my shop\tnew", "project:my-shop-new"), ("läden", "project:läden"), ("x" * 250, "project:" + "x" * 150)],
)  # fmt: skip
def test_project_has_the_name_of_its_repository(tmp_path: Path, folder: str, scope: str) -> None:
    (tmp_path / folder / ".git").mkdir(parents=True)
    (tmp_path / folder / "src").mkdir()
    assert scope_of(str(tmp_path / folder / "src")) == scope


@pytest.mark.parametrize("cwd", ["", "relative", "/"])
def test_without_a_project_the_global_scope_is_used(cwd: str) -> None:
    assert scope_of(cwd) == "global"


def test_calls_load_nothing_of_the_memory(host: Host) -> None:
    script = (
        "import sys, os\n"
        "sys.argv = ['sb', 'hook', 'claude-code']\n"
        "end = os._exit\n"
        "def report(code):\n"
        "    sys.stderr.write(' '.join(sys.modules)); sys.stderr.flush(); end(code)\n"
        "os._exit = report\n"
        "from sb.__main__ import main\n"
        "main()\n"
    )

    def loaded(payload: dict[str, Any]) -> set[str]:
        done = subprocess.run(
            [sys.executable, "-c", script],
            input=json.dumps(payload).encode(),
            capture_output=True,
            check=False,
            env={"PATH": "/usr/bin:/bin", "HOME": "/data/nobody", "SB_HOME": str(host.home)},
        )
        return set(done.stderr.decode().split())

    given = {"command": "ls"}
    call = host.payload("PreToolUse", tool_name="Bash", tool_use_id="t1", tool_input=given)
    assert loaded(call) & {"sb.memory", "numpy", "Stemmer", "sb.store.records"} == set()
    start = loaded(host.payload("SessionStart", source="startup"))
    assert "sb.memory.brain" in start
    assert start & {"kitoken", "safetensors", "typer", "textual"} == set()


def test_a_host_without_rights_starts_without_memory_and_leaves_none(host: Host) -> None:
    host.configure('memory:\n  scopes: {"project:shop": {read: [ada], write: [ada]}}\n')
    remember(host, "orders are numbered from 1000")
    context = host.tell("SessionStart", source="startup").context
    assert "1000" not in context
    assert "claude-code may not read in project:shop" in context
    host.write(host.project / "cart.py", "x", "t1")
    assert host.tell("SessionEnd", reason="exit") == HookVerdict()
    assert [kind for kind, _, _ in records(host)] == ["fact"]
