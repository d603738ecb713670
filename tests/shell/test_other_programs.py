"""Figures for commands of many programs: how many that destroy are stopped, how many that do not are."""

from __future__ import annotations

from pathlib import Path

from sb.kernel.contracts import SafetyClass
from sb.shell import classify
from tests.rows import rows

LINES = Path(__file__).with_name("other_programs.txt").read_text(encoding="utf-8").splitlines()
HOME = Path("/data/somebody")


@rows("letter, least, most", [("D", 0.98, 1), ("K", 0, 0.01), ("d", 0.95, 1), ("k", 0, 0.02)])
def test_share_of_commands_that_are_stopped(letter: str, least: float, most: float) -> None:
    lines = [line[2:] for line in LINES if line.startswith(f"{letter} ")]
    assert len(lines) >= 120
    stopped = [
        line
        for line in lines
        if classify(line, cwd=HOME / "work", home=HOME, protected=[HOME / ".sb"], env={}).safety_class
        is SafetyClass.DESTRUCTIVE
    ]
    assert least <= len(stopped) / len(lines) <= most, set(lines) ^ set(stopped) if least else stopped
