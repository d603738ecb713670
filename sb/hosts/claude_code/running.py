"""Files of Claude Code for `sb run`.

`~/.claude.json` is its state and names MCP servers, trusted folders and allowed tools, which later sessions outside
would go by: a run has a copy of its own, and what it writes there ends with it.
"""

from sb.hosts.running import HostFiles

FILES = HostFiles(
    programs=("claude",),
    folder=".claude",
    variable="CLAUDE_CONFIG_DIR",
    closed=(
        *("hooks/", "agents/", "commands/", "plugins/", "skills/", "output-styles/", "workflows/", "rules/", "local/"),
        *("settings*.json", "CLAUDE.md", "CLAUDE.local.md", "keybindings.json"),
    ),
    logins=(".claude/.credentials.json",),
    copies=(".claude.json", ".claude/.claude.json", ".claude/.config.json"),
    more=(".cache/claude-cli-nodejs", ".local/state/claude"),
)  # fmt: skip
