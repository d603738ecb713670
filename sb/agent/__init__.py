"""Agents that plan: a goal becomes steps, each a governed call of a run that can be stopped, resumed and undone."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sb.agent.agent import Agent as Agent
    from sb.agent.agentic import AgenticRuntime as AgenticRuntime
    from sb.agent.goal_planner import GoalPlanner as GoalPlanner
    from sb.agent.model_planner import ModelPlanner as ModelPlanner
    from sb.agent.plan_file import PlanFile as PlanFile
    from sb.agent.plan_file import read_plan as read_plan
    from sb.agent.planning import PlanError as PlanError
    from sb.agent.planning import PlannedStep as PlannedStep
    from sb.agent.planning import Planner as Planner
    from sb.agent.planning import Question as Question
    from sb.agent.prompting import Prompt as Prompt
    from sb.agent.prompting import compile_prompt as compile_prompt
    from sb.agent.run_record import Critique as Critique
    from sb.agent.run_record import RunRecord as RunRecord
    from sb.agent.run_record import RunState as RunState
    from sb.agent.run_record import StepArtifact as StepArtifact
else:
    from sb.base.lazy import lazy_exports

    __getattr__, __all__ = lazy_exports(
        __name__,
        {
            "sb.agent.agent": "Agent",
            "sb.agent.agentic": "AgenticRuntime",
            "sb.agent.goal_planner": "GoalPlanner",
            "sb.agent.model_planner": "ModelPlanner",
            "sb.agent.plan_file": "PlanFile read_plan",
            "sb.agent.planning": "PlanError PlannedStep Planner Question",
            "sb.agent.prompting": "Prompt compile_prompt",
            "sb.agent.run_record": "Critique RunRecord RunState StepArtifact",
        },
    )
