"""Where opencode keeps the MCP servers that it starts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from sb.hosts.install.host import Places
from sb.hosts.servers import Source

_NAMES = ("opencode.json", "opencode.jsonc")


def sources(places: Places) -> Iterator[Source]:
    """The settings that name servers: of the user, then of the project, from its root to the folder."""
    users = places.named("XDG_CONFIG_HOME", ".config") / "opencode"
    named = places.env.get("OPENCODE_CONFIG", "")
    files = [users / name for name in ("config.json", *_NAMES)]
    files += [Path(named)] if os.path.isabs(named) else []
    here = Path(os.path.realpath(places.cwd))
    for folder in reversed([here, *here.parents]):
        if folder.is_relative_to(places.project):
            files += [place / name for place in (folder, folder / ".opencode") for name in _NAMES]
    for file in files:
        yield Source(file, ("mcp",))
