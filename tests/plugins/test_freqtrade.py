"""The plugin for Freqtrade: entries pass the kernel, fills are remembered, and backtests run as before."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
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
    timeframe = "5m"
    stoploss = -0.1
    minimal_roi = {"0": 0.1}
    can_short = False

    def populate_indicators(self, dataframe, metadata):
        return dataframe

    populate_entry_trend = populate_exit_trend = populate_indicators

    def confirm_trade_entry(self, pair, *args, **kwargs):
        return pair != "OWN/USDT" and super().confirm_trade_entry(pair, *args, **kwargs)
"""
Start = Callable[[str], dict[str, Any]]


@pytest.fixture(params=BOTH)
def bot(request: pytest.FixtureRequest, shop: Path) -> Start:
    """Starts the bot in a mode, and lets it ask for two entries and close one trade."""
    copied("freqtrade", shop / "user_data" / "strategies")
    (shop / "user_data" / "strategies" / "shop.py").write_text(STRATEGY, "utf-8")
    standin = request.param == "stand-in"
    python = sys.executable if standin else str(INSTALLED / "freqtrade" / "bin" / "python")
    path = str(HERE / "standins" / "freqtrade") if standin else ""
    return lambda mode: drive([python, str(HERE / "freqtrade_drive.py"), mode], {"PYTHONPATH": path}, shop)


def test_entries_pass_the_kernel_and_trades_are_remembered(bot: Start, sb: CommandLine) -> None:
    assert bot("dry_run") == {
        "entry": False,
        "own veto": False,
        "locked": True,
    }  # a contract that nobody approved
    assert sb("runtime-guard", "approve-contract", "kernel", "freqtrade.enter", "--yes").code == 0
    assert bot("dry_run")["entry"] is False  # what cannot be undone asks a person, once for all
    assert sb("approvals", "approve", *waiting(sb), "--reason", "paper money").code == 0
    assert bot("dry_run") == {"entry": True, "own veto": False, "locked": False}
    with Brain("freqtrade") as brain:
        package = brain.orient(project="trading").as_text()
    assert "ETH/USDT: sell of 2 filled at 110, +10.00% (roi)" in package
    assert "1 trade closed" in package
    assert sb("kill", "agent", "freqtrade", "--reason", "flash crash").code == 0
    assert bot("dry_run")["entry"] is False


def test_backtest_asks_and_remembers_nothing(bot: Start) -> None:
    assert bot("backtest") == {"entry": True, "own veto": False, "locked": False}
    assert not (Path(os.environ["SB_HOME"]) / "brain.db").exists()
