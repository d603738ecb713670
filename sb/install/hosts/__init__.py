"""Which hosts can be joined?"""

from __future__ import annotations

from sb.install.host import Host
from sb.install.hosts.claude_code import CLAUDE_CODE
from sb.install.hosts.claude_desktop import CLAUDE_DESKTOP
from sb.install.hosts.codex import CODEX
from sb.install.hosts.copilot import COPILOT
from sb.install.hosts.cursor import CURSOR
from sb.install.hosts.gemini_cli import GEMINI_CLI
from sb.install.hosts.vscode import VSCODE
from sb.install.hosts.windsurf import WINDSURF

HOSTS: dict[str, Host] = {
    host.name: host
    for host in (CLAUDE_CODE, CLAUDE_DESKTOP, CODEX, COPILOT, CURSOR, GEMINI_CLI, VSCODE, WINDSURF)
}
