"""Answers a Jesse strategy from the environment of `sb`: one JSON object a line, in and out.

Jesse pins packages that `sb` cannot share, so this runs as a process of its own, with the Python that has `sb`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sb.errors import SBError
from sb.kernel import SafetyClass, governed
from sb.memory import Brain
from sb.runtime import Runtime, open_runtime

AGENT = "jesse"
PROJECT = "trading"


@governed(safety_class=SafetyClass.NETWORK, tool_id="jesse.enter")
def enter(exchange: str, symbol: str, side: str, value: float) -> bool:
    """Let a strategy submit the orders of a new position."""
    return True


class Desk:
    """The kernel and the memory, for as long as the strategy runs."""

    def __init__(self, runtime: Runtime, brain: Brain) -> None:
        self._runtime = runtime
        self._brain = brain

    def orient(self) -> str:
        return self._brain.orient(project=PROJECT).as_text()

    def enter(self, exchange: str, symbol: str, side: str, value: float) -> bool:
        with self._runtime.run(AGENT, intent=f"enter {symbol}"):
            return enter(exchange, symbol, side, value)

    def log(self, event: str) -> str:
        return self._brain.log(event, "result", project=PROJECT)

    def wrap_up(self, summary: str) -> str:
        return self._brain.wrap_up(summary, project=PROJECT).id


@contextmanager
def opened() -> Iterator[Desk]:
    with open_runtime() as runtime, runtime.brain(AGENT) as brain:
        yield Desk(runtime, brain)


def answer(desk: Desk, line: str) -> dict[str, Any]:
    """The answer to one line: its `value`, or why there is none."""
    request = json.loads(line)
    actions: dict[str, Callable[..., Any]] = {
        "orient": desk.orient,
        "enter": desk.enter,
        "log": desk.log,
        "wrap_up": desk.wrap_up,
    }
    action = actions[request.pop("do")]
    try:
        return {"value": action(**request)}
    except SBError as error:
        return {"error": str(error)}


if __name__ == "__main__":
    with opened() as desk:
        for line in sys.stdin:
            print(json.dumps(answer(desk, line)), flush=True)
