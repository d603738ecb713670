"""Calls that are in no run belong to one of their process, in the home of its configuration."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sb.kernel.review.runs import RunState, first_events, runs_at
from sb.log.search import events_at
from sb.runtime import open_runtime
from tests.conftest import CommandLine

PROGRAM = """
import os, sys
from sb.kernel import SafetyClass, ToolCallRefused, governed

@governed
def look(place: str) -> str:
    "Look somewhere."
    return place

@governed(safety_class=SafetyClass.LOCAL_WRITE)
def keep(text: str) -> str:
    "Keep a note."
    return text

"""


def run(folder: Path, body: str, *, code: int = 0) -> str:
    program = folder / "my-notes.py"
    program.write_text(PROGRAM + body, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, cwd=folder, check=False, timeout=60
    )
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def test_a_program_that_opened_nothing_is_one_run_with_a_start_and_an_end(home: Path, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "deep").mkdir()
    assert run(tmp_path / "deep", "print(look('here'), look('there'))") == "here there\n"
    with open_runtime() as runtime:
        (found,) = runs_at(runtime.log, first_events(runtime.log)).values()
    assert (found.intent, found.host, found.project) == ("my-notes.py", "python", str(tmp_path))
    assert found.state is RunState.FINISHED
    assert found.events == 4


def test_what_another_process_met_can_be_approved_from_the_command_line(
    home: Path, tmp_path: Path, sb: CommandLine
) -> None:
    refused = run(tmp_path, "keep('milk')", code=1)
    command = "sb runtime-guard approve-contract kernel my-notes.keep"
    assert (
        f"ToolCallRefused: my-notes.keep: the contract of my-notes.keep is new; an operator can approve it: {command}"
        in (" ".join(refused.split()))
    )
    assert "Keep a note." in sb("runtime-guard", "show", "kernel", "my-notes.keep").out
    assert sb(*command.split()[1:], "--reason", "notes are ours").code == 0
    asked = run(tmp_path, "keep('milk')", code=1)
    assert "my-notes.keep cannot be undone: it declares no reversal" in " ".join(asked.split())
    (request,) = sb("approvals", "list", "--json").json["items"]
    assert sb("approvals", "approve", request["id"], "--reason", "notes stay").code == 0
    assert run(tmp_path, "print(keep('milk'), keep('tea'))") == "milk tea\n"


def test_a_forked_child_has_a_run_of_its_own(home: Path, tmp_path: Path) -> None:
    body = """
look('before')
if (child := os.fork()) == 0:
    print(look('child'), flush=True)
    sys.exit()
assert os.waitpid(child, 0)[1] == 0
print(look('parent'))
"""
    assert run(tmp_path, body).split() == ["child", "parent"]
    with open_runtime() as runtime:
        found = list(runs_at(runtime.log, first_events(runtime.log)).values())
        assert sorted(item.events for item in found) == [3, 4]
        assert {item.state for item in found} == {RunState.FINISHED}


def test_a_home_that_cannot_be_used_lets_no_call_through(home: Path, tmp_path: Path) -> None:
    home.mkdir(parents=True)
    (home / "config.yaml").write_text("no_such_setting: 1\n", encoding="utf-8")
    os.chmod(home / "config.yaml", 0o600)
    assert "ConfigError" in run(tmp_path, "print(look('here'))", code=1)
    assert "here" not in run(tmp_path, "print(look('h' + 'ere'))", code=1).replace("'h' + 'ere'", "")


@pytest.mark.parametrize("threads", [8])
def test_threads_share_the_run_of_the_process(home: Path, tmp_path: Path, threads: int) -> None:
    body = f"""
import threading
seen = []
made = [threading.Thread(target=lambda n=n: seen.append(look(str(n)))) for n in range({threads})]
[one.start() for one in made]
[one.join() for one in made]
print(len(seen))
"""
    assert run(tmp_path, body) == f"{threads}\n"
    with open_runtime() as runtime:
        firsts = first_events(runtime.log)
        assert len(firsts) == len(events_at(runtime.log, firsts)) == 1


HOTEL = """
import os
from pathlib import Path
from sb.kernel import ReversalClass, ReversalSpec, SafetyClass, governed, register_governed

ROOMS = Path(os.environ["ROOMS"])

@governed(safety_class=SafetyClass.LOCAL_WRITE)
def cancel(room: str) -> None:
    "Give a room back."
    (ROOMS / room).unlink()

@governed(
    safety_class=SafetyClass.LOCAL_WRITE,
    reversal=ReversalSpec(ReversalClass.REVERSIBLE, "hotel.cancel", reversal_args={"room": "args.room"}),
)
def book(room: str) -> None:
    "Take a room."
    (ROOMS / room).touch()

def register(registry):
    register_governed(registry, book, cancel)
"""


def test_what_it_did_is_approved_before_and_undone_after_by_sb_in_another_process(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rooms = tmp_path / "rooms"
    rooms.mkdir()
    monkeypatch.setenv("ROOMS", str(rooms))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "hotel.py").write_text(HOTEL, encoding="utf-8")
    home.mkdir(parents=True, mode=0o700)
    (home / "config.yaml").write_text('tools: ["hotel:register"]\n', encoding="utf-8")
    os.chmod(home / "config.yaml", 0o600)

    def process(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    process("-m", "sb", "init")
    for tool_id in ("hotel.book", "hotel.cancel"):
        process("-m", "sb", "runtime-guard", "approve-contract", "kernel", tool_id, "--reason", "our rooms")
    process("-c", "from hotel import book; book('12')")
    assert [room.name for room in rooms.iterdir()] == ["12"]
    process("-m", "sb", "undo", "last", "--reason", "wrong room", "--yes")
    assert not list(rooms.iterdir())


@pytest.mark.parametrize("opened", [False, True])
def test_a_budget_used_up_outside_of_any_run_says_how_to_open_one(
    home: Path, tmp_path: Path, *, opened: bool
) -> None:
    around = "runtime.run('clerk')" if opened else "contextlib.nullcontext()"
    body = f"""
import contextlib, threading
from sb.runtime import open_runtime
runtime = open_runtime()
def route():
    with {around}:
        for number in range(12):
            try: look(str(number))
            except ToolCallRefused as refused: print(refused)
for thread in [threading.Thread(target=route) for _ in range(2)]:
    thread.start()
    thread.join()
"""
    refusals = run(tmp_path, body).splitlines()
    assert len(refusals) == (0 if opened else 4)
    for line in refusals:
        assert "the run's budget is used up: max_tool_calls = 20" in line
        assert "outside of any run" in line
        assert 'with runtime.run("AGENT")' in line
        assert "a new run has a budget" not in line
