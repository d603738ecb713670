"""Breaks HA-26, and HA-02 in part, in processes that have this folder on PYTHONPATH: to see what a failing audit does."""

from importlib.util import find_spec

if find_spec("sb"):  # not another Python, which the scripts of the action use too
    from sb.agent import model_planner, prompting
    from sb.kernel.run_context import RunBudget

    RunBudget.remaining_tool_calls = lambda budget: 1  # type: ignore[method-assign,assignment]
    model_planner.compile_prompt = lambda text, items=(), **_: prompting.Prompt(text)  # type: ignore[attr-defined]
