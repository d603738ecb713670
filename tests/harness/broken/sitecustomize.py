"""Breaks HA-26 in the processes that have this folder on PYTHONPATH, to see what a failing audit does."""

from importlib.util import find_spec

if find_spec("sb"):  # not another Python, which the scripts of the action use too
    from sb.kernel.run_context import RunBudget

    RunBudget.remaining_tool_calls = lambda budget: 1  # type: ignore[method-assign]
