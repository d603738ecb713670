"""Every control that ever passed still passes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIST = Path("evals/harness-passing.txt")
CONTROL = re.compile(r"HA-\d\d")


def listed() -> list[str]:
    lines = (ROOT / LIST).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def test_the_controls_on_the_list_pass_and_those_that_pass_are_on_the_list(
    audited: subprocess.CompletedProcess[bytes],
) -> None:
    controls = json.loads(audited.stdout)["controls"]
    assert [control["id"] for control in controls if control["status"] == "pass"] == listed()


def test_the_list_only_grows() -> None:
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("no history here to compare with")
    command = [git, "log", "--format=", "--patch", "--unified=0", "--", str(LIST)]
    history = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    ever = {line[1:] for line in history.splitlines() if line[:1] == "+" and CONTROL.fullmatch(line[1:])}
    assert ever - set(listed()) == set()
