"""Runs of agents on record: which there are, how each stands, and how one goes on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from sb.agent.agentic import AGENT_RUN, AgenticRuntime, Critic
from sb.agent.attempt import OnStep
from sb.agent.goal_planner import GoalPlanner
from sb.agent.model_planner import ModelPlanner
from sb.agent.plan_file import PlanFile, plan_of
from sb.agent.planning import Planner
from sb.agent.run_record import RunRecord, RunState, StepArtifact
from sb.base.reading import Report
from sb.base.secrets.redaction import redact_text
from sb.base.text import nearest
from sb.base.values.frozen import frozen
from sb.config.guards import OFF
from sb.errors import NotFoundError, UsageError
from sb.kernel.approvals.queue import ApprovalQueue
from sb.kernel.calls.approval import ApprovalState
from sb.kernel.durable_execution.records import (
    STOPPED,
    StepRecord,
    WorkflowRecord,
    arguments_of,
    workflow_records,
)
from sb.kernel.incident_response.kill_switch import KillSwitch
from sb.log.event_log import EventLog

if TYPE_CHECKING:
    from sb.runtime import Runtime

KILLED = "killed"  # the state of a run of which no call is made until a kill is lifted


@frozen
class AgentRun:
    """A run of an agent.

    Args:
        goal: as it was given, without secrets.
        state: finished, running, unknown, stopped, killed, or waits. waits_for: the request that a person has to decide, or "".
        started_at: microseconds since the epoch.
    """

    workflow_id: str
    run_id: str
    agent: str
    goal: str
    state: str
    started_at: int
    steps: tuple[StepRecord, ...]
    waits_for: str = ""


def agent_runs(log: EventLog, *, everything: bool = False) -> list[AgentRun]:
    """Unfinished runs, or all of them, oldest first."""
    records = [record for record in workflow_records(log, everything=everything) if record.name == AGENT_RUN]
    if not records:
        return []
    requests = ApprovalQueue(log).page(states=(ApprovalState.WAITING,), limit=0)
    waiting = {request.run_id: request.id for request in requests}
    kills, given = KillSwitch(log).in_force(), arguments_of(log, AGENT_RUN)
    return [_agent_run(record, given[record.workflow_id], waiting, kills) for record in records]


def agent_run(log: EventLog, workflow_id: str) -> AgentRun:
    """A run by its id, by that of its calls, or by the only beginning of the latter.

    Raises:
        NotFoundError: there is none of that id.
    """
    runs = agent_runs(log, everything=True)
    exact = [run for run in runs if workflow_id in (run.workflow_id, run.run_id)]
    begun = [run for run in runs if len(workflow_id) > 4 and run.run_id.startswith(workflow_id)]
    if found := exact or (begun if len(begun) == 1 else []):
        return found[0]
    near = nearest(workflow_id, [run.workflow_id for run in runs])
    raise NotFoundError(f"no agent's run {workflow_id!r} is on record{near}", "sb agent list --all")


def _agent_run(
    record: WorkflowRecord, given: Mapping[str, Any], waiting: Mapping[str, str], kills: Collection[str]
) -> AgentRun:
    waits_for, state = waiting.get(record.run_id, ""), record.state
    if state == STOPPED:
        state = KILLED if f"run:{record.run_id}" in kills else str(RunState.WAITS) if waits_for else state
    return AgentRun(
        record.workflow_id,
        record.run_id,
        str(given["agent"]),
        redact_text(str(given["goal"])),
        state,
        record.started_at,
        record.steps,
        waits_for,
    )


def begin_run(
    runtime: Runtime,
    agent: str,
    goal: str,
    planner: Planner | None = None,
    *,
    workflow_id: str = "",
    dry_run: bool = False,
    on_step: OnStep | None = None,
    on_wait: Callable[[RunRecord], object] = lambda record: None,
    critic: Critic | None = None,
    wait_s: float = 0.0,
) -> RunRecord:
    """Work towards a goal, or go on with the run of this id.

    Args:
        on_wait: told each time that it begins to wait for a person. wait_s: seconds that it waits for each.

    Raises:
        as `AgenticRuntime.run`.
    """

    from sb.runtime.parts import output_gate

    heard = set[str]()

    def tell(artifact: StepArtifact) -> None:
        """Tell of each step that is done once, though a later attempt hears of it again."""
        if on_step is not None and artifact.step not in heard:
            on_step(artifact)
        if artifact.ok:
            heard.add(artifact.step)

    def attempt(wait_s: float) -> RunRecord:
        budget = runtime.budget()
        if isinstance(planner, PlanFile):
            budget = planner.budget(budget)
        metadata = {"dry_run": True} if dry_run else {}
        ctx = runtime.context(agent, goal, budget=budget, metadata=metadata)
        gated = runtime.config.output_gate.messages != OFF
        agentic = AgenticRuntime(
            executor=runtime.executor,
            gate=output_gate(runtime.log) if gated else None,
            planner=planner,
            critic=critic,
            journal=runtime.workflows,
            on_step=tell,
            wait_s=wait_s,
        )
        return agentic.run(goal, ctx, workflow_id=workflow_id)

    workflow_id = workflow_id or runtime.context(agent).run_id
    record, waited_for = attempt(0), ""
    while record.state is RunState.WAITS and record.approval_id != waited_for:
        on_wait(record)
        waited_for = record.approval_id
        if wait_s > 0:
            record = attempt(wait_s)
    return record


def resume_run(runtime: Runtime, workflow_id: str, plan: PlanFile | None = None, **more: Any) -> RunRecord:
    """Go on with a run as it was begun.

    Args:
        plan: the file that it is believed to follow; refused where it differs from the recorded one.
        more: as for `begin_run`.

    Raises:
        NotFoundError: there is no such run.
        UsageError: its plan was changed, or is a program's own.
        as `AgenticRuntime.run`.
    """
    run = agent_run(runtime.log, workflow_id)
    given = arguments_of(runtime.log, AGENT_RUN)[run.workflow_id]
    document = given["plan"]
    # Its variables may have been given beside the file.
    variables = (document or {}).get("variables")
    changes = _changes(document or {}, {**plan.document, "variables": variables}) if plan else []
    if changes:
        changed = ", ".join(changes)
        raise UsageError(
            f"the plan of {run.workflow_id} was changed since it began: {changed}",
            "resume it without --plan, or begin a new run",
        )
    planner = _planner_of(document)
    return begin_run(
        runtime, str(given["agent"]), str(given["goal"]), planner, workflow_id=run.workflow_id, **more
    )


def _planner_of(document: Any) -> Planner:
    """The planner of a run, from what it was begun with."""
    if document is None:
        return GoalPlanner()
    if "model" in document:
        return model_planner(document["model"])
    return plan_of(document, Report("the recorded plan"))


def model_planner(name: str) -> ModelPlanner:
    """A planner by a model that the `llm` package knows.

    Raises:
        ModelError: it is not installed, or knows no such model.
    """
    from sb.entity.inference.llm_model import LLMModel

    return ModelPlanner(LLMModel(name))


def _changes(before: Any, after: Any, at: str = "") -> list[str]:
    """The places in which two documents differ."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        keys = dict.fromkeys([*before, *after])
        return [
            place
            for key in keys
            for place in _changes(before.get(key), after.get(key), f"{at}.{key}".lstrip("."))
        ]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [
            place
            for index, (old, new) in enumerate(zip(before, after, strict=True))
            for place in _changes(old, new, f"{at}[{index}]")
        ]
    return [] if before == after else [at]
