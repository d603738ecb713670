"""Which hosts can be joined?"""

from __future__ import annotations

from sb.hosts.claude_code.settings import CLAUDE_CODE
from sb.hosts.claude_desktop.settings import CLAUDE_DESKTOP
from sb.hosts.codex.settings import CODEX
from sb.hosts.copilot.settings import COPILOT
from sb.hosts.cursor.settings import CURSOR
from sb.hosts.gemini_cli.settings import GEMINI_CLI
from sb.hosts.install.host import Host
from sb.hosts.vscode.settings import VSCODE
from sb.hosts.windsurf.settings import WINDSURF

HOSTS: dict[str, Host] = {
    host.name: host
    for host in (CLAUDE_CODE, CLAUDE_DESKTOP, CODEX, COPILOT, CURSOR, GEMINI_CLI, VSCODE, WINDSURF)
}
