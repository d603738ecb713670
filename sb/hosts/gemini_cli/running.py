"""Files of Gemini CLI for `sb run`."""

from sb.hosts.running import HostFiles

FILES = HostFiles(
    programs=("gemini",),
    folder=".gemini",
    closed=(
        *("extensions/", "hooks/", "policies/", "commands/", "skills/", "agents/"),
        *("settings*.json", "trusted*.json", "GEMINI.md", ".env", "system.md"),
    ),
    logins=(".gemini/oauth_creds.json", ".gemini/google_accounts.json", ".gemini/gemini-credentials.json"),
)
