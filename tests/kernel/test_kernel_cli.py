"""`sb kernel`, as the kernel reference documents it."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

import pytest

from tests.conftest import CommandLine

KEYS = {
    "kernel.tool.dispatch": "Tool execution dispatch decision",
    "kernel.tool.policy.blocked": "Policy blocked a tool call",
    "kernel.budget.exceeded": "Run budget consumed",
    "kernel.memory.put": "Value written to memory",
    "kernel.memory.get": "Value read from memory",
    "kernel.run.started": "Agent run started",
    "kernel.run.finished": "Agent run completed",
}


@pytest.fixture
def folder(home: Path, tmp_path: Path) -> Path:
    """A folder that agents may use, with one file."""
    home.mkdir(parents=True, mode=0o700)
    (tmp_path / "notes.md").write_text("hello\n", encoding="utf-8")
    (home / "config.yaml").write_text(
        f"files: {{roots: [{tmp_path}]}}\n"
        "agents:\n"
        "  meeting_copilot: {tools: [files.read], ceiling: read_only}\n"
        "  keyholder: {ceiling: local_write, permissions: [demo.use]}\n",
        encoding="utf-8",
    )
    return tmp_path


def test_info_says_what_the_kernel_consists_of(sb: CommandLine) -> None:
    facts = sb("kernel", "info", "--json").json
    assert facts["tools"] == 30
    assert facts["contract_enforcement"] == "enforce"
    assert facts["safety_classes"] == ["read_only", "local_write", "network", "destructive"]
    assert facts["memory_tiers"] == ["working", "episodic", "durable"]
    shown = sb("kernel", "info")
    assert (shown.code, "read_only, local_write" in shown.out, shown.err) == (0, True, "")


def test_namespaces_are_the_documented_seven(sb: CommandLine) -> None:
    items = sb("kernel", "namespaces", "--json").json["items"]
    assert {item["key"]: item["meaning"] for item in items} == KEYS
    shown = sb("kernel", "namespaces").out
    assert all(f"{meaning}\n" in shown for meaning in KEYS.values())


def test_tools_are_listed_with_their_origin_and_filtered_as_documented(sb: CommandLine, folder: Path) -> None:
    def ids(*options: str) -> list[str]:
        listed = sb("kernel", "tools", "--json", *options).json["items"]
        return [item["tool_id"] for item in listed if not item["tool_id"].startswith("host.")]

    assert ids() == [
        "files.delete",
        "files.digest",
        "files.list",
        "files.read",
        "files.restorable",
        "files.restore",
        "files.restore_over",
        "files.search",
        "files.write",
        "http.get",
        "shell.run",
    ]
    reading = ["files.digest", "files.list", "files.read", "files.restorable", "files.search"]
    assert ids("--safety", "read_only") == reading
    assert ids("--agent", "meeting_copilot") == ["files.read"]
    assert set(ids()) - set(ids("--agent", "stranger")) == {
        "files.restorable",
        "files.restore",
        "files.restore_over",
    }
    first = sb("kernel", "tools", "--json").json["items"][0]
    assert first["source"] == "sb"
    assert first["fingerprint"].startswith("sha256:")
    shown = sb("kernel", "tools").out
    assert "files.read" in shown
    assert "read_only" in shown


def test_a_tool_of_the_configuration_is_listed_with_where_it_came_from(
    sb: CommandLine, folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "house_tools.py").write_text(
        "def register(registry):\n    registry.register_fn('house.count', 'Count', lambda: 3)\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(folder)
    with (home / "config.yaml").open("a", encoding="utf-8") as file:
        file.write('tools: ["house_tools:register", "no_such_module:register"]\n')
    listed = sb("kernel", "tools", "--json")
    sources = {item["tool_id"]: item["source"] for item in listed.json["items"]}
    assert sources["house.count"] == "config house_tools:register"
    assert "no_such_module" in listed.err
    assert sb("kernel", "run", "house.count").out == "3\n"


def test_run_executes_a_tool_and_records_it(sb: CommandLine, folder: Path) -> None:
    done = sb(
        "kernel",
        "run",
        "files.read",
        "--args",
        '{"path": "notes.md"}',
        "--agent",
        "meeting_copilot",
        "--json",
    )
    assert done.code == 0
    assert done.json["success"] is True
    assert done.json["data"]["content"] == "hello\n"
    kinds = [event["kind"] for event in sb("log", "show", done.json["run_id"], "--json").json["items"]]
    assert kinds == ["kernel.run.started", "kernel.tool.dispatch", "kernel.run.finished"]
    assert sb("log", "verify").code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (["files.write", "--args", '{"path": "x", "content": ""}', "--mode", "safe"], 4, "PERMISSION_DENIED"),
        (["files.write", "--args", '{"path": "x", "content": ""}', "--agent", "meeting_copilot"], 4, "PERMISSION_DENIED"),
        (["shell.run", "--args", '{"argv": ["ls"]}'], 4, "PERMISSION_DENIED"),
        (["files.read", "--args", '{"path": "gone.md"}'], 1, "NOT_FOUND"),
        (["files.read", "--args", '{"paht": "notes.md"}'], 1, "VALIDATION_ERROR"),
        (["files.raed"], 1, "NOT_FOUND"),
    ],
)  # fmt: skip
def test_a_call_that_does_not_succeed_says_why_by_code_and_exit_code(
    sb: CommandLine, folder: Path, arguments: list[str], code: int, error: str
) -> None:
    done = sb("kernel", "run", *arguments, "--json")
    assert (done.code, done.json["error_code"], done.json["success"]) == (code, error, False)
    plain = sb("kernel", "run", *arguments)
    assert (plain.code, plain.out) == (code, "")
    assert error in plain.err


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["--args", "{path: notes}"], "not JSON"),
        (["--args", "[1]"], "must be a JSON object"),
        (["--args", '{"a": 1'], "not JSON"),
        (["--args", "[" * 100_000], "not JSON"),
        (["--args", "@/nonexistent/file"], "cannot read"),
        (["--mode", "sfe"], 'did you mean "safe"'),
        (["--run", "nonsense"], "not a run"),
        (["--agent", ""], "--agent"),
    ],
)
def test_bad_options_are_refused_with_one_line_and_code_2(
    sb: CommandLine, folder: Path, arguments: list[str], what: str
) -> None:
    done = sb("kernel", "run", "files.list", *arguments)
    assert (done.code, done.out) == (2, "")
    assert what in done.err
    assert len(done.err.splitlines()) <= 2
    assert sb("kernel", "run", "files.list", *arguments, "--json").json["error"]["kind"] == "usage"


def test_arguments_that_json_allows_and_the_kernel_does_not_are_refused(
    sb: CommandLine, folder: Path
) -> None:
    done = sb("kernel", "run", "files.list", "--args", '{"path": NaN}', "--json")
    assert (done.code, done.json["error_code"]) == (1, "VALIDATION_ERROR")


def test_arguments_can_come_from_a_file_or_from_stdin(
    sb: CommandLine, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    args = json.dumps({"path": "notes.md"})
    (folder / "args.json").write_text(args, encoding="utf-8")
    assert sb("kernel", "run", "files.read", "--args", f"@{folder}/args.json").code == 0
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(args.encode()), encoding="utf-8"))
    assert sb("kernel", "run", "files.read", "--args", "-").code == 0


def test_the_same_step_of_a_run_happens_once_across_processes(sb: CommandLine, folder: Path) -> None:
    run = "run_00000000000000aa"
    options = ["--args", '{"path": "new.md", "content": "x"}', "--run", run, "--step", "write", "--json"]
    first = sb("kernel", "run", "files.write", *options).json
    os.unlink(folder / "new.md")
    again = sb("kernel", "run", "files.write", *options).json
    assert again["call_id"] == first["call_id"]
    assert not (folder / "new.md").exists()


def test_what_a_contract_says_cannot_command_the_terminal(
    sb: CommandLine, folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "def register(registry):\n    registry.register_fn('evil.x', '\\x1b[2J', lambda: 3, description='\\x1b]0;owned\\x07[b]hi')\n"
    (folder / "evil_tools.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(folder)
    with (home / "config.yaml").open("a", encoding="utf-8") as file:
        file.write('tools: ["evil_tools:register"]\n')
    shown = sb("kernel", "tools").out
    assert "[b]hi" in shown
    assert "\x1b" not in shown


def test_what_a_tool_returns_cannot_command_the_terminal(sb: CommandLine, folder: Path) -> None:
    (folder / "evil.md").write_text("\x1b]0;owned\x07[red]hi\u202e", encoding="utf-8")
    done = sb("kernel", "run", "files.read", "--args", '{"path": "evil.md"}')
    assert done.code == 0
    assert "\x1b" not in done.out
    assert "\u202e" not in sb("kernel", "run", "files.search", "--args", '{"query": "hi"}').out
