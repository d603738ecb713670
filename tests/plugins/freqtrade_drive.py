"""Drives a strategy as Freqtrade's bot does, by its own resolver and wrapper or their stand-ins; prints JSON."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from freqtrade.enums import RunMode
from freqtrade.persistence import Order, PairLocks, Trade
from freqtrade.resolvers import StrategyResolver
from freqtrade.strategy.strategy_wrapper import strategy_safe_wrapper


def loaded(mode: Any) -> Any:
    folder = Path("user_data").absolute()
    config = {"strategy": "Shop", "user_data_dir": folder, "stake_currency": "USDT", "runmode": mode}
    strategy = StrategyResolver.load_strategy(config)
    strategy.ft_bot_start()
    return strategy


def confirmed(strategy: Any, pair: str) -> bool:
    """As `FreqtradeBot.execute_entry` asks."""
    return bool(
        strategy_safe_wrapper(strategy.confirm_trade_entry, default_retval=True)(
            pair=pair,
            order_type="limit",
            amount=2.0,
            rate=100.0,
            time_in_force="GTC",
            current_time=datetime.now(UTC),
            entry_tag="dip",
            side="long",
        )
    )


def closed_trade(strategy: Any) -> None:
    """As `FreqtradeBot.handle_order_fee` tells of a filled exit."""
    trade = Trade(
        pair="ETH/USDT", open_rate=100.0, amount=2.0, stake_amount=200.0, fee_open=0.0, fee_close=0.0,
        is_open=True, is_short=False, leverage=1.0, exchange="binance", exit_reason="roi",
        open_date=datetime(2026, 1, 1, tzinfo=UTC),
    )  # fmt: skip
    trade.recalc_open_trade_value()
    order = Order(ft_order_side="sell", side="sell", filled=2.0, average=110.0, ft_price=110.0, ft_amount=2.0)
    strategy_safe_wrapper(strategy.order_filled, supress_error=True)(
        pair=trade.pair, trade=trade, order=order, current_time=datetime.now(UTC)
    )


if __name__ == "__main__":
    PairLocks.use_db = False
    PairLocks.timeframe = "5m"
    backtest = sys.argv[1] == "backtest"
    strategy = loaded(RunMode.BACKTEST if backtest else RunMode.DRY_RUN)
    answers: dict[str, Any] = {"entry": confirmed(strategy, "ETH/USDT")}
    answers["own veto"] = confirmed(strategy, "OWN/USDT")
    answers["locked"] = bool(strategy.is_pair_locked("ETH/USDT"))
    closed_trade(strategy)
    print(json.dumps(answers))
