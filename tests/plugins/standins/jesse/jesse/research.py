"""A backtest on candles that are given."""

from __future__ import annotations

from typing import Any


def backtest(
    config: dict[str, Any], routes: list[dict[str, Any]], data_routes: list[Any], candles: dict[str, Any]
) -> dict[str, Any]:
    (route,) = routes
    strategy = route["strategy"](route["exchange"], route["symbol"])
    prices = candles[f"{route['exchange']}-{route['symbol']}"]["candles"]
    total = sum(strategy.step(price) for price in prices)
    strategy.terminate()
    return {"metrics": {"total": total}}
