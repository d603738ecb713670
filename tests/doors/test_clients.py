"""The server with clients that nobody here wrote: those in TypeScript, and the Inspector's command line."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.conftest import CommandLine
from tests.doors.conftest import PACKAGES, Node
from tests.mcp.http_server import listening

SESSION = Path(__file__).with_name("session.mjs")
INSPECTOR = PACKAGES / "inspector" / "clients" / "launcher" / "build" / "index.js"
REVISIONS = [("sdk", "legacy"), ("client", "legacy"), ("client", "2026-07-28")]
# As Visual Studio Code documents its mcp.json for a server that it starts: it refuses any other property.
VSCODE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["command"],
    "properties": {
        "type": {"const": "stdio"},
        "command": {"type": "string"},
        "args": {"type": "array", "items": {"type": "string"}},
        "cwd": {"type": "string"},
        "env": {"type": "object", "additionalProperties": {"type": ["string", "number", "null"]}},
        "envFile": {"type": "string"},
        "dev": {"type": "object"},
    },
}
CORE = ["orient", "search", "remember", "decide", "log_event", "wrap_up"]


def serving(home: Path) -> str:
    """The command that serves this home, for a client that starts it."""
    environment = {"SB_HOME": str(home), "PATH": os.environ["PATH"], "HOME": str(home.parent)}
    return json.dumps({"command": sys.executable, "args": ["-m", "sb", "serve", "mcp"], "env": environment})


def checked_session(stdout: str, stderr: str) -> None:
    assert stdout, stderr[-2_000:]
    answers = json.loads(stdout)
    assert answers["tools"] == CORE
    assert answers["prompts"] == ["session_start"]
    assert (answers["found"], answers["record"]) == (True, "The shop ships on Fridays.")
    assert answers["wrong"].startswith("search has no argument limitt")


@pytest.mark.parametrize(("package", "mode"), REVISIONS)
def test_a_typescript_client_remembers_and_searches_over_stdio(
    package: str, mode: str, home: Path, node: Node
) -> None:
    done = node(SESSION, package, mode, serving(home))
    checked_session(done.stdout, done.stderr)


@pytest.mark.parametrize(("package", "mode"), REVISIONS)
def test_a_typescript_client_remembers_and_searches_over_http(
    package: str, mode: str, home: Path, node: Node
) -> None:
    with listening("127.0.0.1") as served:
        done = node(SESSION, package, mode, served.url, SB_TOKEN=served.token("scribe"))
    checked_session(done.stdout, done.stderr)


@pytest.mark.parametrize(
    ("host", "file"),
    [("claude-desktop", ".config/Claude/claude_desktop_config.json"), ("claude-code", ".claude.json")],
)
def test_the_inspector_reads_an_installed_entry_and_calls_its_server(
    host: str,
    file: str,
    person: Path,
    home: Path,
    sb: CommandLine,
    node: Node,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.platform", "linux")  # the folders of programs with a window differ on macOS
    assert sb("install", host, "--mcp", "--yes").code == 0

    def inspect(*arguments: str) -> Any:
        entry = ("--cli", "--config", person / file, "--server", "secondbrain")
        done = node(INSPECTOR, *entry, *arguments, HOME=str(person))
        assert done.returncode == 0, done.stderr[-2_000:]
        return json.loads(done.stdout)

    listed = inspect("--method", "tools/list")["tools"]
    assert [tool["name"] for tool in listed][: len(CORE)] == CORE
    call = ("--method", "tools/call", "--tool-name", "remember", "--tool-arg", "content=Grace pays by card.")
    assert inspect(*call)["structuredContent"]["id"]


def test_the_entry_for_vscode_has_what_its_schema_allows(
    person: Path, home: Path, sb: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    assert sb("install", "vscode", "--mcp", "--yes").code == 0
    written = json.loads((person / ".config" / "Code" / "User" / "mcp.json").read_bytes())
    assert set(written) == {"servers"}
    jsonschema.validate(written["servers"]["secondbrain"], VSCODE)
