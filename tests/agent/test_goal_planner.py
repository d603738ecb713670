"""The planner by rules finds the tools that a goal names, and guesses nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.agent import GoalPlanner, PlanError, PlannedStep, StepArtifact
from sb.kernel import ToolRegistry, ToolSpec
from sb.kernel.contracts import ToolArgSchema
from tests.agent import counter


def specs() -> list[ToolSpec]:
    registry = ToolRegistry()
    counter.register(registry)
    registry.register_fn(
        "vault.find_notes", "Find notes", lambda question: "", args_schema=[ToolArgSchema("question")]
    )
    return registry.list_all()


def planned(goal: str) -> list[tuple[str, dict[str, Any]]]:
    steps = GoalPlanner().steps(goal, specs())
    found, sent = [], None
    try:
        while True:
            step = next(steps) if sent is None else steps.send(sent)
            assert isinstance(step, PlannedStep)
            found.append((step.tool, dict(step.args)))
            sent = StepArtifact(step.name, ok=True)
    except StopIteration:
        return found


@pytest.mark.parametrize(
    ("goal", "steps"),
    [
        ("read order 1002", [("orders.read", {"order": 1002})]),
        ("Read the orders order=1003", [("orders.read", {"order": 1003})]),
        ("refund order 1002, cents 4900.", [("pay.refund", {"order": 1002, "cents": 4900})]),
        (
            "read order 1; then refund order=1 cents=5",
            [("orders.read", {"order": 1}), ("pay.refund", {"order": 1, "cents": 5})],
        ),
        ('pack.item item="a red lamp"', [("pack.item", {"item": "a red lamp"})]),
        ("find notes about Grace", [("vault.find_notes", {"question": "find notes about Grace"})]),
    ],
)
def test_each_part_of_a_goal_is_a_call_of_the_tool_that_it_names(
    goal: str, steps: list[tuple[str, dict[str, Any]]]
) -> None:
    assert planned(goal) == steps


@pytest.mark.parametrize(
    ("goal", "says"),
    [
        ("drink tea", "no registered tool fits 'drink tea'"),
        ("  \n ", "the goal is empty"),
        ("refund order 1002", "pay.refund needs cents"),
        ("orders.read order=1002 loudly=yes", "orders.read has no argument loudly"),
        ("orders.read order=many", "order of orders.read must be of type integer"),
        ("x" * 20_000, "the goal has 20,000 characters"),
    ],
)
def test_what_fits_no_tool_is_said_and_not_guessed(goal: str, says: str) -> None:
    with pytest.raises(PlanError, match=says):
        planned(goal)


def test_tools_that_fit_alike_are_named() -> None:
    registry = ToolRegistry()
    for tool in ("mail.send", "post.send"):
        registry.register_fn(tool, "Send", lambda: None)
    with pytest.raises(PlanError, match=r"mail.send and post.send fit 'send it' alike"):
        next(GoalPlanner().steps("send it", registry.list_all()))


@given(st.text(max_size=200))
def test_any_text_gives_steps_of_registered_tools_or_a_plan_error(goal: str) -> None:
    try:
        steps = planned(goal)
    except PlanError:
        return
    known = {spec.tool_id for spec in specs()}
    assert steps
    assert {tool for tool, _ in steps} <= known
