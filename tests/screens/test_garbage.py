"""Garbage of the console is collected in small steps."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def ends_well(what: str) -> None:
    command = [sys.executable, "-m", "tests.screens.garbage_child", what]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_new_garbage_is_collected_at_a_key_once_there_is_enough() -> None:
    ends_well("new")


def test_old_garbage_is_collected_once_there_is_much_and_nobody_types() -> None:
    ends_well("old")
