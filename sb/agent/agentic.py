"""Runtime of agents: a planner says what is next, the executor does it, the journal remembers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

from sb.agent.goal_planner import GoalPlanner
from sb.agent.planning import PlanError, PlannedStep, Planner, Steps
from sb.agent.run_record import Critique, RunRecord, RunState, StepArtifact
from sb.base.secrets.redaction import one_line
from sb.config.guards import REDACT
from sb.errors import SBError, UsageError
from sb.kernel.calls.call import Ask
from sb.kernel.contracts import ToolSpec
from sb.kernel.durable_execution.errors import CallFailed, LeaseLost, ReplayMismatch, StepInDoubt
from sb.kernel.durable_execution.journal import WorkflowJournal
from sb.kernel.durable_execution.records import workflow_record
from sb.kernel.durable_execution.workflow import Workflow
from sb.kernel.execution.executor import ToolExecutor
from sb.kernel.execution.output_guard import OutputGate
from sb.kernel.registry.registry import ToolRegistry
from sb.kernel.run_context import RunContext
from sb.log.event import Subject

AGENT_RUN = "agent"  # the name of the workflows that are agents' runs
BUDGET_EXHAUSTED = "budget exhausted"  # kernel.md, "Integration with AgenticRuntime"
ASKED_BY_PLAN = "plan"  # the rule of a reason why a person is asked
PLAN_STEP, CRITIQUE = (
    "plan",
    "critique",
)  # artifacts that are no calls: why there is no next step, why no output
_LONGEST = 300  # characters of what a foreign exception says

Critic = Callable[[RunRecord], Critique]
OnStep = Callable[[StepArtifact], object]


class RunStopped(Exception):
    """An attempt that ended before its plan did; the log names it."""

    def __init__(self, state: RunState, artifact: StepArtifact) -> None:
        super().__init__(artifact.error)
        self.state = state
        self.artifact = artifact


class AgenticRuntime:
    """Runs plans: each step is a governed call, and a step of the journal, so that a run survives its process.

    A run that was stopped by a failure, by a person who has not decided yet or by the end of its process goes on when
    it is run again under its `workflow_id`: steps that are done are not made a second time.

    Args:
        tool_registry: the tools. executor: makes the calls; by default one over these tools, with a log in memory.
        planner: says what is next; by default `GoalPlanner`.
        critic: judges a run that has ended; by default it passed. What it does not pass is not handed out.
        gate: searches the output for what may not leave; by default nothing does.
        journal: of the executor's log, by default a new one.
        on_step: told of each outcome as it comes.
        wait_s: seconds that a step waits for a person's decision.
    """

    def __init__(
        self,
        tool_registry: ToolRegistry | None = None,
        *,
        executor: ToolExecutor | None = None,
        planner: Planner | None = None,
        critic: Critic | None = None,
        gate: OutputGate | None = None,
        journal: WorkflowJournal | None = None,
        on_step: OnStep | None = None,
        wait_s: float = 0.0,
    ) -> None:
        if executor is None and tool_registry is None:
            raise UsageError("an agent's runtime needs tools", "AgenticRuntime(tool_registry=registry)")
        self._executor = executor or ToolExecutor(tool_registry or ToolRegistry())
        self._planner = planner or GoalPlanner()
        self._critic = critic
        self._gate = gate
        self._journal = journal or WorkflowJournal(self._executor.event_log, kill_switch=self._executor.kill)
        self._on_step = on_step or (lambda artifact: None)
        self._wait_s = wait_s

    def run(self, goal: str, ctx: RunContext, *, workflow_id: str = "") -> RunRecord:
        """Work towards a goal, or go on where the run of this id was stopped.

        With `ctx.metadata["dry_run"]` nothing is called: the record has the steps that would be made.

        Args:
            ctx: who runs, and with which budget. Its run id is the default of `workflow_id`; the calls are of the
                workflow's own run, which the record names.

        Raises:
            DeniedError: charter or release of the agent refuse the run.
            WorkflowConflict: the run of this id has another goal, agent or plan.
            WorkflowClaimed: another process is running it.
            ReplayMismatch: the planner asks for other steps than those on record.
        """
        if ctx.metadata.get("dry_run"):
            return self._dry(goal, ctx)
        workflow_id = workflow_id or ctx.run_id
        attempt = _Attempt(self._executor, self._steps(goal, ctx, dry_run=False), self._on_step, self._wait_s)
        given = {"goal": goal, "agent": ctx.agent_name, "plan": self._planner.document}
        state, output = RunState.DONE, None
        try:
            output = self._journal.run(
                AGENT_RUN,
                workflow_id,
                lambda workflow, **_: attempt.work(workflow, ctx),
                given,
                agent=ctx.agent_name,
            )
        except RunStopped as stopped:
            state = stopped.state
        run_id = workflow_record(self._executor.event_log, workflow_id).run_id
        artifacts = tuple(attempt.artifacts)
        return self._judged(
            RunRecord(goal, ctx.agent_name, workflow_id, run_id, state, artifacts, output), ctx
        )

    async def arun(self, goal: str, ctx: RunContext, *, workflow_id: str = "") -> RunRecord:
        """`run` for coroutines, in a thread of its own."""
        return await asyncio.to_thread(self.run, goal, ctx, workflow_id=workflow_id)

    def _steps(self, goal: str, ctx: RunContext, *, dry_run: bool) -> Steps:
        return self._planner.steps(goal, self._tools(ctx.agent_name), dry_run=dry_run)

    def _tools(self, agent: str) -> list[ToolSpec]:
        return self._executor.registry.filter_for_agent(agent)

    def _dry(self, goal: str, ctx: RunContext) -> RunRecord:
        """The steps that would be made, as far as they are known before any is."""
        artifacts: list[StepArtifact] = []
        steps, sent, left = self._steps(goal, ctx, dry_run=True), None, ctx.budget.remaining_tool_calls()
        while True:
            step, _, artifact = _next(steps, sent)
            if step is None and artifact is None:
                break
            if artifact is None and step is not None:
                refusal = self._executor.refusal(ctx, step.tool, step.args)
                note = "; ".join(filter(None, [step.note, step.ask and f"asks: {step.ask}", refusal]))
                artifact = StepArtifact(step.name or step.tool, True, step.tool, step.args, note=note)
                if len(artifacts) >= left:
                    artifact = replace(artifact, ok=False, error=BUDGET_EXHAUSTED)
            if artifact is None:
                break
            artifacts.append(artifact)
            self._on_step(artifact)
            if not artifact.ok:
                break
            sent = artifact
        return RunRecord(goal, ctx.agent_name, state=RunState.PLANNED, artifacts=tuple(artifacts))

    def _judged(self, record: RunRecord, ctx: RunContext) -> RunRecord:
        """The record with its verdict; an output that does not pass is withheld.

        What cannot be searched does not leave, and a critic that raises has not passed it.
        """
        if record.state is not RunState.DONE:
            return replace(record, critique=Critique(passed=False))
        try:
            record = self._gated(record, ctx)
            critique = self._critic(record) if self._critic else Critique(passed=True)
        except Exception as error:  # noqa: BLE001 - of a caller's critic too: what it raises is its verdict
            critique = Critique(passed=False, notes=(_said("the critic", error),))
        if critique.passed:
            return replace(record, critique=critique)
        failed = StepArtifact(
            CRITIQUE, False, error="; ".join(critique.notes) or "the critic did not pass it"
        )
        artifacts = (*record.artifacts, failed)
        return replace(record, state=RunState.FAILED, artifacts=artifacts, output=None, critique=critique)

    def _gated(self, record: RunRecord, ctx: RunContext) -> RunRecord:
        """The record without what may not leave."""
        if self._gate is None:
            return record
        output, labels = self._gate.gated(record.output, ctx)
        if labels:
            subject = Subject(record.run_id, ctx.trace_id, ctx.agent_name)
            self._gate.record(subject, labels, place="output", action=REDACT)
        return replace(record, output=output)


class _Attempt:
    """One attempt at a run.

    Args:
        steps: of the planner.
    """

    def __init__(self, executor: ToolExecutor, steps: Steps, on_step: OnStep, wait_s: float) -> None:
        self.artifacts: list[StepArtifact] = []
        self._executor = executor
        self._steps = steps
        self._on_step = on_step
        self._wait_s = wait_s

    def work(self, workflow: Workflow, ctx: RunContext) -> Any:
        """The plan's output; raises RunStopped where it does not come to its end."""
        within = replace(ctx, run_id=workflow.run_id)
        with self._executor.run(within, resumes=True):
            sent = None
            while True:
                step, output, failed = _next(self._steps, sent)
                if failed is not None:
                    self._stop(RunState.FAILED, failed)
                if step is None:
                    return output
                sent = self._make(workflow, within, step)

    def _make(self, workflow: Workflow, ctx: RunContext, step: PlannedStep) -> StepArtifact:
        artifact = StepArtifact(step.name or step.tool, True, step.tool, step.args)
        if ctx.budget.remaining_tool_calls() <= 0:
            self._stop(RunState.FAILED, replace(artifact, ok=False, error=BUDGET_EXHAUSTED))
        used = ctx.budget.tool_calls_used
        try:
            output = workflow.call(
                self._executor,
                ctx,
                step.tool,
                step.args,
                step=artifact.step,
                wait_s=self._wait_s,
                intent=step.intent,
                asks=(Ask(ASKED_BY_PLAN, step.ask),) if step.ask else (),
            )
        except CallFailed as error:
            waits = str((error.result.data or {}).get("approval_id", "")) if not error.result.success else ""
            failed = replace(artifact, ok=False, error=error.result.error_message, approval_id=waits)
            self._stop(RunState.WAITS if waits else RunState.FAILED, failed)
        except StepInDoubt as error:
            self._stop(RunState.UNKNOWN, replace(artifact, ok=False, error=f"{error.message}; {error.hint}"))
        if ctx.budget.tool_calls_used == used and not ctx.budget.reserve_call():
            ctx.budget.settle_call(0)  # a call of an earlier attempt counts in this one too
        artifact = replace(artifact, output=output)
        self.artifacts.append(artifact)
        self._on_step(artifact)
        return artifact

    def _stop(self, state: RunState, artifact: StepArtifact) -> NoReturn:
        self.artifacts.append(artifact)
        self._on_step(artifact)
        raise RunStopped(state, artifact)


def _next(steps: Steps, sent: StepArtifact | None) -> tuple[PlannedStep | None, Any, StepArtifact | None]:
    """The next step; or the output at the end; or why there is none."""
    try:
        step = next(steps) if sent is None else steps.send(sent)
    except StopIteration as end:
        return None, end.value, None
    except PlanError as error:
        hint = f"; {error.hint}" if error.hint else ""
        return None, None, StepArtifact(PLAN_STEP, False, error=f"{error.message}{hint}")
    except (LeaseLost, ReplayMismatch):
        raise
    except SBError as error:
        return None, None, StepArtifact(PLAN_STEP, False, error=error.message)
    except Exception as error:  # noqa: BLE001 - a caller's code: its failure ends the run, and not the program
        return None, None, StepArtifact(PLAN_STEP, False, error=_said("the planner", error))
    return step, None, None


def _said(who: str, error: Exception) -> str:
    return f"{who} raised {type(error).__name__}: {one_line(str(error), _LONGEST)}"
