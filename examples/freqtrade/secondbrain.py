"""SecondBrain for Freqtrade strategies: entries pass the kernel, and the bot remembers its trades.

Put it beside your strategy, and let that be `class MyStrategy(SecondBrain)`.
"""

from __future__ import annotations

import atexit
import functools
import logging
from datetime import datetime, timedelta
from typing import Any

from freqtrade.strategy import IStrategy

from sb.base.text import counted
from sb.kernel import SafetyClass, ToolCallFailed, governed
from sb.memory import Brain
from sb.runtime import Runtime, open_runtime

AGENT = "freqtrade"
PROJECT = "trading"
PAUSE = timedelta(minutes=5)  # for a refused pair: its signal comes again every few seconds
logger = logging.getLogger(__name__)


@governed(safety_class=SafetyClass.NETWORK, tool_id="freqtrade.enter")
def enter(pair: str, side: str, stake: float, tag: str) -> bool:
    """Let the bot place an entry order at the exchange."""
    return True


class Desk:
    """The kernel and the memory, for as long as the process lives; a reload of the configuration keeps them."""

    def __init__(self) -> None:
        self.runtime: Runtime = open_runtime()
        self.brain: Brain = self.runtime.brain(AGENT)
        self.remembered = self.brain.orient(project=PROJECT).as_text()
        self.closed: list[str] = []
        atexit.register(self.close)

    def close(self) -> None:
        """Hand over to the next start."""
        if self.closed:
            self.brain.wrap_up(f"{counted(len(self.closed), 'trade')} closed; the last: {self.closed[-1]}")
        self.brain.close()
        self.runtime.close()


desk = functools.cache(Desk)


class SecondBrain(IStrategy):
    """Memory and governed orders for a strategy; in backtests nothing, since what they trade is not real."""

    def bot_start(self, **kwargs: Any) -> None:
        super().bot_start(**kwargs)
        if self._trades():
            logger.info("remembered:\n%s", desk().remembered)

    def confirm_trade_entry(
        self,
        pair: str,
        order_type: str,
        amount: float,
        rate: float,
        time_in_force: str,
        current_time: datetime,
        entry_tag: str | None,
        side: str,
        **kwargs: Any,
    ) -> bool:
        confirmed: bool = super().confirm_trade_entry(
            pair, order_type, amount, rate, time_in_force, current_time, entry_tag, side, **kwargs
        )
        if not (confirmed and self._trades()):
            return confirmed
        try:
            with desk().runtime.run(AGENT, intent=f"enter {pair}"):
                return enter(pair, side, round(amount * rate, 2), entry_tag or "")
        except ToolCallFailed as refused:
            logger.warning("no entry: %s", refused)
        except Exception:  # Freqtrade would take an exception for a yes
            logger.exception("no entry: it could not be judged")
        self.lock_pair(pair, until=current_time + PAUSE, reason="refused by SecondBrain")
        return False

    def order_filled(self, pair: str, trade: Any, order: Any, current_time: datetime, **kwargs: Any) -> None:
        super().order_filled(pair=pair, trade=trade, order=order, current_time=current_time, **kwargs)
        if not self._trades():
            return
        event = f"{pair}: {order.ft_order_side} of {order.safe_filled:g} filled at {order.safe_price:g}"
        if order.ft_order_side != trade.entry_side:
            event += f", {trade.calc_profit_ratio(order.safe_price):+.2%} ({trade.exit_reason or 'exit'})"
        try:
            desk().brain.log(event, "result", project=PROJECT)
        except Exception:  # an order that is filled has to be handled to the end
            logger.exception("not remembered: %s", event)
        if order.ft_order_side != trade.entry_side:
            desk().closed.append(event)

    def _trades(self) -> bool:
        return str(self.config["runmode"].value) in ("live", "dry_run")
