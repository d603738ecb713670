"""Files of Copilot CLI for `sb run`.

`config.json` holds the login where the system keeps none, and says which folders are trusted: a run has a copy of its own.
"""

from sb.hosts.running import HostFiles

FILES = HostFiles(
    programs=("copilot",),
    folder=".copilot",
    variable="COPILOT_HOME",
    closed=(
        *("hooks/", "agents/", "skills/", "pkg/", "plugins/", "installed-plugins/", "extensions/"),
        *("instructions/", "mcp-oauth-config/", "session-state/*/extensions/"),
        *("mcp-config", "mcp-*.json", ".mcp-*", "providers.json", "settings*.json", "config"),
        *("permissions-config*", "lsp-config*", "*instructions*.md"),
    ),
    logins=(".copilot/config.json",),
    copies=(".copilot/config.json",),
    unpacked=(".cache/copilot/pkg",),
)
