"""The wrapper that hosts run: it starts `sb`, and lets calls run if `sb` is missing."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from sb.config.home import Home
from sb.hosts.install.confine_script import script as confiner_script
from sb.hosts.install.host import Wanted
from sb.hosts.install.wrapper import wrapper_problem, wrapper_script, write_wrapper
from sb.hosts.registry import host_settings, installable
from sb.tools.hosted.guarding import confiner_path, wrapper_path
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
NOBODY = 65_534
ASKING = ("claude-code", "cursor")  # these ask their own user
NEUTRAL = {"cursor": '{"permission": "ask"}'}


@pytest.fixture
def wrapper(tmp_path: Path, made: Path) -> Path:
    """A wrapper in a home whose name a shell would take apart."""
    home = Home(tmp_path / "o'neil & co" / ".sb")
    seed(home, made)
    return write_wrapper(home)


def run(
    command: list[str],
    payload: str = "{}",
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    user: int | None = None,
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
        user=user,
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
    invocation = json.loads(run([str(recorder), *given], '{"a": "é"}').stdout)
    assert invocation["argv"] == reached
    assert invocation["home"] == str(recorder.parents[1])
    assert invocation["stdin"] == '{"a": "é"}'


def test_wrapper_runs_its_own_sb_and_no_code_of_the_project(wrapper: Path, tmp_path: Path) -> None:
    for name in ("sb.py", "typing.py", "json.py"):
        (tmp_path / name).write_text("raise SystemExit('code of the project')\n", "utf-8")
    done = run([str(wrapper), "--no-such-host"], cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)})
    assert "code of the project" not in done.stderr + done.stdout


@pytest.mark.parametrize("host", GATES)
def test_registered_command_stops_a_destructive_call(host: str, wrapper: Path, tmp_path: Path) -> None:
    handler = handler_of(host, GATES[host], wrapper)
    asked = json.dumps(recorded.payload(host, GATES[host], tmp_path))
    assert {"make", "npm test"} & set(re.findall("make|npm test", asked))
    refused = started(handler, re.sub("make|npm test", "rm -rf /data/build", asked), cwd=tmp_path)
    assert "deletes a folder" in refused.stdout + refused.stderr
    stops = '"ask"' if host in ASKING else '"deny"'
    assert refused.returncode == 2 if host == "windsurf" else stops in refused.stdout
    let_run = started(handler, asked, cwd=tmp_path)
    assert (let_run.returncode, let_run.stdout) == (0, NEUTRAL.get(host, ""))


def handler_of(host: str, event: str, wrapper: Path) -> dict[str, Any]:
    entries = host_settings(host).entries(Wanted(wrapper))
    entry = next(item.value for item in entries if item.place[-1] == event)
    handler: dict[str, Any] = entry.get("hooks", [entry])[0]
    return handler


def started(handler: dict[str, Any], payload: str = "{}", **given: Any) -> subprocess.CompletedProcess[str]:
    """A handler as its host starts it."""
    if "args" in handler:
        return run([handler["command"], *handler["args"]], payload, **given)
    return run(["/bin/sh", "-c", handler.get("command") or handler["bash"]], payload, **given)


@pytest.mark.parametrize("host", GATES)
def test_command_line_needs_no_execute_permission(host: str, wrapper: Path, tmp_path: Path) -> None:
    """A command under Landlock can take it away."""
    wrapper.chmod(0o600)
    handler = handler_of(host, GATES[host], wrapper)
    if "args" in handler:
        assert handler["onFailure"] == "block"
        return
    asked = json.dumps(recorded.payload(host, GATES[host], tmp_path))
    refused = started(handler, re.sub("make|npm test", "rm -rf /data/build", asked), cwd=tmp_path)
    assert "deletes a folder" in refused.stdout + refused.stderr


@pytest.fixture
def nobodys() -> Iterator[Path]:
    """A wrapper in a home of an ordinary user, which modes close to its owner, too."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # open to other users
        Path(folder).chmod(0o755)
        script = Path(folder, ".sb", "bin", "sb-hook")
        script.parent.mkdir(parents=True)
        script.write_text("#!/bin/sh\necho ran\n", encoding="utf-8")
        for path in (script, script.parent, script.parents[1]) if os.geteuid() == 0 else ():
            os.chown(path, NOBODY, NOBODY)
        yield script
        for path in (script.parents[1], script.parent):
            path.chmod(0o700)


@pytest.mark.parametrize("host", GATES)
@pytest.mark.parametrize("closed", ["wrapper", "bin", "home", "parent"])
def test_call_is_denied_when_the_wrapper_cannot_be_opened(host: str, closed: str, nobodys: Path) -> None:
    handler = handler_of(host, GATES[host], nobodys)
    user = NOBODY if os.geteuid() == 0 else None
    if host not in ASKING:
        assert started(handler, user=user).stdout == "ran\n"
    {"wrapper": nobodys, "bin": nobodys.parent, "home": nobodys.parents[1], "parent": nobodys.parents[2]}[
        closed
    ].chmod(0o000)
    if host in ASKING:
        assert handler.get("onFailure") == "block" or handler.get("failClosed") is True
        return
    done = started(handler, user=user)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr, "Codex drops a refusal without a reason"


@pytest.mark.parametrize("script", [wrapper_path, confiner_path])
@pytest.mark.parametrize(
    "closed", ["", "python", "lib", "lib/sb", "runtime", "runtime/1", "lib/sb/__main__.py"]
)
def test_what_a_command_closed_is_not_taken_for_gone(
    closed: str, script: Callable[[Home], Path], nobodys: Path
) -> None:
    """A folder in the way of the interpreter, of `sb` or of the runtime, or the interpreter's permission."""
    home = Home(nobodys.parents[1])
    places = ("python/bin/python3", "lib/sb", "runtime/1")
    for path in ("python/bin/python3", "lib/sb/__main__.py", "runtime/1/start.py"):
        (home.folder / path).parent.mkdir(parents=True)
        (home.folder / path).write_text("#!/bin/sh\necho ran\n", encoding="utf-8")
        (home.folder / path).chmod(0o755)
    python, package, runtime = (home.folder / path for path in places)
    started_by = script(home)
    started_by.write_bytes(
        confiner_script(home, str(python), runtime, ["x"])
        if script is confiner_path
        else wrapper_script(home, str(python), package, runtime)
    )
    for own in (home.folder, *home.folder.rglob("*")) if os.geteuid() == 0 else ():
        os.chown(own, NOBODY, NOBODY)
    user = NOBODY if os.geteuid() == 0 else None
    ran = run(["/bin/sh", str(started_by), "codex"], user=user)
    assert (ran.returncode, ran.stdout) == (0, "ran\n")
    (home.folder / closed).chmod(0o000 if closed else 0o700)
    done = run(["/bin/sh", str(started_by), "codex"], user=user)
    read_by_sb = ("", "lib/sb/__main__.py", *(("lib", "lib/sb") if script is confiner_path else ()))
    assert (done.returncode, done.stdout) == ((0, "ran\n") if closed in read_by_sb else (done.returncode, ""))
    if closed not in read_by_sb:
        assert done.returncode == (126 if script is confiner_path else 2)
        assert f"{home.folder / closed}" in done.stderr
    for folder in (home.folder / "python", home.folder / closed):
        folder.chmod(0o700)


@pytest.mark.parametrize("host", installable())
@pytest.mark.parametrize("gone", ["python", "package", "runtime", "wrapper", "home"])
def test_every_registered_command_lets_a_call_run_when_something_is_gone(
    host: str, gone: str, wrapper: Path, tmp_path: Path
) -> None:
    empty = tmp_path / "python"
    empty.write_text("#!/bin/sh\nexit 1\n", "utf-8")  # an interpreter without sb
    empty.chmod(0o755)
    if gone == "wrapper":
        wrapper.unlink()
    elif gone == "home":
        shutil.rmtree(wrapper.parents[1])
    elif gone == "runtime":
        point(wrapper, runtime="/nonexistent")
    else:
        point(wrapper, python=str(empty) if gone == "package" else "/nonexistent", package="/nonexistent")
    if gone in ("wrapper", "home") and host in ASKING:
        return  # the host itself denies then, as its settings say
    done = started(handler_of(host, GATES[host], wrapper))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


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
    for script in (confiner_path(home), wrapper):
        script.chmod(0o600)
        assert wrapper_problem(home) == f"{script} cannot be run"
    wrapper.unlink()
    assert "missing" in wrapper_problem(home)
