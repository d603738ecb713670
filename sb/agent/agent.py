"""Agent in a few lines: a name, tools, a plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sb.agent.agentic import Critic
from sb.agent.attempt import OnStep
from sb.agent.plan_file import PlanFile, read_plan
from sb.agent.planning import Planner
from sb.agent.run_record import RunRecord
from sb.agent.runs import agent_run, begin_run
from sb.errors import UsageError
from sb.kernel.functions.governed import governed
from sb.kernel.registry.registry import ToolRegistry

if TYPE_CHECKING:
    from sb.runtime import Runtime


class Agent:
    """An agent of this process's runtime.

    ```python
    agent = Agent("clerk", tools=[read_order, refund], plan="refund.yaml")
    record = agent.run("refund order 1002", order=1002)
    ```

    Args:
        name: of the agent: what its charter, permissions, approvals and the log know it by.
        tools: functions, `governed` or plain ones, which then count as reading only.
        plan: a file, a planner, or None for the rules of `GoalPlanner`.
        runtime: where it runs; by default one of this process's configuration, opened for each run.
        critic, on_step, wait_s: as for `AgenticRuntime`.
    """

    def __init__(
        self,
        name: str,
        *,
        tools: Sequence[Callable[..., Any]] = (),
        plan: str | Path | Planner | None = None,
        runtime: Runtime | None = None,
        critic: Critic | None = None,
        on_step: OnStep | None = None,
        wait_s: float = 0.0,
    ) -> None:
        self.name = name
        self._tools = [tool if hasattr(tool, "governed") else governed(tool) for tool in tools]
        self._plan = read_plan(Path(plan)) if isinstance(plan, str | Path) else plan
        self._runtime = runtime
        self._more: Mapping[str, Any] = {"critic": critic, "on_step": on_step, "wait_s": wait_s}

    def run(self, goal: str, *, run: str = "", dry_run: bool = False, **variables: Any) -> RunRecord:
        """Work towards a goal; see `AgenticRuntime.run`.

        Args:
            run: the id of a run that goes on; NotFoundError if there is none.
            variables: of the plan's file.
        """
        if self._runtime is not None:
            return self._run_in(self._runtime, goal, run, variables, dry_run=dry_run)
        from sb.runtime import open_runtime

        with open_runtime() as runtime:
            return self._run_in(runtime, goal, run, variables, dry_run=dry_run)

    def _run_in(
        self, runtime: Runtime, goal: str, run: str, variables: Mapping[str, Any], *, dry_run: bool
    ) -> RunRecord:
        plan = self._plan
        if isinstance(plan, PlanFile):
            plan = plan.with_variables(variables)
        elif variables:
            raise UsageError(f"only a plan's file has variables: {', '.join(variables)}")
        self._register(runtime.registry)
        known = agent_run(runtime.log, run).workflow_id if run else ""
        return begin_run(runtime, self.name, goal, plan, workflow_id=known, dry_run=dry_run, **self._more)

    def _register(self, registry: ToolRegistry) -> None:
        for tool in self._tools:
            tool.governed.register(registry)  # type: ignore[attr-defined]
