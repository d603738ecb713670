"""The base class of strategies: the documented hooks, and the order in which the engine calls them."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np


class Strategy:
    """A strategy on one route."""

    def __init__(self, exchange: str, symbol: str) -> None:
        self.exchange, self.symbol, self.index, self.price = exchange, symbol, 0, 0.0
        self.buy: Any = None
        self.sell: Any = None
        self.is_live = False
        self._entry: Any = None
        self._liquidates = False

    def should_long(self) -> bool:
        return False

    def go_long(self) -> None:
        return None

    def update_position(self) -> None:
        return None

    def filters(self) -> list[Any]:
        return []

    def before(self) -> None:
        return None

    def on_close_position(self, order: Any, closed_trade: Any) -> None:
        return None

    def terminate(self) -> None:
        return None

    def log(self, msg: str) -> None:
        print(msg, file=sys.stderr)

    def liquidate(self) -> None:
        self._liquidates = True

    def step(self, price: float) -> int:
        """One candle, as the engine takes it; returns how many positions it opened."""
        self.price, opened = price, 0
        self.before()
        if self._entry is not None:
            self.update_position()
        elif self.should_long():
            self.go_long()
            self.buy = np.array([self.buy])  # as the engine has it when filters are asked
            if all(passed() for passed in self.filters()):
                self._entry, opened = tuple(self.buy[0]), 1
        if self._liquidates and self._entry is not None:
            (qty, entry), self._entry = self._entry, None
            trade = SimpleNamespace(type="long", exit_price=price, pnl=qty * (price - entry))
            self.on_close_position(None, trade)
        self.index += 1
        return opened
