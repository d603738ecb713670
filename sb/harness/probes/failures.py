"""Helpers of the probes about failures and reversals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sb.errors import SBError
from sb.kernel.compensation.outcome import CompensationOutcome
from sb.kernel.contracts import ToolResult
from sb.kernel.run_context import RunContext
from sb.runtime import Runtime


def dispatched(runtime: Runtime, ctx: RunContext, result: ToolResult, **args: Any) -> CompensationOutcome:
    """The runtime's outcome for a failed call with these arguments."""
    dispatch = runtime.compensation.dispatch
    return dispatch(ctx, tool_id=result.tool_id, call_id=result.call_id, args=args, result=result)


def refusal(act: Callable[[], object]) -> str:
    """The name of the error in which an act ends; "nothing raised" when it does not."""
    try:
        act()
    except (SBError, ValueError) as error:
        return type(error).__name__
    return "nothing raised"
