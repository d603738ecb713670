"""Probe of the "tool-controlled" control about which agent reaches which tool."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sb.config.rules import PolicyRule
from sb.harness.harness import Harness, saw
from sb.harness.probes.failures import refusal
from sb.harness.probes.reach import EVERY_WAY, plant, ways, ways_text
from sb.kernel.contracts import ToolErrorCode
from sb.kernel.harness_audit import Check
from sb.memory import Brain
from sb.runtime import Runtime
from sb.store.records.places import Execute

OURS = ("ord_1", "ord_2")
REFUND = "shop.refund"


def identity(h: Harness) -> Iterator[Check]:
    """HA-14."""
    with h.open({"policy": (PolicyRule("allow", (REFUND,), args={"order": OURS}),)}) as runtime:
        yield _attributed(runtime)
        yield _scope(runtime)
        refused = refusal(lambda: runtime.brain(""))
        yield Check("anonymous", refused == "ValueError", f"Runtime.brain without a name: {refused}")
        yield _handoff(runtime)
        yield _objects(h, runtime)


def _attributed(runtime: Runtime) -> Check:
    """To the agent that wrote it, also where it says that it is another one or is in another's session."""
    ada = runtime.brain("ada", scope="project:a", session="monday")
    forged: dict[str, Any] = {"agent_id": "bob"}  # no keyword of it, as types have it
    record = ada.remember("Deploys go out on Tuesdays.", scope="project:a", **forged)
    memory = runtime.brain("carol", scope="project:a").get(record)
    intruding = refusal(lambda: runtime.brain("bob", session="monday").remember("Deploys are free."))
    ok = (memory.agent_id, memory.scope, memory.session) == ("ada", "project:a", "monday")
    seen = f"{memory.agent_id} in {memory.scope}, session {memory.session}; another agent in that session {intruding}"
    return Check("attributed", ok and intruding == "ValueError", f"Brain.get: {seen}")


def _scope(runtime: Runtime) -> Check:
    planted = plant(runtime.brain("ada", scope="project:a"))
    inside = ways(runtime.brain("carol", scope="project:a"), planted)
    elsewhere = runtime.brain("carol", scope="project:b")
    elsewhere.remember("Deploys go out on Mondays.")
    outside = ways(elsewhere, planted)
    seen = f"in project:a by {ways_text(inside)}; in project:b by {ways_text(outside)}"
    return Check("scope", inside == EVERY_WAY and not outside, f"Brain: {seen}")


def _handoff(runtime: Runtime) -> Check:
    """Whole, to the agent it is for; then with another state or recipient, as somebody writes it who has the database alone."""
    ada, bob, carol = (runtime.brain(name, scope="project:c") for name in ("ada", "bob", "carol"))
    ada.handoff("ship the shop", "half of it runs", ["refunds"], "test refunds", recipient="carol")
    seen = {"to carol": _read(carol), "to bob": _read(bob)}
    with runtime.database.write() as execute:
        _alter(execute, "half", "none")
    seen["altered"] = _read(carol)
    with runtime.database.write() as execute:
        _alter(execute, "none", "half")
        _alter(execute, "carol", "bob")
    seen["redirected"] = _read(bob)
    wanted = {
        "to carol": "half of it runs",
        "to bob": "none",
        "altered": "unverified",
        "redirected": "unverified",
    }
    evidence = "; ".join(f"{name} {given}" for name, given in seen.items())
    return Check("handoff", seen == wanted, f"Brain.orient: {evidence}")


def _read(brain: Brain) -> str:
    """The text on the newest packet that an agent gets when its session starts."""
    package = brain.orient()
    if package.handoff is None:
        return "none"
    if not package.handoff.verified and "it runs" not in f"{package.handoff}{package.as_text()}":
        return "unverified"
    return package.handoff.current_state


def _alter(execute: Execute, former: str, now: str) -> None:
    execute(
        "UPDATE records SET fields = replace(fields, :former, :now), text = replace(text, :former, :now)"
        " WHERE kind = 'handoff'",
        {"former": former, "now": now},
    )


def _objects(h: Harness, runtime: Runtime) -> Check:
    """By a rule that names the objects; a list has to be of them altogether."""
    tool = h.tool(runtime, REFUND, lambda order: f"refunded {order}")
    wanted: list[str | list[str]] = ["ord_1", "ord_9", ["ord_2", "ord_9"]]
    ours, *others = (runtime.executor.execute(h.context(), REFUND, {"order": order}) for order in wanted)
    denied = all(result.error_code is ToolErrorCode.PERMISSION_DENIED for result in others)
    about = [event.payload or {} for event in runtime.log.events() if event.subject.tool_id == REFUND]
    logged = [item["args"] for item in about if "args" in item]
    on_record = logged == [{"order": order} for order in wanted]
    seen = f"{saw(ours, tool)}; another's order {saw(others[0])}, {'' if on_record else 'not '}on record"
    return Check("objects", ours.success and denied and on_record and tool.called == 1, seen)
