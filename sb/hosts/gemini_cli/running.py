"""Files of Gemini CLI for `sb run`.

Its repositories of checkpoints (`history/*/.git`) stay open, and git runs what their configuration names: what is closed
in them would be closed to it, too.
"""

from sb.hosts.running import HostFiles

FILES = HostFiles(
    programs=("gemini",),
    folder=".gemini",
    closed=(
        *("extensions/", "hooks/", "policies/", "commands/", "skills/", "agents/", "acknowledgments/"),
        *(
            "settings*.json",
            "trusted*.json",
            "*.md",
            ".env*",
            "keybindings.json",
            "mcp-server-enablement.json",
        ),
        *("policy_integrity.json", "extension_integrity.json*", "integrity.key", "sandbox*"),
    ),
    logins=(
        *(".gemini/oauth_creds.json", ".gemini/google_accounts.json", ".gemini/gemini-credentials.json"),
        *(".gemini/mcp-oauth-tokens.json", ".gemini/a2a-oauth-tokens.json"),
    ),
)
