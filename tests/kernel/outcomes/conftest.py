"""Fixtures of outcomes: an executor over a real file whose runs can be judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sb.base.sources import SteeredClock
from sb.kernel import RunBudget, RunContext
from sb.kernel.outcomes import Judgements
from tests.kernel.incident_response.conftest import Plant


@pytest.fixture
def plant(tmp_path: Path, clock: SteeredClock) -> Plant:
    return Plant(tmp_path, clock)


@pytest.fixture
def judgements(plant: Plant) -> Judgements:
    return Judgements(plant.log, plant.authority)


def made(
    plant: Plant,
    agent: str = "clerk",
    *,
    spent: dict[str, Any] | None = None,
    metadata: Any = None,
    **run: Any,
) -> str:
    """A finished run of one call.

    Args:
        spent: as for `RunBudget.spend`. run: of `RunContext.create`.
    """
    budget = RunBudget(max_prompt_tokens=10**9, max_cost_usd_cents=1e9)
    ctx = RunContext.create(agent, budget=budget, clock=plant.clock, metadata=metadata or {}, **run)
    with plant.executor.run(ctx):
        plant.executor.execute(ctx, "plant.write", {})
        ctx.budget.spend(**(spent or {}))
    return ctx.run_id
