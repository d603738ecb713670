"""The plugin for Hermes Agent: what its manager gets from the provider, and what later sessions remember."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.plugins.conftest import BOTH, INSTALLED, copied, drive

HERE = Path(__file__).parent


@pytest.mark.parametrize("where", BOTH)
def test_two_sessions_remember_hand_over_and_are_governed(where: str, shop: Path, tmp_path: Path) -> None:
    hermes = tmp_path / "hermes"
    copied("hermes", hermes / "plugins" / "secondbrain")
    standin = where == "stand-in"
    python = sys.executable if standin else str(INSTALLED / "hermes" / "bin" / "python")
    env = {"HERMES_HOME": str(hermes), "PYTHONPATH": str(HERE / "standins" / "hermes") if standin else ""}
    answers = drive([python, str(HERE / "hermes_drive.py")], env, shop)
    assert answers["available"] is True
    assert answers["has tool"] is True
    assert "sb_remember" in answers["first prompt"]
    assert json.loads(json.loads(answers["remembered"])["result"])["merged"] is False
    assert json.loads(json.loads(answers["written"])["result"])["state"] == "done"
    assert (shop / "a.txt").read_text("utf-8") == "paid\n"
    assert json.loads(json.loads(answers["refused"])["result"])["state"] in ("refused", "failed")
    assert not (tmp_path / "outside.txt").exists()
    assert "error" in json.loads(answers["unknown"])
    for remembered in ("The books are closed up to May.", "Ada prefers short answers."):
        assert remembered in answers["second prompt"]
    assert "The till closes at six." in answers["recalled"]
    assert "A subagent was here." not in answers["of the subagent"]
