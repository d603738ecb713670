"""Runtime of agents: a planner says what is next, the executor does it, the journal remembers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from sb.agent.attempt import BUDGET_EXHAUSTED, Attempt, OnStep, RunStopped, answer_alone, in_words, next_step
from sb.agent.goal_planner import GoalPlanner
from sb.agent.planning import PlannedStep, Planner, Question, Steps
from sb.agent.run_record import Critique, RunRecord, RunState, StepArtifact
from sb.config.guards import REDACT
from sb.errors import UsageError
from sb.kernel.contracts import ToolSpec
from sb.kernel.durable_execution.journal import WorkflowJournal
from sb.kernel.durable_execution.records import run_of
from sb.kernel.execution.executor import ToolExecutor
from sb.kernel.execution.output_guard import OutputGate
from sb.kernel.registry.registry import ToolRegistry
from sb.kernel.reversibility.contracts import MutationState
from sb.kernel.run_context import RunContext
from sb.log.event import Subject

AGENT_RUN = "agent"  # the name of the workflows that are agents' runs
_OF_HOSTS = "host."  # contracts of what coding agents do themselves: nothing here can call them
CRITIQUE = "critique"  # the name of the artifact that says why there is no output

Critic = Callable[[RunRecord], Critique]


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
            UsageError: something that the run did was undone.
            WorkflowClaimed: another process is running it.
            ReplayMismatch: the planner asks for other steps than those on record.
        """
        if ctx.metadata.get("dry_run"):
            return self._dry(goal, ctx)
        workflow_id = workflow_id or ctx.run_id
        self._refuse_undone(workflow_id)
        attempt = Attempt(self._executor, self._steps(goal, ctx, dry_run=False), self._on_step, self._wait_s)
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
        run_id = run_of(self._executor.event_log, workflow_id)
        artifacts = tuple(attempt.artifacts)
        return self._judged(
            RunRecord(goal, ctx.agent_name, workflow_id, run_id, state, artifacts, output), ctx
        )

    async def arun(self, goal: str, ctx: RunContext, *, workflow_id: str = "") -> RunRecord:
        """`run` for coroutines, in a thread of its own."""
        return await asyncio.to_thread(self.run, goal, ctx, workflow_id=workflow_id)

    def _refuse_undone(self, workflow_id: str) -> None:
        """Refuse to go on with a run whose steps were undone: those after them rest on what is gone."""
        run_id = run_of(self._executor.event_log, workflow_id)
        done = self._executor.mutations.of_run(run_id) if run_id else []
        undone = [ref for ref in done if ref.state is MutationState.REVERSED]
        if undone:
            names = ", ".join(dict.fromkeys(ref.tool_id for ref in undone))
            raise UsageError(f"the run cannot go on: what it did was undone ({names})", "begin a new run")

    def _steps(self, goal: str, ctx: RunContext, *, dry_run: bool) -> Steps:
        return self._planner.steps(goal, self._tools(ctx.agent_name), dry_run=dry_run)

    def _tools(self, agent: str) -> list[ToolSpec]:
        found = self._executor.registry.filter_for_agent(agent)
        return [spec for spec in found if not spec.tool_id.startswith(_OF_HOSTS)]

    def _dry(self, goal: str, ctx: RunContext) -> RunRecord:
        """The steps that would be made, as far as they are known before any is."""
        artifacts: list[StepArtifact] = []
        steps, sent, left = self._steps(goal, ctx, dry_run=True), None, ctx.budget.remaining_tool_calls()
        while True:
            step, _, artifact = next_step(steps, sent)
            if isinstance(step, Question):
                sent = answer_alone(step)
                if sent.ok:
                    continue
                artifact = sent
            elif step is not None:
                artifact = sent = self._foreseen(step, ctx, exhausted=len(artifacts) >= left)
            if artifact is None:
                break
            artifacts.append(artifact)
            self._on_step(artifact)
            if not artifact.ok:
                break
        return RunRecord(goal, ctx.agent_name, state=RunState.PLANNED, artifacts=tuple(artifacts))

    def _foreseen(self, step: PlannedStep, ctx: RunContext, *, exhausted: bool) -> StepArtifact:
        """A step of a dry run, with why it would be refused or would wait."""
        refusal = self._executor.refusal(ctx, step.tool, dict(step.args))
        notes = (step.note, step.ask and f"asks: {step.ask}", refusal)
        error = BUDGET_EXHAUSTED if exhausted else ""
        note = "; ".join(filter(None, notes))
        return StepArtifact(
            step.name or step.tool, not exhausted, step.tool, step.args, error=error, note=note
        )

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
            critique = Critique(passed=False, notes=(in_words("the critic", error),))
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
