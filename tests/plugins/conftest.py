"""Where a plugin is run: in the framework that `make test-plugins` installed, or in a stand-in of what calls it there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CommandLine

ROOT = Path(__file__).parents[2]
INSTALLED = ROOT / ".venv" / ".plugins"
_WANTED = "SB_TEST_PLUGINS" in os.environ  # read before tests clear what begins with SB_
BOTH = (
    "stand-in",
    pytest.param("framework", marks=pytest.mark.skipif(not _WANTED, reason="make test-plugins")),
)


@pytest.fixture
def shop(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that agents may write to, and an sb that plugins start."""
    folder = tmp_path / "shop"
    folder.mkdir()
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text(f"files: {{roots: [{folder}]}}\n", "utf-8")
    monkeypatch.setenv("SECONDBRAIN_SB", str(Path(sys.executable).with_name("sb")))
    return folder


def drive(program: list[str], env: Mapping[str, str], cwd: Path) -> dict[str, Any]:
    """The answer of a drive, as JSON on the last line of its output."""
    own = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTEST")
    }  # Jesse asks for them
    done = subprocess.run(
        program, env={**own, **env}, cwd=cwd, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    answers: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answers


def copied(example: str, target: Path) -> None:
    """Copy a plugin as its README says."""
    shutil.copytree(ROOT / "examples" / example, target, ignore=shutil.ignore_patterns("__pycache__"))


def waiting(sb: CommandLine) -> list[str]:
    """The ids of requests that wait for a person."""
    return [item["id"] for item in json.loads(sb("approvals", "list", "--json").out)["items"]]
