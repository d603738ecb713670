"""`sb install --mcp` on real files: the entry starts the server, other content stays, and the file is restored."""

from __future__ import annotations

import json
import os
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.conftest import CommandLine

# Where each host documents its servers, for all projects and for one.
FILES = {
    "claude-code": (".claude.json", ".mcp.json", "mcpServers"),
    "claude-desktop": (".config/Claude/claude_desktop_config.json", "", "mcpServers"),
    "cursor": (".cursor/mcp.json", ".cursor/mcp.json", "mcpServers"),
    "vscode": (".config/Code/User/mcp.json", ".vscode/mcp.json", "servers"),
}
OWN = b'{\r\n\t"theme": "dark",\r\n\t"ROOT": {"other": {"command": "npx", "args": ["other"]}}}'


@pytest.fixture(autouse=True)
def _on_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")  # the folders of programs with a window differ on macOS


@pytest.mark.parametrize("host", FILES)
def test_the_entry_is_added_beside_others_and_taken_out_to_the_byte(
    host: str, person: Path, sb: CommandLine
) -> None:
    name, _, root = FILES[host]
    file = person / name
    file.parent.mkdir(parents=True, exist_ok=True)
    before = OWN.replace(b"ROOT", root.encode())
    file.write_bytes(before)
    assert sb("install", host, "--mcp", "--yes").code == 0
    written = file.read_bytes()
    servers = json.loads(written)[root]
    assert servers["other"] == {"command": "npx", "args": ["other"]}
    assert servers["secondbrain"]["args"][:4] == ["serve", "mcp", "--agent", host]
    assert os.access(servers["secondbrain"]["command"], os.X_OK)
    assert sb("install", host, "--mcp", "--yes").out.endswith("already names the MCP server\n")
    assert file.read_bytes() == written
    assert f"the MCP server in {file}" in sb("doctor").out
    assert sb("uninstall", host, "--yes").code == 0
    assert file.read_bytes() == before


@pytest.mark.parametrize("host", [host for host, (_, project, _) in FILES.items() if project])
def test_the_entry_of_one_project_is_in_its_own_file(host: str, person: Path, sb: CommandLine) -> None:
    file = Path.cwd() / FILES[host][1]
    assert sb("install", host, "--mcp", "--scope", "project", "--yes").code == 0
    assert "secondbrain" in json.loads(file.read_bytes())[FILES[host][2]]
    assert sb("uninstall", host, "--yes").code == 0
    assert not file.exists()


def test_hooks_and_server_of_one_host_go_together(person: Path, sb: CommandLine) -> None:
    assert sb("install", "claude-code", "--yes").code == 0
    assert sb("install", "claude-code", "--mcp", "--yes").code == 0
    hooks, servers = person / ".claude" / "settings.json", person / ".claude.json"
    assert "hooks" in json.loads(hooks.read_bytes())
    assert sb("uninstall", "claude-code", "--yes").code == 0
    assert not hooks.exists()
    assert not servers.exists()


def test_a_server_of_that_name_that_is_somebody_elses_is_left(person: Path, sb: CommandLine) -> None:
    file = person / ".claude.json"
    file.write_text('{"mcpServers": {"secondbrain": {"command": "mine"}}}', encoding="utf-8")
    refused = sb("install", "claude-code", "--mcp", "--yes")
    assert refused.code == 2
    assert "already exists and runs something else" in refused.err


def test_a_host_whose_servers_are_not_known_is_refused(person: Path, sb: CommandLine) -> None:
    refused = sb("install", "windsurf", "--mcp", "--yes")
    assert refused.code == 2
    assert "where it names MCP servers is not known" in refused.err


def test_what_the_host_would_run_answers_as_its_agent(person: Path, home: Path, sb: CommandLine) -> None:
    assert sb("install", "claude-desktop", "--mcp", "--yes").code == 0
    entry = json.loads((person / FILES["claude-desktop"][0]).read_bytes())["mcpServers"]["secondbrain"]
    server = StdioServerParameters(
        command=entry["command"], args=entry["args"], env={"PATH": "/usr/bin:/bin", "HOME": str(person)}
    )

    async def asked() -> None:
        async with Client(stdio_client(server)) as client:
            await client.call_tool("remember", {"content": "The desk is by the window."})
            hits = (await client.call_tool("search", {"query": "desk"})).structured_content
            assert hits is not None
            assert [hit["by"] for hit in hits["result"]] == ["claude-desktop"]
            assert len((await client.list_tools()).tools) == 11

    anyio.run(asked)
