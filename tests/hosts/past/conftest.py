"""A user with agents, and with an installation of `sb`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import CommandLine


@pytest.fixture
def user(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sb: CommandLine) -> Path:
    """HOME, with the git repository `shop` in it."""
    (tmp_path / "user" / "shop" / ".git").mkdir(parents=True)
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.chdir(tmp_path / "user" / "shop")
    assert sb("init").code == 0
    return tmp_path / "user"
