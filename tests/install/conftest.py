"""A person's home folder, so that no test sees the developer's, and a project to work in."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The person's own folder; the current folder is a project below it."""
    folder = tmp_path / "person"
    (folder / "project" / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder / "project")
    monkeypatch.setenv("HOME", str(folder))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    return folder
