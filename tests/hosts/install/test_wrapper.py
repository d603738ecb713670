"""The wrapper that hosts run: it starts `sb`, and lets calls run if `sb` is missing."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from sb.config.home import Home
from sb.hosts.install.host import Wanted
from sb.hosts.install.wrapper import wrapper_problem, write_wrapper
from sb.hosts.registry import host_settings, installable
from tests.hosts.hooks import recorded
from tests.hosts.install.conftest import seed

RECORDER = """\
import json, os, sys
print(json.dumps({"argv": sys.argv[1:], "home": os.environ["SB_HOME"], "stdin": sys.stdin.read(), "path": sys.path}))
"""

# Where each host asks before a command is run, and what leaves it to the host where that is not silence.
GATES = {
    "claude-code": "PreToolUse",
    "codex": "PreToolUse",
    "copilot": "preToolUse",
    "cursor": "beforeShellExecution",
    "gemini-cli": "BeforeTool",
    "windsurf": "pre_run_command",
}
ASKING = ("claude-code", "cursor")  # these ask their own user
NEUTRAL = {"cursor": '{"permission": "ask"}'}


@pytest.fixture
def wrapper(tmp_path: Path, made: Path) -> Path:
    """A wrapper in a home whose name a shell would take apart."""
    home = Home(tmp_path / "o'neil & co" / ".sb")
    seed(home, made)
    return write_wrapper(home)


def run(
    command: list[str], payload: str = "{}", cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        input=payload,
        capture_output=True,
        text=True,
        cwd=cwd,
        env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "SB_RESIDENT": "false", **(env or {})},
        timeout=60,
        check=False,
    )


def point(wrapper: Path, **places: str) -> None:
    lines = wrapper.read_text("utf-8").splitlines(keepends=True)
    for number, line in enumerate(lines):
        name = line.partition("=")[0]
        if name in places:
            lines[number] = f"{name}={shlex.quote(places[name])}\n"
    wrapper.write_text("".join(lines), "utf-8")


@pytest.fixture
def recorder(wrapper: Path, tmp_path: Path) -> Path:
    """The wrapper with an `sb` that tells how it was called."""
    runtime = tmp_path / "runtime"
    runtime.mkdir()
    (runtime / "start.py").write_text(RECORDER, "utf-8")
    point(wrapper, runtime=str(runtime))
    return wrapper


@pytest.mark.parametrize(
    ("given", "reached"),
    [
        (["codex"], ["hook", "codex"]),
        ([], ["hook", "claude-code"]),
        (["cursor", "--fail-closed"], ["hook", "cursor"]),
    ],
)
def test_wrapper_passes_the_payload_and_the_home(
    given: list[str], reached: list[str], recorder: Path
) -> None:
    told = json.loads(run([str(recorder), *given], '{"a": "é"}').stdout)
    assert told["argv"] == reached
    assert told["home"] == str(recorder.parents[1])
    assert told["stdin"] == '{"a": "é"}'


def test_wrapper_runs_its_own_sb_and_no_code_of_the_project(wrapper: Path, tmp_path: Path) -> None:
    for name in ("sb.py", "typing.py", "json.py"):
        (tmp_path / name).write_text("raise SystemExit('code of the project')\n", "utf-8")
    done = run([str(wrapper), "--no-such-host"], cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)})
    assert "code of the project" not in done.stderr + done.stdout


@pytest.mark.parametrize("host", GATES)
def test_registered_command_stops_a_destructive_call(host: str, wrapper: Path, tmp_path: Path) -> None:
    entries = host_settings(host).entries(Wanted(wrapper))
    entry = next(one.value for one in entries if one.place[-1] == GATES[host])
    handler = entry.get("hooks", [entry])[0]
    shell = ["/bin/sh", "-c", handler.get("command") or handler.get("bash")]
    command = [handler["command"], *handler["args"]] if "args" in handler else shell
    asked = json.dumps(recorded.payload(host, GATES[host], tmp_path))
    assert {"make", "npm test"} & set(re.findall("make|npm test", asked))
    refused = run(command, re.sub("make|npm test", "rm -rf /data/build", asked), cwd=tmp_path)
    assert "deletes a folder" in refused.stdout + refused.stderr
    stops = '"ask"' if host in ASKING else '"deny"'
    assert refused.returncode == 2 if host == "windsurf" else stops in refused.stdout
    let_run = run(command, asked, cwd=tmp_path)
    assert (let_run.returncode, let_run.stdout) == (0, NEUTRAL.get(host, ""))


@pytest.mark.parametrize("host", installable())
@pytest.mark.parametrize("gone", ["python", "package", "runtime", "wrapper"])
def test_every_registered_command_lets_a_call_run_when_something_is_gone(
    host: str, gone: str, wrapper: Path, tmp_path: Path
) -> None:
    empty = tmp_path / "python"
    empty.write_text("#!/bin/sh\nexit 1\n", "utf-8")  # an interpreter without sb
    empty.chmod(0o755)
    if gone == "wrapper":
        wrapper.unlink()
    elif gone == "runtime":
        point(wrapper, runtime="/nonexistent")
    else:
        point(wrapper, python=str(empty) if gone == "package" else "/nonexistent", package="/nonexistent")
    entry = host_settings(host).entries(Wanted(wrapper))[0].value
    handler = entry.get("hooks", [entry])[0]
    if "args" in handler:
        assert gone == "wrapper" or run([handler["command"], *handler["args"]]).returncode == 0
        return
    done = run(["/bin/sh", "-c", handler.get("command") or handler["bash"]])
    # As each host documents.
    lets_run = (0,) if host in ("gemini-cli", "copilot") else (0, 127)
    assert done.returncode in lets_run
    assert done.stdout == ""
    if gone != "wrapper":
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("event", "answer"),
    [
        ("beforeShellExecution", {"permission": "ask"}),
        ("beforeMCPExecution", {"permission": "ask"}),
        ("preToolUse", {"permission": "allow"}),
        ("beforeReadFile", {"permission": "allow"}),
        ("subagentStart", {"permission": "allow"}),
        ("beforeSubmitPrompt", {"continue": True}),
        ("stop", {}),
    ],
)
@pytest.mark.parametrize("name", ["cursor", "claude-code"])
def test_cursor_gets_an_object_even_from_entries_that_were_meant_for_another(
    event: str, answer: dict[str, object], name: str, wrapper: Path
) -> None:
    point(wrapper, python="/nonexistent")
    for indent in (None, 1):
        payload = json.dumps(
            {"cursor_version": "3", "hook_event_name": event, "command": "ls\n"}, indent=indent
        )
        done = run([str(wrapper), name], payload)
        assert (done.returncode, json.loads(done.stdout)) == (0, answer)
    quoted = json.dumps({"hook_event_name": event, "prompt": 'say "cursor_version"'})
    assert run([str(wrapper), name], quoted).stdout == ""


def test_fail_closed_denies_when_sb_is_missing(wrapper: Path) -> None:
    point(wrapper, python="/nonexistent")
    done = run([str(wrapper), "cursor", "--fail-closed"])
    assert done.returncode == 2
    assert "SecondBrain is missing" in done.stderr
    assert f"entries that name {wrapper}" in done.stderr  # `sb uninstall` is gone too


def test_wrapper_is_private_and_its_problems_are_reported(wrapper: Path) -> None:
    home = Home(wrapper.parents[1])
    assert wrapper.stat().st_mode & 0o777 == 0o700
    assert wrapper_problem(home) == ""
    point(wrapper, runtime="/nonexistent")
    assert wrapper_problem(home) == "/nonexistent is gone"
    point(wrapper, package="/nonexistent")
    assert "sb is gone" in wrapper_problem(home)
    point(wrapper, python="/nonexistent")
    assert "interpreter" in wrapper_problem(home)
    wrapper.chmod(0o600)
    assert "cannot be run" in wrapper_problem(home)
    wrapper.unlink()
    assert "missing" in wrapper_problem(home)
