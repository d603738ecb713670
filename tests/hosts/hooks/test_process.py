"""The process that a host starts: it answers whatever is wrong."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from sb.kernel.review.log_verification import verify
from sb.store import driver
from tests.hosts.hooks.conftest import UNWATCHED, Host
from tests.rows import rows

SILENT = (0, "", "")


def bash(host: Host, command: str, use_id: str = "t1") -> dict[str, Any]:
    given = {"command": command}
    return host.payload("PreToolUse", tool_name="Bash", tool_use_id=use_id, tool_input=given)


def read(host: Host) -> dict[str, Any]:
    given = {"file_path": str(host.project / "a.txt")}
    return host.payload("PreToolUse", tool_name="Read", tool_use_id="t9", tool_input=given)


def answered(done: subprocess.CompletedProcess[str]) -> tuple[int, str, str]:
    return done.returncode, done.stdout, done.stderr


def denied(done: subprocess.CompletedProcess[str]) -> str:
    """The reason of a denial that the host honours."""
    assert done.returncode == 0, done.stderr
    decided = json.loads(done.stdout)["hookSpecificOutput"]
    assert (decided["hookEventName"], decided["permissionDecision"]) == ("PreToolUse", "deny")
    return str(decided["permissionDecisionReason"])


def test_process_is_silent_on_allowed_calls_and_denies_in_the_hosts_form(
    host: Host,
) -> None:
    host.mode = UNWATCHED
    assert answered(host.run(bash(host, "make"))) == SILENT
    assert "Needs approval" in denied(host.run(bash(host, "rm -rf /data/build", "t2")))


@rows("payload", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"session_id": "s"', b'{"a": ' * 3000, b"{}" * 2])
def test_unreadable_input_blocks_with_one_line(host: Host, payload: bytes) -> None:
    done = host.ask(payload)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("SecondBrain: ")
    assert done.stderr.count("\n") == 1


@rows(
    "fields",
    [
        {"hook_event_name": "SomethingNew"},
        {"hook_event_name": "Notification", "message": "hi"},
        {"hook_event_name": 7},
        {"hook_event_name": "PostToolBatch", "tool_calls": "none"},
        {
            "hook_event_name": "PreToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": "ls"},
            "session_id": "",
        },
    ],
)
def test_unknown_events_and_odd_fields_are_answered_with_silence(host: Host, fields: dict[str, Any]) -> None:
    payload = {"session_id": "s", "transcript_path": "/t", "cwd": str(host.project), **fields}
    assert answered(host.ask(payload)) == SILENT


def test_an_unknown_host_is_named(host: Host) -> None:
    done = host.ask(bash(host, "ls"), "claud-code")
    assert (done.returncode, "claude-code" in done.stderr) == (2, True)


def test_twenty_megabytes_are_judged_by_their_digest(host: Host) -> None:
    path = host.project / "large.txt"
    given = {"file_path": str(path), "content": "x" * (20 << 20)}
    payload = host.payload("PreToolUse", tool_name="Write", tool_use_id="t1", tool_input=given)
    assert answered(host.run(payload)) == SILENT
    (event,) = host.events(kind="kernel.tool.dispatch")
    assert set((event.payload or {})["args"]["input"]) == {"sha256", "bytes"}


def broken_configuration(host: Host) -> None:
    host.configure("nonsense: 1\n")


def broken_project_file(host: Host) -> None:
    (host.project / "sb.yaml").write_text("safety_mode: [", encoding="utf-8")


def no_database(host: Host) -> None:
    host.configure("database: gone/brain.db\n")
    (host.home / "gone").write_text("a file where the folder should be", encoding="utf-8")


def damaged_database(host: Host) -> None:
    host.configure("")
    (host.home / "brain.db").write_bytes(b"not a database " * 1000)


def broken_rule_pack(host: Host) -> None:
    host.configure("hooks: {packs: [ours.yaml]}\n")
    (host.home / "ours.yaml").write_text("title: Ours\nrulez: []\n", encoding="utf-8")


FAULTS = [broken_configuration, broken_rule_pack, no_database, damaged_database]


@pytest.mark.parametrize("setting", ["hooks: {{packs: [{}]}}\n", "release: {{eval: [{}]}}\n"])
def test_agent_cannot_change_what_it_is_judged_by_outside_of_the_home(host: Host, setting: str) -> None:
    pack = host.project / "ours.yaml"
    pack.write_text("title: Ours\n", encoding="utf-8")
    host.configure(setting.format(pack))
    given = {"file_path": str(pack), "content": "title: Mine\n"}
    edit = host.payload("PreToolUse", tool_name="Write", tool_use_id="t1", tool_input=given)
    assert "decides how calls are judged" in denied(host.ask(edit))
    assert "decides how calls are judged" in denied(host.ask(bash(host, f"echo x > {pack}", "t2")))


def test_rule_pack_of_the_configuration_judges_calls(host: Host) -> None:
    host.mode = UNWATCHED
    host.configure("hooks: {packs: [ours.yaml]}\n")
    rule = "title: Ours\nrules: [{commands: deployer, class: destructive, reason: changes production}]\n"
    (host.home / "ours.yaml").write_text(rule, encoding="utf-8")
    assert (
        "deployer changes production (no snapshot: sb undo cannot restore what deployer does), so a person"
        in denied(host.ask(bash(host, "ls && deployer x")))
    )
    broken_rule_pack(host)
    assert "ours.yaml:2: rulez: unknown key" in denied(host.ask(bash(host, "make", "t2")))
    host.configure("hooks: {packs: [ours.yaml], unjudged: all}\n")  # then without the pack
    assert "deletes a folder" in denied(host.ask(bash(host, "rm -r /data/x", "t3")))


@pytest.mark.parametrize("fault", FAULTS, ids=lambda item: item.__name__)
def test_unjudged_call_is_denied_unless_it_reads_and_stderr_says_so(host: Host, fault: Any) -> None:
    fault(host)
    assert "cannot judge this call" in denied(host.ask(bash(host, "make")))
    for payload, item in (
        (read(host), "allowed without a verdict (hooks.unjudged = reads): "),
        (host.payload("Stop"), "event not recorded: "),
    ):
        done = host.ask(payload)
        assert (done.returncode, done.stdout) == (0, "")
        assert done.stderr.startswith("SecondBrain: ")
        assert item in done.stderr
        assert done.stderr.count("\n") == 1


def test_broken_project_file_lets_nothing_more_pass(
    host: Host,
) -> None:
    host.configure("hooks:\n  unjudged: all\npolicy:\n  - {deny: host.read, reason: not this}\n")
    assert "not this" in denied(host.ask(read(host)))
    broken_project_file(host)
    assert "not this" in denied(host.ask(read(host)))
    done = host.ask(bash(host, "make"))
    assert (done.returncode, done.stdout) == (0, "")
    assert "SecondBrain: the project's sb.yaml is ignored: " in done.stderr
    host.configure("hooks:\n  unjudged: none\n")
    assert "cannot judge this call" in denied(host.ask(read(host)))
    host.configure("")
    assert "cannot judge this call" in denied(host.ask(bash(host, "make", "t3")))
    done = host.ask(read(host))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (0, "", 1)


@pytest.mark.parametrize(("setting", "write", "look"), [("all", True, True), ("none", False, False)])
def test_hooks_unjudged_decides_which_calls_run_unjudged(
    host: Host, setting: str, write: bool, look: bool
) -> None:
    host.configure(f"hooks:\n  unjudged: {setting}\n")
    (host.home / "brain.db").write_bytes(b"not a database " * 1000)
    for payload, goes_on in ((bash(host, "make"), write), (read(host), look)):
        done = host.ask(payload)
        assert (done.stdout == "") is goes_on


def test_locked_database_is_answered_before_the_hosts_timeout(host: Host) -> None:
    host.configure("hooks:\n  deadline_seconds: 1\n")
    host.tell("SessionStart", source="startup")
    connection = driver.connect(host.home / "brain.db")
    connection.execute("BEGIN EXCLUSIVE")
    try:
        begun = time.monotonic()
        assert "took too long" in denied(host.run(bash(host, "make")))
        assert answered(host.run(read(host))) == SILENT
        assert time.monotonic() - begun < 60  # twice the deadline, and two starts on a busy machine
    finally:
        connection.rollback()
        connection.close()
    host.configure("hooks:\n  deadline_seconds: 20\n")
    assert answered(host.run(bash(host, "make", "t2"))) == SILENT


def test_two_sessions_at_once_do_not_disturb_each_other(host: Host) -> None:
    def session(name: str) -> None:
        client = Host(host.home, host.project, name)
        path = host.project / f"{name}.txt"
        for number in range(3):
            given = {"file_path": str(path), "content": str(number)}
            fields = {"tool_name": "Write", "tool_use_id": f"t{number}", "tool_input": given}
            assert answered(client.run(client.payload("PreToolUse", **fields))) == SILENT
            path.write_text(str(number), encoding="utf-8")
            assert answered(client.run(client.payload("PostToolUse", **fields, tool_response="ok"))) == SILENT

    threads = [threading.Thread(target=session, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(host.phases()) == ["done"] * 6 + ["intent"] * 6
    with host.open() as runtime:
        assert verify(runtime.log).ok


def test_killed_at_any_moment_the_next_event_is_answered_and_the_log_verifies(host: Host) -> None:
    host.tell("SessionStart", source="startup")
    command = [sys.executable, "-m", "sb", "hook", "claude-code"]
    env = {"PATH": "/usr/bin:/bin", "HOME": "/data/nobody", "SB_HOME": str(host.home)}
    for number in range(12):
        path = host.project / f"{number}.txt"
        given = {"file_path": str(path), "content": "x"}
        fields = {"tool_name": "Write", "tool_use_id": f"k{number}", "tool_input": given}
        payload = json.dumps(host.payload("PreToolUse", **fields)).encode()
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        assert process.stdin is not None
        process.stdin.write(payload)
        process.stdin.close()
        time.sleep(0.03 * number)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
        path.write_text("x", encoding="utf-8")
        host.after("Write", f"k{number}", **given)
    host.tell("Stop")
    with host.open() as runtime:
        assert verify(runtime.log).ok
        assert runtime.executor.in_doubt() == []
    assert host.phases().count("done") == 12


def loaded_by(host: Host, call: dict[str, Any]) -> set[str]:
    """The modules that a hook on a call loads."""
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
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=json.dumps(call).encode(),
        capture_output=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", "HOME": "/data/nobody", "SB_HOME": str(host.home)},
    )
    return set(done.stderr.decode().split())


def test_the_hook_loads_nothing_of_the_command_line(host: Host) -> None:
    loaded = loaded_by(host, bash(host, "make"))
    assert "sb.hosts.hooks.judging" in loaded
    heavy = {
        "typer",
        "textual",
        "rich",
        "yaml",
        "asyncio",
        "sqlite_utils",
        "cryptography",
        "importlib.metadata",
        "ssl",
    }
    assert loaded & heavy == set()


# Each module costs a hook without the helper a quarter of a millisecond or more.
MOST_MODULES = 249  # three hold tables that stood in others
OFF_BY_DEFAULT = (
    *(
        "sb.kernel.red_team",
        "sb.kernel.boundaries",
        "sb.kernel.agent_charter",
        "sb.kernel.release_tuple",
        "sb.kernel.context_sources",
        "sb.kernel.replay",
        "sb.kernel.durable_execution",
    ),
    *(
        "sb.base.classification",
        "sb.entity.inference",
        "sb.stack",
        "sb.entity",
        "sb.memory",
        "sb.hosts.hooks.guards.screening",
    ),
)


@pytest.mark.parametrize("tool", ["Bash", "Write"])
def test_hook_loads_nothing_of_parts_that_are_off(host: Host, tool: str) -> None:
    written = {"file_path": str(host.project / "a.txt"), "content": "x"}
    write = host.payload("PreToolUse", tool_name="Write", tool_use_id="w", tool_input=written)
    loaded = loaded_by(host, bash(host, "make") if tool == "Bash" else write)
    assert [name for name in sorted(loaded) if name.startswith(OFF_BY_DEFAULT)] == []
    assert len([name for name in loaded if name.partition(".")[0] == "sb"]) <= MOST_MODULES


def test_hook_typed_at_a_terminal_says_what_it_is_for(tmp_path: Path) -> None:
    for arguments in (["hook"], ["hook", "--help"], ["hook", "claude-code", "--help"]):
        done = subprocess.run(
            [sys.executable, "-m", "sb", *arguments],
            input=b"",
            capture_output=True,
            check=False,
            cwd=tmp_path,
        )
        assert b"Usage: sb hook" in done.stdout
        assert done.returncode == 0


def test_at_a_terminal_nothing_is_waited_for(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "sb", "hook", "claude-code"]
    try:
        done = subprocess.run(
            command, stdin=theirs, capture_output=True, check=False, cwd=tmp_path, timeout=60
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert (done.returncode, b"sb install HOST" in done.stderr) == (2, True)


def test_call_that_takes_long_to_judge_is_denied_within_the_deadline(host: Host) -> None:
    host.configure("hooks:\n  deadline_seconds: 1\n")
    begun = time.monotonic()
    payload = bash(host, "rm -rf /data/build") | {"cwd": "/a" * 50_000}
    assert "too long" in denied(host.run(payload))
    assert time.monotonic() - begun < 60


def test_a_process_without_an_output_still_refuses(host: Host) -> None:
    closed = ["/bin/sh", "-c", f'exec "{sys.executable}" -m sb hook claude-code >&- 2>&-']
    environment = {"SB_HOME": str(host.home), "HOME": str(host.project.parent), "PATH": "/usr/bin:/bin"}
    given = json.dumps(bash(host, "rm -rf /data/build")).encode()
    assert subprocess.run(closed, input=given, env=environment, check=False, timeout=60).returncode == 2
