"""The base class of strategies: the documented callbacks, with their documented defaults."""

from __future__ import annotations

from datetime import datetime
from typing import Any


class IStrategy:
    """A strategy before its user writes a line."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.config = config
        self._locks: dict[str, datetime] = {}

    def ft_bot_start(self) -> None:
        self.bot_start()

    def bot_start(self, **kwargs: Any) -> None:
        return None

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
        return True

    def order_filled(self, pair: str, trade: Any, order: Any, current_time: datetime, **kwargs: Any) -> None:
        return None

    def lock_pair(self, pair: str, until: datetime, reason: str | None = None, side: str = "*") -> None:
        self._locks[pair] = until

    def is_pair_locked(self, pair: str) -> bool:
        return pair in self._locks
