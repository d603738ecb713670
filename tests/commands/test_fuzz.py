"""Whatever is typed: a documented exit code, one clear line, never a traceback."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sb.cli import COMMANDS, run
from sb.errors import ExitCode

WORDS = st.one_of(
    st.sampled_from(
        [
            *COMMANDS,
            "verify",
            "tail",
            "show",
            "run",
            "tools",
            "check",
            "--json",
            "--args",
            "-n",
            "--help",
            "--db",
            "-",
        ]
    ),
    st.text(max_size=20).filter(lambda word: "\x00" not in word),
)
MAKE_FOLDERS = {"demo", "init", "backup"}  # wherever they are told to
GO_ON = {"watch"}  # until they are interrupted; tests/commands/test_watch.py runs it
END_THE_PROCESS = {"hook"}  # it may not wait for anything that hangs; tests/hosts/hooks runs it as a process


def outcome(arguments: list[str]) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(arguments)
    return code, out.getvalue(), err.getvalue()


@pytest.fixture
def folder(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    outcome(["init"])
    return tmp_path


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(words=st.lists(WORDS, max_size=5))
def test_any_words_end_with_a_documented_code(folder: Path, words: list[str]) -> None:
    if (
        (MAKE_FOLDERS | GO_ON | END_THE_PROCESS) & set(words)
        or "-f" in words
        or any(word.startswith("--fo") for word in words)
    ):
        return
    code, out, err = outcome(words)
    assert code in set(ExitCode) - {ExitCode.INTERNAL}, (words, err)
    assert "Traceback" not in out + err


JSON_LIKE = st.one_of(
    st.text(max_size=40),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
        max_leaves=6,
    ).map(json.dumps),
)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    args=JSON_LIKE,
    tool=st.sampled_from(["files.read", "files.write", "files.search", "http.get", "shell.run", "none.such"]),
)
def test_any_arguments_of_a_tool_end_with_a_documented_code(folder: Path, args: str, tool: str) -> None:
    code, out, _ = outcome(["kernel", "run", tool, f"--args={args}", "--json"])
    assert code in (ExitCode.FAILED, ExitCode.USAGE, ExitCode.DENIED)
    assert "error" in str(json.loads(out))
