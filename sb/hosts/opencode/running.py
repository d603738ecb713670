"""Files of opencode for `sb run`: its settings and plugins lie in other folders, which stay as they are.

A login may name a server with more settings, so that a run has copies. Its repositories of snapshots have a configuration
by which git runs programs: a run makes none, and keeps what changes in the project's tree as for any other host.
"""

from sb.hosts.running import HostFiles

FILES = HostFiles(
    programs=("opencode",),
    folder=".local/share/opencode",
    closed=("bin/", "snapshot/", "worktree/", "repos/", "account.json"),
    logins=(".local/share/opencode/auth.json", ".local/share/opencode/mcp-auth.json"),
    copies=(".local/share/opencode/auth.json", ".local/share/opencode/mcp-auth.json"),
    more=(".local/state/opencode",),
    unpacked=(".cache/opencode", ".config/opencode"),
    settings=("OPENCODE_CONFIG_CONTENT", {"snapshot": False}),
)
