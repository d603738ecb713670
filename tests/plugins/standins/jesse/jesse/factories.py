"""Candles, of which only the close matters here."""

from __future__ import annotations

from collections.abc import Iterable


def candles_from_close_prices(prices: Iterable[float]) -> list[float]:
    return [float(price) for price in prices]
