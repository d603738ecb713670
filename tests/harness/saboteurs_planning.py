"""Saboteurs of agents' runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from sb.agent import prompting
from sb.agent.agentic import AgenticRuntime
from sb.kernel.execution.output_guard import OutputGate
from sb.kernel.run_context import RunBudget
from tests.harness.saboteurs import breaks


@breaks("HA-26")
def a_dry_run_calls_tools(patch: pytest.MonkeyPatch) -> None:
    run = AgenticRuntime.run

    def wet(runtime: AgenticRuntime, goal: str, ctx: Any, **more: Any) -> Any:
        dry = ctx.metadata.pop("dry_run", False)
        record = run(runtime, goal, ctx, **more)
        ctx.metadata["dry_run"] = dry
        return record

    patch.setattr(AgenticRuntime, "run", wet)


@breaks("HA-26")
def a_budget_never_ends(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(RunBudget, "remaining_tool_calls", lambda budget: 1)


@breaks("HA-18")
def a_critic_that_raises_has_passed_it(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(AgenticRuntime, "_judged", lambda runtime, record, ctx: record)


@breaks("HA-18")
def the_gate_lets_keys_out(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(OutputGate, "gated", lambda gate, value, ctx: (value, []))


@breaks("HA-02")
def a_changed_item_gets_into_a_prompt(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(prompting, "sha256", lambda content: SimpleNamespace(hexdigest=AnyHash))


class AnyHash(str):
    """A hash that equals every other."""

    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False
