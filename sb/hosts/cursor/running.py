"""Files of Cursor's command line for `sb run`; its settings also say what it may run unasked."""

from sb.hosts.running import HostFiles

FILES = HostFiles(
    programs=("cursor-agent", "agent"),
    folder=".cursor",
    closed=(
        *("hooks/", "rules/", "commands/", "agents/", "skills/", "plugins/", "extensions/"),
        *("hooks.json", "mcp.json", "permissions.json", "sandbox.json"),
    ),
    logins=(".config/cursor/auth.json", ".cursor/auth.json"),
    copies=(".cursor/cli-config.json",),
    more=(".config/cursor",),
)
