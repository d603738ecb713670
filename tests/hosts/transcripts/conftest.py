"""A home folder of a user who has agents, and no installation of `sb`."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def user(scratch: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """HOME, with the git repository `shop` in it."""
    home = tmp_path_factory.mktemp("user")
    (home / "shop" / ".git").mkdir(parents=True)
    for variable in ("SB_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "GEMINI_CLI_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home)
    return home
