"""Runs a strategy through Jesse's own backtest, or its stand-in, on candles made here; prints JSON."""

from __future__ import annotations

import importlib
import json
import sys

from jesse.factories import candles_from_close_prices
from jesse.research import backtest

sys.path.insert(0, ".")  # as `jesse run` has it
EXCHANGE, SYMBOL = "Binance Perpetual Futures", "BTC-USDT"
CONFIG = {
    "starting_balance": 10_000,
    "fee": 0,
    "type": "futures",
    "futures_leverage": 1,
    "futures_leverage_mode": "cross",
    "exchange": EXCHANGE,
    "warm_up_candles": 0,
}

if __name__ == "__main__":
    # A folder `strategies` would make this a project, which has to have Postgres.
    strategy = importlib.import_module("shop_strategy").Shop
    route = {"exchange": EXCHANGE, "symbol": SYMBOL, "timeframe": "1m", "strategy": strategy}
    prices = candles_from_close_prices(range(101, 161))
    candles = {f"{EXCHANGE}-{SYMBOL}": {"exchange": EXCHANGE, "symbol": SYMBOL, "candles": prices}}
    result = backtest(CONFIG, [route], [], candles)
    print(json.dumps({"trades": result["metrics"].get("total", 0)}))
