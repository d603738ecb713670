"""SecondBrain for Jesse strategies: new positions pass the kernel, and what became of them is remembered."""

from __future__ import annotations

import functools
import json
import os
import select
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jesse.strategies import Strategy

ANSWER_S = 30.0  # how long a strategy waits for an answer


class Desk:
    """`sb`, in a process of its own; see desk.py."""

    def __init__(self) -> None:
        python = os.environ.get("SECONDBRAIN_PYTHON", sys.executable)
        program = [python, str(Path(__file__).with_name("desk.py"))]
        self._process = subprocess.Popen(
            program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
        )
        self.remembered = str(self.ask("orient"))

    def ask(self, action: str, **more: Any) -> Any:
        """The value of an answer.

        Raises:
            RuntimeError: the answer is no, or there is none.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        if self._process.poll() is not None:
            raise RuntimeError("sb has ended: start Jesse again")
        self._process.stdin.write(json.dumps({"do": action, **more}) + "\n")
        self._process.stdin.flush()
        ready, _, _ = select.select([self._process.stdout], [], [], ANSWER_S)
        line = self._process.stdout.readline() if ready else ""
        if not line:
            self._process.kill()  # a late answer would be taken for that of the next question
            raise RuntimeError("sb does not answer: is SECONDBRAIN_PYTHON the Python that has sb?")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["value"]


desk = functools.cache(Desk)


class SecondBrain(Strategy):
    """Memory and governed orders for a strategy; in backtests nothing, unless `governs_backtests` is set to try it out."""

    governs_backtests = False
    closed_positions: tuple[str, ...] = ()

    def filters(self) -> list[Any]:
        """The kernel's answer comes after the filters of the strategy, so that it is asked only about what would happen."""
        return [*super().filters(), self.allowed_by_secondbrain]

    def allowed_by_secondbrain(self) -> bool:
        """True if the kernel lets the strategy submit its orders; what cannot be judged is not submitted."""
        if not self._governed():
            return True
        side, orders = ("short", self.sell) if self.buy is None else ("long", self.buy)
        orders = orders if hasattr(orders[0], "__len__") else [orders]
        value = round(sum(float(qty) * float(price) for qty, price in orders), 2)
        try:
            return bool(
                desk().ask("enter", exchange=self.exchange, symbol=self.symbol, side=side, value=value)
            )
        except (RuntimeError, OSError, ValueError) as error:
            self.log(f"no entry: {error}")
            return False

    def before(self) -> None:
        super().before()
        if self.index == 0 and self._governed():
            self._tried(lambda: self.log(f"remembered:\n{desk().remembered}"))

    def on_close_position(self, order: Any, closed_trade: Any) -> None:
        super().on_close_position(order, closed_trade)
        if self._governed() and closed_trade is not None:
            event = f"{self.symbol}: {closed_trade.type} closed at {closed_trade.exit_price:g}, {closed_trade.pnl:+.2f}"
            self._tried(lambda: desk().ask("log", event=event))
            self.closed_positions += (event,)

    def terminate(self) -> None:
        super().terminate()
        if self.closed_positions:
            summary = f"closed: {len(self.closed_positions)}; the last: {self.closed_positions[-1]}"
            self._tried(lambda: desk().ask("wrap_up", summary=summary))

    def _governed(self) -> bool:
        return bool(self.is_live or self.governs_backtests)

    def _tried(self, step: Callable[[], object]) -> None:
        """Do what a strategy can go on without."""
        try:
            step()
        except (RuntimeError, OSError, ValueError) as error:
            self.log(f"not remembered: {error}")
