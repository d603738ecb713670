"""Where each host keeps the MCP servers that it starts: of the user, then of the project."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from sb.hosts.install.host import Places

# Servers that come with a program, and are in no settings.
BUILT_IN = {"copilot": ("github-mcp-server",)}
_OF_OPENCODE = ("opencode.json", "opencode.jsonc")


class Source(NamedTuple):
    """A table of servers: the file and the keys that lead to it."""

    file: Path
    keys: tuple[str, ...]


def sources(host: str, places: Places) -> Iterator[Source]:
    """The settings of a host that name servers."""
    home, project, named = places.home, places.project, places.named
    key, files = "mcpServers", list[Path]()
    match host:
        case "claude-code":
            yield from _of_claude_code(places)
            files = [project / ".mcp.json"]
        case "codex":
            users = named("CODEX_HOME", ".codex")
            key, files = "mcp_servers", [users / "config.toml", project / ".codex" / "config.toml"]
        case "copilot":
            users = named("COPILOT_HOME", ".copilot") / "mcp-config.json"
            files = [users, project / ".mcp.json", project / ".github" / "mcp.json"]
        case "cursor":
            files = [folder / ".cursor" / "mcp.json" for folder in (home, project)]
        case "gemini-cli":
            files = [folder / ".gemini" / "settings.json" for folder in (home, project)]
        case "opencode":
            key, files = "mcp", _of_opencode(places)
        case "vscode":
            users = places.settings / "Code" / "User" / "mcp.json"
            key, files = "servers", [users, project / ".vscode" / "mcp.json"]
        case "windsurf":
            files = [home / ".codeium" / "windsurf" / "mcp_config.json"]
    yield from (Source(file, (key,)) for file in files)


def _of_claude_code(places: Places) -> Iterator[Source]:
    """The user's own servers, then those of single folders, which lie in the same file."""
    named = places.env.get("CLAUDE_CONFIG_DIR", "")
    file = (places.named("CLAUDE_CONFIG_DIR", "") if named else places.home) / ".claude.json"
    yield Source(file, ("mcpServers",))
    for folder in dict.fromkeys((places.project, places.cwd)):
        yield Source(file, ("projects", str(folder), "mcpServers"))


def _of_opencode(places: Places) -> list[Path]:
    """The user's files, then those of the project from its root to the folder."""
    users = places.named("XDG_CONFIG_HOME", ".config") / "opencode"
    named = places.env.get("OPENCODE_CONFIG", "")
    files = [users / name for name in ("config.json", *_OF_OPENCODE)]
    files += [Path(named)] if os.path.isabs(named) else []
    here = Path(os.path.realpath(places.cwd))
    for folder in reversed([here, *here.parents]):
        if folder.is_relative_to(places.project):
            files += [place / name for place in (folder, folder / ".opencode") for name in _OF_OPENCODE]
    return files
