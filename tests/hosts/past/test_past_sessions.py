"""Import of past sessions, as a person uses it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sb.config import current_config
from sb.memory.operator_view import Overseer
from tests.conftest import CommandLine
from tests.hosts.past import turns
from tests.hosts.past.turns import Turn
from tests.hosts.transcripts.written import SESSION, claude_response, lines

PATCH = "*** Begin Patch\n*** Update File: {cwd}/cart.py\n-a\n+b\n*** End Patch"
HOSTS: list[tuple[str, Callable[..., Path], tuple[str, str], str]] = [
    ("claude-code", turns.claude_code, ("Edit", "file_path"), "Bash"),
    ("codex", turns.codex, ("apply_patch", "command"), "Bash"),
    ("gemini-cli", turns.gemini_cli, ("replace", "file_path"), "run_shell_command"),
]


def rows(order: str = "id") -> list[tuple[Any, ...]]:
    """Text, type, speaker, session, scope and state of all that is kept."""
    with Overseer(config=current_config()) as brain:
        return brain.database.query(
            "SELECT r.text, r.category, r.speaker, s.name, p.scope, r.state FROM records r"
            " JOIN memory_sessions s ON s.id = r.session JOIN places p ON p.id = r.place"
            f" WHERE r.state <> 'erased' ORDER BY r.{order}"
        )


def texts() -> list[str]:
    return [str(text) for text, *_ in rows()]


@pytest.mark.parametrize(
    ("host", "write", "edit", "shell"), HOSTS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_turn_becomes_what_was_asked_done_and_answered(
    host: str, write: Callable[..., Path], edit: tuple[str, str], shell: str, user: Path, sb: CommandLine
) -> None:
    cwd, (tool, name) = str(user / "shop"), edit
    value = PATCH.format(cwd=cwd) if name == "command" else f"{cwd}/cart.py"
    changed = {name: value, **({} if name == "command" else {"old_string": "a", "new_string": "b"})}
    calls = [
        (tool, changed, True),
        (shell, {"command": "pytest -q"}, True),
        (shell, {"command": "make x"}, False),
    ]
    write(user, cwd, [Turn("Round the totals half up.", calls, "They round now, as invoices do.")])
    tried = sb("memory", "import", "--from", host, "--dry-run", "--json").json
    assert (tried["added"], rows()) == (3, [])
    done = sb("memory", "import", "--from", host, "--trusted", "--json").json
    assert (done["added"], done["quarantined"], done["transcripts"]) == (3, 0, 1)
    session = f"past:{host}:{SESSION}"
    assert rows() == [
        ("Round the totals half up.", "task_update", "user", session, "project:shop", "active"),
        ("Changed cart.py.\nRan pytest -q.", "artifact", host, session, "project:shop", "active"),
        ("They round now, as invoices do.", "result", host, session, "project:shop", "active"),
    ]
    shown = sb("memory", "search", "what did we do about rounding totals?", "--since", "5200w", "-k", "1")
    assert f"2026-11-20 {host} {SESSION[:8]}\n    Round the totals half up." in shown.out
    [hit] = sb("memory", "search", "round totals", "-k", "1", "--json").json["items"]
    assert (hit["session"], hit["happened_at"][:10]) == (session, "2026-11-20")


def test_path_is_named_whole_where_the_project_is_unknown(user: Path, sb: CommandLine) -> None:
    call = ("write_file", {"file_path": "/srv/shop/cart.py", "content": "x"}, True)
    turns.gemini_cli(user, "", [Turn("One.", [call])])
    assert sb("memory", "import", "--from", "gemini-cli").code == 0
    assert "Changed /srv/shop/cart.py." in texts()


def test_what_a_program_writes_in_a_users_name_was_not_asked(user: Path, sb: CommandLine) -> None:
    contents: list[Any] = [
        "<command-name>/clear</command-name>",
        [{"type": "text", "text": "<ide_opened_file>x</ide_opened_file>"}, {"type": "text", "text": "One."}],
        "[Request interrupted by user]",
        [{"type": "tool_result", "tool_use_id": "t1", "content": "x"}],
    ]
    records: list[dict[str, Any]] = [
        {"type": "user", "sessionId": SESSION, "message": {"content": content}} for content in contents
    ]
    records += [{**records[0], "isMeta": True, "message": {"content": "Two."}}]
    path = lines(user / ".claude" / "projects" / "-p" / "x.jsonl", records)
    os.utime(path, (1_700_000_000,) * 2)
    assert sb("memory", "import", "--from", "claude-code").code == 0
    assert texts() == ["One."]


def test_past_sessions_are_quarantined_unless_told(user: Path, sb: CommandLine) -> None:
    turns.claude_code(user, str(user / "shop"), [Turn("Round the totals.")])
    done = sb("memory", "import", "--from", "claude-code", "--json").json
    assert (done["added"], done["quarantined"]) == (2, 2)
    assert sb("memory", "search", "round totals", "--json").json["items"] == []


def test_a_turn_that_goes_on_waits_for_its_answer(user: Path, sb: CommandLine) -> None:
    now = [Turn("One."), Turn("Two.", [("Bash", {"command": "ls"}, True)], "")]
    turns.claude_code(user, str(user / "shop"), now)
    assert sb("memory", "import", "--from", "claude-code").code == 0
    assert texts() == ["One.", "Done."]
    file = turns.claude_code(user, str(user / "shop"), now)
    os.utime(file, (time.time() - 3_600,) * 2)
    assert sb("memory", "import", "--from", "claude-code").code == 0
    assert texts() == ["One.", "Done.", "Two.", "Ran ls."]


def test_what_came_before_and_what_was_pruned_never_comes_again(user: Path, sb: CommandLine) -> None:
    cwd, other = str(user / "shop"), "second"
    turns.claude_code(user, cwd, [Turn("One."), Turn("Two.")])
    assert sb("memory", "import", "--from", "claude-code", "--trusted", "--json").json["added"] == 4
    turns.claude_code(user, cwd, [Turn("One."), Turn("Two."), Turn("Three.")], name=other, session=other)
    again = sb("memory", "import", "--from", "claude-code", "--trusted", "--json").json
    assert (again["added"], again["same"]) == (2, 8)
    assert sb("memory", "prune").code == 2
    assert sb("memory", "prune", "--session", "nobody", "--yes").err.count("nothing was erased") == 1
    gone = sb("memory", "prune", "--session", other, "--yes", "--json").json
    assert (len(gone["ids"]), texts()) == (2, ["One.", "Done.", "Two.", "Done."])
    gone = sb("memory", "prune", "--host", "claude-code", "--older-than", "1s", "--yes", "--json").json
    assert (len(gone["ids"]), texts()) == (4, [])
    assert sb("memory", "import", "--from", "claude-code", "--json").json["added"] == 0


def test_prune_takes_the_beginning_of_a_session_that_search_shows(user: Path, sb: CommandLine) -> None:
    cwd = str(user / "shop")
    for name in ("3f0c5a51-8c1b", "3f0c5a51-9d2c"):
        turns.claude_code(user, cwd, [Turn(f"Of {name}.", [], f"Done {name}.")], name=name, session=name)
    sb("memory", "import", "--from", "claude-code", "--trusted")
    both = sb("memory", "prune", "--session", "3f0c5a51", "--yes")
    assert (both.code, "is ambiguous" in both.err, len(texts())) == (2, True, 4)
    assert len(sb("memory", "prune", "--session", "3f0c5a51-8", "--yes", "--json").json["ids"]) == 2
    assert texts() == ["Of 3f0c5a51-9d2c.", "Done 3f0c5a51-9d2c."]


def test_prune_leaves_other_memories_alone(user: Path, sb: CommandLine) -> None:
    sb("memory", "remember", "The vault is blue.")
    sb("memory", "log", "Seen.", "--session", "past")
    turns.claude_code(user, str(user / "shop"), [Turn("One.")])
    sb("memory", "import", "--from", "claude-code", "--trusted")
    assert len(sb("memory", "prune", "--older-than", "1s", "--yes", "--json").json["ids"]) == 2
    assert texts() == ["The vault is blue.", "Seen."]


def test_secrets_are_masked_before_a_text_is_cut(user: Path, sb: CommandLine) -> None:
    key = "ghp_" + "0123456789abcdefghijklmnopqrstuvwxyz"[:36]
    calls = [("Bash", {"command": f"{'true; ' * 24}curl -H 'Authorization: {key}' x"}, True)]
    asked = f"{'word ' * 795}the token is {key} {'word ' * 50}"
    turns.claude_code(user, str(user / "shop"), [Turn(asked, calls, f"I used {key}.")], session=key)
    assert sb("memory", "import", "--from", "claude-code").code == 0
    everything = json.dumps(rows())
    assert len(texts()[0]) <= 4_000
    assert key[:8] not in everything
    assert "ghp_" not in everything


HOSTILE: list[Any] = [
    [],
    7,
    {"type": "user", "message": {"content": "\ud800 half\0 \x1b[2Jof a pair"}, "timestamp": {}},
    {"type": "user", "message": {"content": [[], {"text": 7}, {"text": "numbers"}]}, "timestamp": 1e300},
    {"type": "user", "message": "do it", "timestamp": "9999-99-99", "sessionId": ["x"], "cwd": 7},
    {
        "type": "user",
        "message": {"content": "elsewhere"},
        "sessionId": "a/../b\n",
        "cwd": "/\0/x" + "y" * 5_000,
    },
    claude_response(
        3, "../..", {"type": "tool_use", "name": "Edit", "input": {"file_path": ["x"], "edits": "[["}}
    ),
    claude_response(4, "/", {"type": "tool_use", "name": "Bash", "id": 7, "input": {"command": {"a": 1}}}),
    claude_response(
        5, "/", {"type": "tool_use", "name": "Write", "input": {"file_path": "x\0" * 999, "content": "y"}}
    ),
    claude_response(6, "/tmp/\ud800", {"type": "text", "text": "answered"}),
    claude_response(7, "/" + "x/" * 300_000, {"type": "text", "text": "from a folder that can be none"}),
]


def test_hostile_cut_and_newer_transcripts_end_in_counts(user: Path, sb: CommandLine) -> None:
    path = lines(user / ".claude" / "projects" / "-p" / "x.jsonl", HOSTILE)
    with path.open("a", encoding="utf-8") as file:
        file.write("[" * 50_000 + "\n")
        file.write('{"type": "user", "message": {"content": "' + "long " * 1_000_000 + '"}}\n')
        file.write('{"type": "v9", "body": {"parts": []}}\n')
        file.write('{"type": "user", "message": {"content": "cut sho')
    os.utime(path, (1_700_000_000,) * 2)
    began = time.process_time()
    done = sb("memory", "import", "--from", "claude-code")
    assert time.process_time() - began < 5  # resolving its longest folder would take ten times that
    assert (done.code, done.err.count("5 lines of 1 transcript could not be read")) == (0, 1)
    assert [text.replace("?", "") for text in texts()][1:3] == ["numbers", "elsewhere"]
    assert "from a folder that can be none" in texts()
    assert "\x1b" not in json.dumps(texts())


def test_a_path_names_a_transcript_or_a_folder(user: Path, sb: CommandLine, tmp_path: Path) -> None:
    file = turns.claude_code(tmp_path / "copy", str(user / "shop"), [Turn("One.")])
    for path in (file, tmp_path / "copy"):
        tried = sb("memory", "import", str(path), "--from", "claude-code", "--dry-run", "--json").json
        assert (tried["added"], tried["transcripts"]) == (2, 1)
    (tmp_path / "notes.txt").write_text("x", encoding="utf-8")
    for wrong, why in (
        (tmp_path / "nothing", "no such transcript"),
        (tmp_path / "notes.txt", "no transcript of claude-code"),
        (user / "shop", "no transcripts below"),
    ):
        failed = sb("memory", "import", str(wrong), "--from", "claude-code")
        assert (failed.code in (1, 2), failed.err.count("\n") <= 2) == (True, True)
        assert why in failed.err
    newer = lines(tmp_path / "newer.jsonl", [{"type": "v9", "body": {"asked": "One."}}])
    tried_newer = sb("memory", "import", str(newer), "--from", "claude-code", "--dry-run")
    assert (tried_newer.code, "no finished turn in 1 of 1 transcript" in tried_newer.err) == (0, True)
    assert "it keeps none" in sb("memory", "import", "--from", "codex").err
    assert "Missing argument 'FILE'" in sb("memory", "import").err
    assert "no importer 'claude' (did you mean" in sb("memory", "import", "--from", "claude").err
    for named in ([str(file)], []):
        assert 'did you mean "codex"' in sb("memory", "import", *named, "--from", "codx").err


# Reads its standard input after the first 500 events, and so waits there for the end.
CHILD = """
import sys
from pathlib import Path
from sb.config import current_config
from sb.hosts.install.host import Places
from sb.hosts.past.importing import past_sessions
from sb.log.event_log import EventLog
from sb.memory import Brain
from sb.memory.foreign.taking_in import take_in
config = current_config()
with Brain("imported", config=config) as brain:
    log = EventLog.of_home(brain.database, config.home)
    past = past_sessions("claude-code", Places({}, Path.cwd()), Path(sys.argv[1]), now=0.0)
    wait = lambda done: (print(done, flush=True), sys.stdin.read())
    take_in(brain, log, "claude-code", past.memories(), actor="ana", progress=wait)
"""


def test_an_import_that_was_killed_goes_on_where_it_was(user: Path, sb: CommandLine) -> None:
    path = turns.claude_code(
        user, str(user / "shop"), [Turn(f"Task {n}.", (), f"End {n}.") for n in range(300)]
    )
    command = [sys.executable, "-c", CHILD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"500\n"
        process.send_signal(signal.SIGKILL)
    assert (process.returncode, len(rows())) == (-signal.SIGKILL, 500)
    done = sb("memory", "import", "--from", "claude-code", "--json").json
    assert (done["added"], done["same"]) == (100, 500)
    assert texts() == [text for n in range(300) for text in (f"Task {n}.", f"End {n}.")]
