"""The plugin for Jesse: positions pass the kernel, and what became of them is remembered."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from sb.memory import Brain
from tests.conftest import CommandLine
from tests.plugins.conftest import BOTH, INSTALLED, copied, drive, waiting

HERE = Path(__file__).parent
STRATEGY = """
from secondbrain import SecondBrain


class Shop(SecondBrain):
    governs_backtests = True

    def should_long(self):
        return self.index == 10

    def should_short(self):
        return False

    def should_cancel_entry(self):
        return True

    def go_long(self):
        self.buy = 2, self.price

    def update_position(self):
        if self.index >= 20:
            self.liquidate()
"""


class Jesse:
    """Jesse's research on one strategy.

    Args:
        python: that of Jesse, or of these tests with `path` for the stand-in.
    """

    def __init__(self, project: Path, python: str, path: str) -> None:
        self.project, self._python, self._path = project, python, path
        copied("jesse", project / "secondbrain")
        self.write(STRATEGY)

    def write(self, strategy: str) -> None:
        (self.project / "shop_strategy.py").write_text(strategy, "utf-8")

    def trades(self, **env: str) -> int:
        env = {"PYTHONPATH": self._path, "SECONDBRAIN_PYTHON": sys.executable, **env}
        answers: dict[str, Any] = drive([self._python, str(HERE / "jesse_drive.py")], env, self.project)
        return int(answers["trades"])


@pytest.fixture(params=BOTH)
def jesse(request: pytest.FixtureRequest, shop: Path) -> Jesse:
    if request.param == "stand-in":
        return Jesse(shop, sys.executable, str(HERE / "standins" / "jesse"))
    return Jesse(shop, str(INSTALLED / "jesse" / "bin" / "python"), "")


def test_positions_pass_the_kernel_and_are_remembered(jesse: Jesse, sb: CommandLine) -> None:
    assert jesse.trades() == 0  # a contract that nobody approved
    assert sb("runtime-guard", "approve-contract", "kernel", "jesse.enter", "--yes").code == 0
    assert jesse.trades() == 0  # what cannot be undone asks a person, once for all
    assert sb("approvals", "approve", *waiting(sb), "--reason", "paper money").code == 0
    assert jesse.trades() == 1
    with Brain("jesse") as brain:
        package = brain.orient(project="trading").as_text()
    assert "BTC-USDT: long closed at 121, +20.00" in package
    assert "closed: 1; the last: " in package
    assert sb("kill", "agent", "jesse", "--reason", "flash crash").code == 0
    assert jesse.trades() == 0


def test_position_that_cannot_be_judged_is_not_opened(jesse: Jesse) -> None:
    assert jesse.trades(SECONDBRAIN_PYTHON="/nowhere/python") == 0


def test_backtest_asks_and_remembers_nothing(jesse: Jesse) -> None:
    jesse.write(STRATEGY.replace("governs_backtests = True", ""))
    assert jesse.trades() == 1
    assert not (Path(os.environ["SB_HOME"]) / "brain.db").exists()
