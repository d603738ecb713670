"""Modes of the bot."""

from __future__ import annotations

from enum import StrEnum


class RunMode(StrEnum):
    """Two of its modes."""

    DRY_RUN = "dry_run"
    BACKTEST = "backtest"
