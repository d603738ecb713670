"""Files of Codex for `sb run`.

`config.toml` names MCP servers and says which folders and hooks are trusted: a run has a copy of its own.
"""

from sb.hosts.running import HostFiles

FILES = HostFiles(
    programs=("codex",),
    folder=".codex",
    variable="CODEX_HOME",
    closed=(
        *("rules/", "skills/", "prompts/", "agents/", "plugins/", "packages/", "bin/"),
        *("hooks.json", "AGENTS*.md", "requirements.toml", "managed_config.toml", "*.config.toml", ".env"),
    ),
    logins=(".codex/auth.json",),
    copies=(".codex/config.toml",),
)
