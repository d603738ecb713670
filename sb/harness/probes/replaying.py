"""Probes of a captured run that runs again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sb.config.rules import PolicyRule
from sb.errors import DeniedError
from sb.harness.harness import Counted, Harness
from sb.kernel.contracts import SafetyClass
from sb.kernel.harness_audit import Check
from sb.kernel.replay.packet import Packet
from sb.kernel.run_context import RunContext
from sb.operator.reproduction import Reproduced, reproduce
from sb.runtime import Runtime
from sb.runtime.parts import open_packets

AGENT = "clerk"


def replayability(h: Harness) -> Iterator[Check]:
    """HA-24."""
    with h.open() as runtime:
        open_packets(runtime.config, h.clock).capture(AGENT, on=True)
    with h.open() as runtime:
        live = _pay(h, runtime)
        with runtime.run(AGENT) as ctx:
            _work(runtime, ctx)
        config = runtime.config
    shelf = open_packets(config, h.clock)  # from the file, as another process reads it
    packet, called = shelf.read(ctx.run_id), live.called
    yield Check("reloaded", len(packet.steps) == 2, f"PacketShelf.read: {len(packet.steps)} calls of 2")

    tools: list[Counted] = []
    again = _again(h, packet, tools)
    values = [step.value for step in again.steps]
    same = not again.divergences and values == [{"paid": 3}, {"paid": 4}]
    yield Check("same", same, f"reproduce: {len(again.divergences)} divergences, results {values}")
    untouched = (live.called, [tool.called for tool in tools]) == (called, [0])
    yield Check("live", untouched, f"{live}, {called}x before; in the replay {tools[0]}")

    found = {
        "version": _again(h, packet, [], safety=SafetyClass.NETWORK),
        "input": _again(h, packet, [], agent=lambda runtime, ctx: _work(runtime, ctx, second=5)),
        "policy": _again(
            h, packet, [], settings={"policy": (PolicyRule("approve", ("shop.pay",), name="ask"),)}
        ),
    }
    firsts = {
        name: reproduced.divergences[0][:3] if reproduced.divergences else None
        for name, reproduced in found.items()
    }
    wanted = {
        "version": (1, "shop.pay", "contract"),
        "input": (2, "shop.pay", "call"),
        "policy": (1, "shop.pay", "verdict"),
    }
    yield Check("divergence", firsts == wanted, f"first divergence by what changed: {firsts}")

    path = shelf.file(ctx.run_id).path
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    try:
        shelf.read(ctx.run_id)
    except DeniedError as error:
        yield Check("tampered", True, f"PacketShelf.read: {error.message}")
    else:
        yield Check("tampered", False, "PacketShelf.read: a changed packet was read")


def _pay(h: Harness, runtime: Runtime, safety: SafetyClass = SafetyClass.LOCAL_WRITE) -> Counted:
    return h.tool(runtime, "shop.pay", lambda amount: {"paid": amount}, safety)


def _work(runtime: Runtime, ctx: RunContext, second: int = 4) -> None:
    for amount in (3, second):
        runtime.executor.execute(ctx, "shop.pay", {"amount": amount})


def _again(
    h: Harness,
    packet: Packet,
    tools: list[Counted],
    *,
    safety: SafetyClass = SafetyClass.LOCAL_WRITE,
    settings: dict[str, Any] | None = None,
    agent: Any = None,
) -> Reproduced:
    with h.open(settings) as runtime:
        config = runtime.config
    return reproduce(packet, config, agent, lambda runtime: tools.append(_pay(h, runtime, safety)))
