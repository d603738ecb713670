"""Tools of the tests of agents' runs: they write what they did to a file, so that it outlives their process."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from sb.kernel import SafetyClass
from sb.kernel.contracts import ToolArgSchema

ORDERS: dict[int, dict[str, Any]] = {
    1002: {"customer": "Grace", "cents": 4900, "state": "refund asked", "items": ["lamp", "bulb"]},
    1003: {"customer": "Edsger", "cents": 8900, "state": "open", "items": []},
}


def done() -> list[str]:
    """The deeds of the tools, in order."""
    place = _place()
    return place.read_text().splitlines() if place.exists() else []


def _place() -> Path:
    return Path(os.environ["SB_HOME"]) / "done.txt"


def _did(text: str) -> None:
    with _place().open("a") as file:
        file.write(f"{text}\n")


def read_order(order: int) -> dict[str, Any]:
    """An order."""
    _did(f"read {order}")
    return ORDERS[order]


def refund(order: int, cents: int) -> dict[str, int]:
    """Pay money back; killed in the middle where a file asks for that, once."""
    _did(f"refund {order} {cents}")
    trap = _place().with_name("die")
    if trap.exists():
        trap.unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    return {"refunded": cents}


def pack(item: str) -> str:
    """Pack an item."""
    _did(f"pack {item}")
    return f"packed {item}"


def register(registry: Any) -> None:
    """Register all of them."""
    order, cents = ToolArgSchema("order", "integer"), ToolArgSchema("cents", "integer")
    registry.register_fn("orders.read", "Read order", read_order, args_schema=[order])
    registry.register_fn(
        "pay.refund", "Refund order", refund, SafetyClass.LOCAL_WRITE, args_schema=[order, cents]
    )
    registry.register_fn("pack.item", "Pack item", pack, SafetyClass.LOCAL_WRITE)
