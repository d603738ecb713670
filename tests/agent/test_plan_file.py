"""Plans in YAML: what they can say, and what is refused with its line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from sb.agent import AgenticRuntime, PlanError, RunRecord, RunState, read_plan
from sb.errors import ConfigError
from sb.kernel import RunBudget, RunContext, ToolRegistry
from tests.agent import counter

REFUND = """
agent: clerk
variables: {order: 1002, limit: 10000}
budget: {tool_calls: 50, seconds: 600}
steps:
  - name: look
    tool: orders.read
    args: {order: "{{order}}"}
  - name: back
    tool: pay.refund
    when: {look.state: refund asked, look.cents: {above: 0, below: 10000}}
    args: {order: "{{order}}", cents: "{{look.cents}}"}
  - each: "{{look.items}}"
    as: it
    most: 5
    steps:
      - tool: pack.item
        args: {item: "{{it}} of {{look.customer}}"}
output: "{{look.customer}} of order {{order}}"
"""


@pytest.fixture
def registry(home: Path) -> ToolRegistry:
    home.mkdir(exist_ok=True)
    registry = ToolRegistry()
    counter.register(registry)
    return registry


def run(
    registry: ToolRegistry, folder: Path, text: str, *, dry_run: bool = False, **variables: Any
) -> RunRecord:
    path = folder / "plan.yaml"
    path.write_text(text)
    plan = read_plan(path).with_variables(variables)
    ctx = RunContext.create("clerk", budget=plan.budget(RunBudget()), metadata={"dry_run": dry_run})
    return AgenticRuntime(registry, planner=plan).run("refund", ctx)


def test_steps_use_variables_conditions_and_what_earlier_ones_gave(
    registry: ToolRegistry, tmp_path: Path
) -> None:
    record = run(registry, tmp_path, REFUND)
    assert (record.state, record.output) == (RunState.DONE, "Grace of order 1002")
    assert counter.done() == [
        "read 1002",
        "refund 1002 4900",
        "pack lamp of Grace",
        "pack bulb of Grace",
    ]
    assert [artifact.step for artifact in record.artifacts] == ["look", "back", "item[0]", "item[1]"]


def test_a_condition_that_does_not_hold_leaves_its_step_out(registry: ToolRegistry, tmp_path: Path) -> None:
    assert run(registry, tmp_path, REFUND, order=1003).state is RunState.DONE
    assert counter.done() == ["read 1003"]


def test_what_a_skipped_step_would_have_given_is_null(registry: ToolRegistry, tmp_path: Path) -> None:
    text = REFUND.replace(
        'output: "{{look.customer}} of order {{order}}"', 'output: "{{back.refunded}} back"'
    )
    record = run(registry, tmp_path, text, order=1003)
    assert (record.state, record.output) == (RunState.DONE, "- back")


def test_a_dry_run_says_what_depends_on_outcomes(registry: ToolRegistry, tmp_path: Path) -> None:
    record = run(registry, tmp_path, REFUND, dry_run=True)
    assert [(artifact.step, artifact.note) for artifact in record.artifacts] == [
        ("look", ""),
        ("back", "only if look.state, look.cents; needs look.cents"),
        ("item[0]", "needs it"),
    ]
    assert record.artifacts[0].args == {"order": 1002}
    assert counter.done() == []


def test_a_plan_has_a_budget_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(REFUND)
    budget = read_plan(path).budget(RunBudget())
    assert (budget.max_tool_calls, budget.max_latency_ms, budget.max_cost_usd_cents) == (50, 600_000, 10.0)


STEP = "{name: look, tool: orders.read, args: {order: 1}}"


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("steps: []", 1, "steps: must not be empty"),
        ("agent: clerk", 0, "steps is missing"),
        (f"steps:\n  - {STEP}\n  - {STEP}", 3, "the name 'look' is taken"),
        (
            "steps:\n  - {tool: a.b, args: {x: '{{later.y}}'}}\n  - {name: later, tool: a.b}",
            2,
            "names no variable or earlier step",
        ),
        ("steps:\n  - {tool: a.b, when: {later.y: 1}}", 2, "names no variable or earlier step"),
        ("variables: {a: '{{b}}', b: '{{a}}'}\nsteps:\n  - {tool: a.b}", 1, "cannot stand in variables"),
        ("steps:\n  - {tool: a.b, each: [1], as: it, steps: []}", 2, "has to have either tool or each"),
        ("steps:\n  - {each: [1], steps: [{tool: a.b}]}", 2, "as is missing"),
        ("steps:\n  - {each: [1], as: it, args: {}, steps: [{tool: a.b}]}", 2, "does not stand beside each"),
        ("steps:\n  - {tool: a.b, most: 3}", 2, "does not stand beside tool"),
        ("steps:\n  - {tool: a.b, whn: {}}", 2, "unknown key (did you mean"),
        ("steps:\n  - {tool: a.b, when: {goal: {abov: 3}}}", 2, "must be a value, a list of them"),
        ("budget: {tool_calls: 0}\nsteps:\n  - {tool: a.b}", 1, "must be a whole number from 1"),
        ("steps:\n  - {tool: a.b, args: {x: '{{goal.}}'}}", 2, "names no variable"),
        ("a: &x 1\nsteps: [{tool: a.b}]", 1, ""),
        ("steps:\n  - [", 2, ""),
    ],
)
def test_a_wrong_plan_is_refused_with_its_line(tmp_path: Path, text: str, line: int, says: str) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_plan(path)
    place = rf"plan.yaml:{line}\b" if line else "plan.yaml: "
    assert re.search(place, caught.value.message), caught.value.message
    assert says in caught.value.message


def test_loops_within_loops_and_large_files_have_a_bound(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    inner = "{tool: a.b}"
    for depth in range(4):
        inner = f"{{each: [1], as: it{depth}, steps: [{inner}]}}"
    path.write_text(f"steps: [{inner}]")
    with pytest.raises(ConfigError, match="nested deeper than 3 loops"):
        read_plan(path)
    path.write_text("steps:\n" + "  - {tool: a.b}\n" * 600_000)
    with pytest.raises(ConfigError, match=r"plan.yaml: "):
        read_plan(path)
    with pytest.raises(ConfigError, match="there is no such file"):
        read_plan(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("plan", "says"),
    [
        (
            "steps: [{name: look, tool: orders.read, args: {order: 1002}}]\noutput: '{{look.custmer}}'",
            "look has no 'custmer' (did you mean",
        ),
        (
            "steps: [{name: look, tool: orders.read, args: {order: 1002}}, {each: '{{look.cents}}', as: it, steps: [{tool: pack.item, args: {item: x}}]}]",
            "is no list",
        ),
        (
            "variables: {all: [1, 2, 3]}\nsteps: [{each: '{{all}}', as: it, most: 2, steps: [{tool: pack.item, args: {item: x}}]}]",
            "has 3 items, most: 2",
        ),
        (
            "steps: [{tool: packk.item, args: {item: x}}]",
            "no tool packk.item that this agent may use (did you mean",
        ),
    ],
)
def test_what_only_a_run_can_know_ends_it_with_a_reason(
    registry: ToolRegistry, tmp_path: Path, plan: str, says: str
) -> None:
    record = run(registry, tmp_path, plan)
    assert record.state is RunState.FAILED
    assert says in record.error


def test_a_variable_that_the_plan_does_not_have_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(REFUND)
    with pytest.raises(PlanError, match=r"no variable ordr .did you mean"):
        read_plan(path).with_variables({"ordr": 1})
