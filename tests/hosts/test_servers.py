"""MCP servers as hosts' settings name them, and their approval in advance."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sb.config import load_config
from sb.errors import NotFoundError
from sb.hosts.hooks.event import NativeCall
from sb.hosts.registry import WITH_SERVERS
from sb.hosts.server_approvals import approve_server, server_states, server_steps
from sb.hosts.servers import configured_servers, mcp_named, server_of
from sb.kernel.authority.signing import Label
from sb.kernel.calls.servers import Server
from sb.present.rules import SERVER
from sb.runtime import open_runtime
from tests.rows import rows

ENTRY = {"command": "npx", "args": ["-y", "tracker-mcp"]}
FILES = {
    "claude-code": (".claude.json", "project/.mcp.json", "mcpServers"),
    "codex": (".codex/config.toml", "project/.codex/config.toml", "mcp_servers"),
    "copilot": (".copilot/mcp-config.json", "project/.github/mcp.json", "mcpServers"),
    "cursor": (".cursor/mcp.json", "project/.cursor/mcp.json", "mcpServers"),
    "gemini-cli": (".gemini/settings.json", "project/.gemini/settings.json", "mcpServers"),
    "opencode": (".config/opencode/opencode.json", "project/.opencode/opencode.jsonc", "mcp"),
    "vscode": (".config/Code/User/mcp.json", "project/.vscode/mcp.json", "servers"),
    "windsurf": (".codeium/windsurf/mcp_config.json", "", "mcpServers"),
}


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "project" / ".git").mkdir(parents=True)
    monkeypatch.setattr("sys.platform", "linux")
    return tmp_path


def write(file: Path, key: str, **servers: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.suffix == ".toml":
        tables = (
            f"[{key}.{name}]\ncommand = {json.dumps(server['command'])}\n" for name, server in servers.items()
        )
        file.write_text("".join(tables), encoding="utf-8")
    else:
        file.write_text(json.dumps({key: servers}), encoding="utf-8")


def servers_by_name(person: Path, host: str) -> dict[str, Server]:
    return {
        server.name: server for server in configured_servers(host, {"HOME": str(person)}, person / "project")
    }


@pytest.mark.parametrize("host", WITH_SERVERS)
def test_servers_of_the_user_and_of_the_project_are_found(person: Path, host: str) -> None:
    users, projects, key = FILES[host]
    write(person / users, key, mine=ENTRY)
    if projects:
        write(person / projects, key, ours={"command": "ours"})
    assert set(servers_by_name(person, host)) == ({"mine", "ours"} if projects else {"mine"})
    assert servers_by_name(person, host)["mine"].configured.startswith("npx")


def test_server_of_one_project_in_claude_codes_own_file_counts_there_only(person: Path) -> None:
    project = str(person / "project")
    text = json.dumps(
        {"projects": {project: {"mcpServers": {"a": ENTRY}}, "/other": {"mcpServers": {"b": ENTRY}}}}
    )
    (person / ".claude.json").write_text(text)
    assert set(servers_by_name(person, "claude-code")) == {"a"}


def test_digest_changes_with_the_command_in_any_of_the_settings_that_name_it(person: Path) -> None:
    write(person / ".claude.json", "mcpServers", a=ENTRY)
    first = servers_by_name(person, "claude-code")["a"].digest
    write(person / "project" / ".mcp.json", "mcpServers", a={"command": "evil"})
    assert servers_by_name(person, "claude-code")["a"].digest != first
    (person / "project" / ".mcp.json").unlink()
    assert servers_by_name(person, "claude-code")["a"].digest == first


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b'{"mcpServers": 3}', b'{"mcpServers": {"a": 1}}', b"\xff\xfe", b"[" * 100_000],
)
def test_settings_that_cannot_be_read_name_no_server(person: Path, content: bytes) -> None:
    (person / ".claude.json").write_bytes(content)
    assert servers_by_name(person, "claude-code") == {}


def test_settings_with_comments_are_read(person: Path) -> None:
    file = person / ".gemini" / "settings.json"
    file.parent.mkdir()
    file.write_text('{ // mine\n"mcpServers": {"a": {"httpUrl": "https://a.example/mcp"}} }')
    assert servers_by_name(person, "gemini-cli")["a"].configured == "https://a.example/mcp"


def test_tool_belongs_to_the_server_that_its_name_or_its_host_tells() -> None:
    servers = [Server("my tracker", "npx tracker", "d1"), Server("b", "npx b", "d2")]

    def of(tool: str, server: str = "", address: str = "") -> Server:
        return server_of(NativeCall(tool, {}, server=server, address=address), servers)

    assert of("mcp__my_tracker__close") == servers[0]
    assert of("mcp_b_close") == servers[1]
    assert of("mcp__b__close", server="my tracker") == servers[0]
    assert of("mcp__c__close") == Server("c")
    assert of("MCP:close") == Server()
    assert of("MCP:close", address="npx b") == servers[1]
    other = of("MCP:close", address="npx c")
    assert (other.name, other.configured) == ("npx c", "npx c")
    assert other.digest


@rows(
    "separator, tool, named",
    [
        ("_", "my_tracker_close_issue", "mcp__my_tracker__close_issue"),
        ("-", "b-close", "mcp__b__close"),
        ("-", "b_close", "b_close"),
        ("_", "b", "b"),
        ("_", "c_close", "c_close"),
        ("_", "b_two_close", "b_two_close"),  # of b or of b_two: nobody can tell
        ("", "b_close", "b_close"),
    ],
)
def test_tool_is_named_after_the_one_server_whose_name_it_begins_with(
    separator: str, tool: str, named: str
) -> None:
    servers = [
        Server("my tracker", "npx tracker", "d1"),
        Server("b", "npx b", "d2"),
        Server("b_two", "x", "d3"),
    ]
    call = NativeCall(tool, {}, separator=separator)
    assert mcp_named(call, server_of(call, servers)).tool == named


def test_opencode_takes_servers_from_each_folder_down_to_the_one_it_is_in(person: Path) -> None:
    deep = person / "project" / "a" / "b"
    deep.mkdir(parents=True)
    for folder, name in ((person, "above"), (deep.parent, "one"), (deep, "two")):
        write(folder / "opencode.json", "mcp", **{name: ENTRY})
    (person / "named.jsonc").write_text('{"mcp": {"three": {"type": "local", "command": ["npx", "x"]}}}')
    env = {"HOME": str(person), "OPENCODE_CONFIG": str(person / "named.jsonc")}
    assert {server.name for server in configured_servers("opencode", env, deep)} == {"one", "two", "three"}


def test_server_can_be_approved_before_its_first_use(person: Path) -> None:
    env = {"HOME": str(person), "SB_HOME": str(person / ".sb")}
    write(person / "project" / ".mcp.json", "mcpServers", a=ENTRY)
    cwd = person / "project"
    config = load_config(env=env, cwd=cwd, flags={})
    with open_runtime(config, hosted=True) as runtime:
        (state,) = server_states(runtime.approvals, config, "claude-code", env, cwd)
        assert state.grant is None
        assert [cell.text for cell in SERVER.cells(state, 0, "list")] == ["asks", "a", "claude-code"]
        made = approve_server(runtime.approvals, config, "claude-code", state.server, Label("ada"), "ours")
        (state,) = server_states(runtime.approvals, config, "claude-code", env, cwd)
        assert state.grant is not None
        assert state.to_dict()["grant"] == made.id
        assert [cell.text for cell in SERVER.cells(state, 0, "list")] == ["approved", "a", "claude-code"]
        with pytest.raises(NotFoundError):
            server_states(runtime.approvals, config, "nobody", env, cwd)


def test_install_names_the_command_that_approves_servers(person: Path) -> None:
    assert server_steps("claude-code", []) == []
    (step,) = server_steps("claude-code", [Server("a"), Server("b")])
    assert step == "approve its 2 MCP servers: sb approvals servers claude-code"


def test_whoever_approves_a_server_sees_all_of_its_entries_and_what_they_set(person: Path) -> None:
    users, projects, key = FILES["claude-code"]
    env = {"NODE_OPTIONS": "--require ./agent.js", "API_TOKEN": "ghp_" + "a1B2" * 9}
    write(person / users, key, tracker=ENTRY | {"env": env})
    write(person / projects, key, tracker={"command": "sh", "args": ["-c", "x" * 300]})
    first, second = sorted(servers_by_name(person, "claude-code")["tracker"].entries, key=len)
    assert "NODE_OPTIONS=--require ./agent.js" in first
    assert first.endswith("npx -y tracker-mcp")
    assert "ghp_" not in first
    assert second == f"sh -c {'x' * 300}"
