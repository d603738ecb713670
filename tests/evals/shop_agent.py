"""Agents that tests of evals run: Python functions, as a team would write them."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

from sb.evals.answer import AgentRun
from sb.kernel import SafetyClass
from sb.kernel.functions.governed import governed


@governed(tool_id="shop.refund", safety_class=SafetyClass.NETWORK)
def refund(order: int) -> str:
    """Refund an order."""
    return f"refunded {order}"


@governed(tool_id="shop.wipe", safety_class=SafetyClass.DESTRUCTIVE)
def wipe(shop: str) -> str:
    """Delete a shop."""
    return f"wiped {shop}"


def governs(text: str) -> AgentRun:
    return AgentRun(refund(int(text)), cost_cents=2)


def wipes(text: str) -> str:
    try:
        return wipe(text)
    except Exception as error:  # noqa: BLE001 - it says whatever it met
        return f"not wiped: {type(error).__name__}"


async def in_a_loop(text: str, *, tools: Any) -> str:
    listed = await asyncio.gather(
        tools.acall("files.write", path="a.txt", content=text),
        tools.acall("files.write", path="b.txt", content=text),
    )
    return f"{len(listed)} written"


def surroundings(text: str, *, tools: Any, ctx: Any) -> str:
    print("printed by the agent")
    Path("mine.txt").write_text(text, encoding="utf-8")
    ours = {name: value for name, value in os.environ.items() if name.startswith("SB_")}
    facts = {"folder": os.getcwd(), "ours": ours, "context": str(ctx.folder), "vars": dict(ctx.vars)}
    return json.dumps(
        facts | {"chance": random.random(), "run": ctx.run.run_id, "now": ctx.runtime.log.clock.now()}
    )


def misbehaves(text: str) -> Any:
    match text:
        case "raises":
            raise ValueError("no \x1b[31mluck")
        case "exits":
            sys.exit(3)
        case "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        case "hangs":
            if os.fork() == 0:
                time.sleep(60)
            time.sleep(60)
        case "returns":
            return 7
    return f"fine: {text}"


def remembers(text: str, *, tools: Any) -> str:
    return "; ".join(item.content for item in tools.memory.search(text))
