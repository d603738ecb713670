"""The documented attributes of trades and orders."""

from __future__ import annotations

from types import SimpleNamespace


class PairLocks:
    """Where locks are kept; here each strategy keeps its own."""

    use_db = True
    timeframe = ""


class Trade(SimpleNamespace):
    """A trade."""

    pair: str
    open_rate: float
    entry_side = "buy"

    def recalc_open_trade_value(self) -> None:
        return None

    def calc_profit_ratio(self, rate: float) -> float:
        return rate / self.open_rate - 1


class Order(SimpleNamespace):
    """An order."""

    average: float
    filled: float

    @property
    def safe_price(self) -> float:
        return self.average

    @property
    def safe_filled(self) -> float:
        return self.filled
