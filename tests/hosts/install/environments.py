"""A real environment with an `sb` that is not editable, and what its hook answers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

VERSION = f"python{sys.version_info.major}.{sys.version_info.minor}"


class Installed:
    """An environment made for `sb` alone, and the home of a user who joined Claude Code with it.

    Args:
        folder: empty. made: what hooks run from, whose packages the environment borrows.
    """

    def __init__(self, folder: Path, made: Path) -> None:
        self.user, self.project = folder / "ada", folder / "ada" / "shop"
        self.venv = self.user / "tools" / "sb"
        (self.project / ".git").mkdir(parents=True)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(self.venv)], check=True)
        self.site = self.venv / "lib" / VERSION / "site-packages"
        for path in (made / "lib").iterdir():
            if path.name.startswith(("sb", "secondbrain_sb")):
                shutil.copytree(path, self.site / path.name)
            else:
                (self.site / path.name).symlink_to(path)
        self.sb = self.venv / "bin" / "sb"
        self.sb.write_text(f"#!{self.venv}/bin/python\nfrom sb.__main__ import main\nmain()\n", "utf-8")
        self.sb.chmod(0o755)
        (self.venv / "bin" / "pip").touch(0o755)
        self.hook = self.user / ".sb" / "bin" / "sb-hook"
        self.install_output = ""

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """A command of the operator."""
        command, env = [str(self.sb), *words], self.env()
        return subprocess.run(
            command, capture_output=True, text=True, env=env, cwd=self.project, timeout=120, check=False
        )

    def env(self) -> dict[str, str]:
        path = f"{self.user}/.local/bin:/usr/bin:/bin"
        return {"PATH": path, "HOME": str(self.user), "SB_RESIDENT": "false"}

    def asked(
        self, tool: str, cwd: Path | None = None, env: Mapping[str, str] | None = None, **given: Any
    ) -> str:
        """The reason why the hook, as the host starts it, refuses a call; "" if it does not."""
        payload = {
            "session_id": "s1",
            "transcript_path": "/t",
            "cwd": str(cwd or self.project),
            "hook_event_name": "PreToolUse",
            "tool_name": tool,
            "tool_use_id": os.urandom(4).hex(),
            "tool_input": given,
        }
        done = subprocess.run(
            [str(self.hook), "claude-code"],
            input=json.dumps(payload),
            capture_output=True,
            text=True,
            env={**self.env(), **(env or {})},
            cwd=cwd or self.project,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        decided = json.loads(done.stdout)["hookSpecificOutput"] if done.stdout else {}
        assert decided.get("permissionDecision", "deny") == "deny"
        return str(decided.get("permissionDecisionReason", ""))
