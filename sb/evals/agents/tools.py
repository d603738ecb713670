"""The tools that an agent under test is handed: each call goes through the kernel of its case."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from sb.kernel.contracts import ToolResult, ToolSpec
from sb.kernel.functions.governed import ToolCallFailed
from sb.kernel.run_context import RunContext
from sb.runtime import Runtime

if TYPE_CHECKING:
    from sb.memory import Brain


class Tools:
    """The tools of one attempt."""

    def __init__(self, runtime: Runtime, ctx: RunContext) -> None:
        self._runtime = runtime
        self._ctx = ctx

    def names(self) -> list[str]:
        """The ids of the tools that there are."""
        return sorted(self._runtime.registry.list_ids())

    def spec(self, tool_id: str) -> ToolSpec | None:
        """A tool's contract; None if there is none of that id."""
        return self._runtime.registry.get(tool_id)

    def call(self, tool_id: str, /, **args: Any) -> Any:
        """Call a tool and return its result.

        Raises:
            ToolCallFailed: the kernel did not let it run, or it failed; `result` has the reason.
        """
        return _value(self.execute(tool_id, args))

    async def acall(self, tool_id: str, /, **args: Any) -> Any:
        """`call` for coroutines."""
        return _value(await self._runtime.executor.aexecute(self._ctx, tool_id, args))

    def execute(self, tool_id: str, args: dict[str, Any] | None = None, *, intent: str = "") -> ToolResult:
        """Call a tool and return what the kernel says of it; never raises for what a tool or policy does.

        Args:
            intent: what the call is for, such as ``refund.issue``; by default the run's.
        """
        return self._runtime.executor.execute(self._ctx, tool_id, args, intent=intent)

    @cached_property
    def memory(self) -> Brain:
        """The agent's memory, with the case's `setup.records`."""
        return self._runtime.brain(self._ctx.agent_name)


def _value(result: ToolResult) -> Any:
    if result.success:
        return result.data
    raise ToolCallFailed(result)
