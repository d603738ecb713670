"""Files of opencode for `sb run`: its settings and plugins lie in other folders, which stay as they are."""

from sb.hosts.running import HostFiles

FILES = HostFiles(
    programs=("opencode",),
    folder=".local/share/opencode",
    closed=("bin/",),
    logins=(".local/share/opencode/auth.json", ".local/share/opencode/mcp-auth.json"),
    more=(".local/state/opencode",),
)
