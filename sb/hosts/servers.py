"""The MCP servers in a host's settings: which there are, and what an approval of one is bound to."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sb.base.secrets.redaction import one_line, redact
from sb.base.values.canonical import NotCanonical, canonical_bytes, digest
from sb.hosts.hooks.event import NativeCall
from sb.hosts.registry import WITH_SERVERS
from sb.kernel.calls.servers import Server

LARGEST = 64 << 20  # bytes of a settings file
LONGEST_SHOWN = 200  # characters of a command or address
_DIGITS = 16  # of a digest
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")  # what hosts replace by "_" in a server's name


def configured_servers(host: str, env: Mapping[str, str], cwd: Path) -> list[Server]:
    """The servers that a host's settings name for a folder; what cannot be read names none.

    A server that several settings name is bound to all of its entries.
    """
    if host not in WITH_SERVERS:
        return []
    from sb.hosts.install.host import Places
    from sb.hosts.server_files import sources

    found: dict[str, list[Any]] = {}
    documents: dict[Path, Any] = {}
    for source in sources(host, Places(env, cwd)):
        if source.file not in documents:
            documents[source.file] = _document(source.file)
        for name, entry in _entries(documents[source.file], source.keys):
            found.setdefault(name, []).append(entry)
    return [server for name, entries in found.items() if (server := _server(name, entries))]


def own_server_commands(host: str, env: Mapping[str, str], cwd: Path) -> list[list[str]]:
    """The commands of servers in the user's own settings, not in a project's, which agents may have written."""
    from sb.hosts.install.host import Places
    from sb.hosts.server_files import sources

    places = Places(env, cwd)
    commands: list[list[str]] = []
    for source in sources(host, places):
        if source.file.is_relative_to(places.project):
            continue
        for _, entry in _entries(_document(source.file), source.keys):
            args = entry.get("args", [])
            if isinstance(entry.get("command"), str) and isinstance(args, list):
                commands.append([entry["command"], *map(str, args)])
    return commands


def built_in_servers(host: str) -> list[Server]:
    """The servers that come with a host, whose configuration nobody can see."""
    from sb.hosts.server_files import BUILT_IN

    return [Server(name) for name in BUILT_IN.get(host, ())]


def mcp_named(call: NativeCall, server: Server) -> NativeCall:
    """The call under the name mcp__SERVER__TOOL, if its host put the server's name and a separator before the tool's."""
    prefix = _spelled(server.name) + call.separator
    if not (server.name and call.separator and call.tool.startswith(prefix)):
        return call
    return call._replace(
        tool=f"mcp__{_spelled(server.name)}__{call.tool.removeprefix(prefix)}", server=server.name
    )


def server_of(call: NativeCall, servers: list[Server]) -> Server:
    """The server of a tool, by what its host tells with the call, else by the tool's name; unknown if ambiguous."""
    if call.address:
        shown = one_line(str(redact(call.address)), LONGEST_SHOWN)
        same = [
            server for server in servers if server.configured == shown and call.server in ("", server.name)
        ]
        if len(same) == 1 and len(shown) < LONGEST_SHOWN:
            return same[0]
        return Server(call.server or shown, shown, _digest([call.address]))
    fitting = [server for server in servers if _is_of(call, server.name)]
    if len(fitting) == 1:
        return fitting[0]
    return Server(call.server or _told(call.tool))


def _is_of(call: NativeCall, name: str) -> bool:
    if call.server:
        return call.server in (name, _spelled(name))
    if call.separator and not call.tool.startswith("mcp_"):
        return call.tool.startswith(_spelled(name) + call.separator)
    return call.tool.startswith((f"mcp__{_spelled(name)}__", f"mcp_{_spelled(name)}_"))


def _spelled(name: str) -> str:
    return _NOT_IN_NAMES.sub("_", name)


def _told(tool: str) -> str:
    """The server in a tool's name, where the host separates it."""
    return tool.removeprefix("mcp__").partition("__")[0] if tool.startswith("mcp__") else ""


def _entries(document: Any, keys: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    for key in keys:
        document = document.get(key) if isinstance(document, dict) else None
    if isinstance(document, dict):
        yield from ((name, entry) for name, entry in document.items() if isinstance(entry, dict))


def _server(name: str, entries: list[Any]) -> Server | None:
    bound = _digest(entries)
    if not bound:
        return None
    whole = tuple(dict.fromkeys(map(_whole, entries)))
    return Server(name, one_line(_shown(entries[-1]), LONGEST_SHOWN), bound, whole)


def _whole(entry: dict[str, Any]) -> str:
    """The command or address of an entry after the environment that it sets, which can name code too."""
    environment = entry.get("env") or entry.get("environment")
    names = redact(environment) if isinstance(environment, dict) else {}
    return " ".join([*(f"{name}={value}" for name, value in names.items()), _shown(entry)])


def _shown(entry: dict[str, Any]) -> str:
    """The command or address of an entry, with recognised secrets masked."""
    words = entry.get("command"), entry.get("args")
    command = (
        words[0]
        if isinstance(words[0], list)
        else [words[0], *(words[1] if isinstance(words[1], list) else [])]
    )
    texts = [str(word) for word in command if word]
    address = next(
        (entry[key] for key in ("url", "httpUrl", "serverUrl") if isinstance(entry.get(key), str)), ""
    )
    return str(redact(" ".join(texts) or address))


def _digest(entries: list[Any]) -> str:
    """The digest that an approval is bound to; secrets are masked, so that a new token does not make a new server."""
    try:
        return digest(canonical_bytes(redact(entries)))[:_DIGITS]
    except NotCanonical:
        return ""


def _document(file: Path) -> Any:
    """The settings in a file, or {}: a server that is not found is asked for each time."""
    try:
        if os.stat(file).st_size > LARGEST or not file.is_file():
            return {}
        content = file.read_bytes()
        if file.suffix == ".toml":
            return tomllib.loads(content.decode())
        try:
            return json.loads(content)
        except ValueError:
            return _relaxed(content.decode())
    except (OSError, ValueError, RecursionError):
        return {}


def _relaxed(text: str) -> Any:
    from sb.hosts.install.documents import Malformed
    from sb.hosts.install.host import RELAXED

    try:
        return RELAXED.load(text)
    except Malformed:
        return {}
