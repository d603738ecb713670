"""The plugin for ElizaOS: what its runtime gets from provider, actions and evaluator, and what later sessions remember."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.plugins.conftest import BOTH, INSTALLED, copied, drive

HERE = Path(__file__).parent
NODE = shutil.which("node")


def eliza(where: str, folder: Path) -> list[str]:
    """The drive, with the framework or its stand-in beside it."""
    copied("eliza", folder / "plugin")
    shutil.copy(HERE / "eliza_drive.mjs", folder)
    standin = where == "stand-in"
    modules = HERE / "standins" / "eliza" if standin else INSTALLED / "eliza" / "node_modules"
    (folder / "node_modules").symlink_to(modules)
    return [str(NODE), str(folder / "eliza_drive.mjs")]


@pytest.mark.skipif(NODE is None, reason="needs node")
@pytest.mark.parametrize("where", BOTH)
def test_agent_without_sb_goes_on_and_is_told(where: str, shop: Path, tmp_path: Path) -> None:
    env = {"LOG_LEVEL": "error", "SECONDBRAIN_SB": "/nowhere/sb"}
    answers = drive([*eliza(where, tmp_path), "without"], env, shop)
    assert "cannot be started" in answers["failed"]
    assert "SecondBrain does not run" in answers["second"]


@pytest.mark.skipif(NODE is None, reason="needs node")
@pytest.mark.parametrize("where", BOTH)
def test_two_sessions_remember_hand_over_and_are_governed(where: str, shop: Path, tmp_path: Path) -> None:
    (shop / "old").mkdir()
    answers = drive(eliza(where, tmp_path), {"LOG_LEVEL": "error"}, shop)
    assert answers["remembered"] == "I will remember that."
    assert answers["written"] == "Done."
    assert (shop / "a.txt").read_text("utf-8") == "paid\n"
    assert answers["refused"].startswith("Not done: ")
    assert not (tmp_path / "outside.txt").exists()
    assert "a person has to approve apr_" in answers["waiting"]
    assert answers["approved"] == "Done."
    assert not (shop / "old").exists()
    assert "The books are closed up to May." in answers["second"]
    assert "the till closes at six." in answers["second"]


@pytest.mark.skipif(NODE is None, reason="needs node")
@pytest.mark.parametrize("where", BOTH[1:])
def test_plugin_has_the_types_of_the_framework(where: str, tmp_path: Path) -> None:
    copied("eliza", tmp_path / "plugin")
    modules = INSTALLED / "eliza" / "node_modules"
    (tmp_path / "node_modules").symlink_to(modules)
    compiler = [str(NODE), str(modules / "typescript" / "bin" / "tsc")]
    strict = "--noEmit --allowJs --checkJs --strict --module esnext --moduleResolution bundler --target es2022 --skipLibCheck --types node"
    done = subprocess.run(
        [*compiler, *strict.split(), "plugin/index.js"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
