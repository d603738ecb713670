"""One attempt at a run: makes the steps that a planner asks for, until it ends or something stops it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

from sb.agent.planning import PlanError, PlannedStep, Question, Steps
from sb.agent.run_record import RunState, StepArtifact
from sb.base.secrets.redaction import one_line
from sb.errors import DeniedError, SBError
from sb.kernel.calls.call import Ask
from sb.kernel.contracts import ToolResult
from sb.kernel.durable_execution.errors import CallFailed, LeaseLost, ReplayMismatch, StepInDoubt
from sb.kernel.durable_execution.workflow import Workflow
from sb.kernel.execution.executor import ToolExecutor
from sb.kernel.run_context import RunBudget, RunContext

BUDGET_EXHAUSTED = "budget exhausted"  # kernel.md, "Integration with AgenticRuntime"
ASKED_BY_PLAN = "plan"  # the rule of a reason why a person is asked
PLAN_STEP = "plan"  # the name of the artifact that says why there is no next step
_LONGEST = 300  # characters of what a foreign exception says

OnStep = Callable[[StepArtifact], object]


class RunStopped(Exception):
    """An attempt that ended before its plan did; the log names it."""

    def __init__(self, state: RunState, artifact: StepArtifact) -> None:
        super().__init__(artifact.error)
        self.state = state
        self.artifact = artifact


class Attempt:
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
                step, output, failed = next_step(self._steps, sent)
                if failed is not None:
                    self._stop(RunState.FAILED, failed)
                if step is None:
                    return output
                sent = self._make(workflow, within, step)

    def _make(self, workflow: Workflow, ctx: RunContext, step: PlannedStep | Question) -> StepArtifact:
        if isinstance(step, Question):
            return self._answer(workflow, ctx, step)
        artifact = StepArtifact(step.name or step.tool, True, step.tool, step.args)
        if ctx.budget.remaining_tool_calls() <= 0:
            self._stop(RunState.FAILED, replace(artifact, ok=False, error=BUDGET_EXHAUSTED))
        used = ctx.budget.tool_calls_used
        try:
            if step.goes_on:
                made = workflow.step(
                    artifact.step,
                    lambda *_: self._attempted(ctx, step, artifact),
                    step.tool,
                    dict(step.args),
                    idempotent=True,
                )
                artifact = replace(artifact, **made)
            else:
                artifact = replace(artifact, output=self._called(workflow, ctx, step, artifact))
        except CallFailed as error:
            self._stop_at(error.result, artifact)
        except DeniedError as error:  # a kill
            self._stop(RunState.FAILED, replace(artifact, ok=False, error=error.message))
        except StepInDoubt as error:
            self._stop(RunState.UNKNOWN, replace(artifact, ok=False, error=f"{error.message}; {error.hint}"))
        if ctx.budget.tool_calls_used == used and artifact.ok and not ctx.budget.reserve_call():
            ctx.budget.settle_call(0)  # a call of an earlier attempt counts in this one too
        self.artifacts.append(artifact)
        self._on_step(artifact)
        return artifact

    def _called(self, workflow: Workflow, ctx: RunContext, step: PlannedStep, artifact: StepArtifact) -> Any:
        return workflow.call(
            self._executor,
            ctx,
            step.tool,
            step.args,
            step=artifact.step,
            wait_s=self._wait_s,
            intent=step.intent,
            asks=_asks(step),
        )

    def _attempted(self, ctx: RunContext, step: PlannedStep, artifact: StepArtifact) -> dict[str, Any]:
        """The outcome of a call that may fail; the executor knows it by its step after a crash."""
        result = self._executor.execute(
            ctx,
            step.tool,
            dict(step.args),
            step=artifact.step,
            wait_s=self._wait_s,
            intent=step.intent,
            asks=_asks(step),
        )
        if _approval_of(result):
            self._stop_at(result, artifact)
        doubts = () if result.success else self._executor.in_doubt(ctx.run_id)
        if any(doubt.step == artifact.step for doubt in doubts):
            self._stop(RunState.UNKNOWN, replace(artifact, ok=False, error=result.error_message))
        return {
            "ok": result.success,
            "output": result.data if result.success else None,
            "error": result.error_message,
        }

    def _stop_at(self, result: ToolResult, artifact: StepArtifact) -> NoReturn:
        """End the attempt at a call that did not succeed, or waits for a person."""
        waits = _approval_of(result)
        failed = replace(artifact, ok=False, error=result.error_message, approval_id=waits)
        self._stop(RunState.WAITS if waits else RunState.FAILED, failed)

    def _answer(self, workflow: Workflow, ctx: RunContext, question: Question) -> StepArtifact:
        artifact = StepArtifact(question.name, True)
        if _has_no_tokens(ctx.budget):
            self._stop(RunState.FAILED, replace(artifact, ok=False, error=BUDGET_EXHAUSTED))
        try:
            answer = workflow.step(question.name, question.ask, idempotent=True)
        except (LeaseLost, ReplayMismatch):
            raise
        except Exception as error:  # noqa: BLE001 - a model's library may raise anything: the run can be resumed
            self._stop(RunState.FAILED, replace(artifact, ok=False, error=in_words(question.name, error)))
        usage = answer.get("usage", {}) if isinstance(answer, dict) else {}
        ctx.budget.spend(
            prompt_tokens=sum(count for name, count in usage.items() if name.startswith("input"))
        )
        return replace(artifact, output=answer)

    def _stop(self, state: RunState, artifact: StepArtifact) -> NoReturn:
        self.artifacts.append(artifact)
        self._on_step(artifact)
        raise RunStopped(state, artifact)


def _has_no_tokens(budget: RunBudget) -> bool:
    """True if nothing is left for questions; those need no tool call."""
    return (
        budget.prompt_tokens_used >= budget.max_prompt_tokens
        or budget.cost_usd_cents_used >= budget.max_cost_usd_cents
    )


def _asks(step: PlannedStep) -> tuple[Ask, ...]:
    return (Ask(ASKED_BY_PLAN, step.ask),) if step.ask else ()


def _approval_of(result: ToolResult) -> str:
    """The request that a call waits for, or ""."""
    asked = not result.success and isinstance(result.data, dict)
    return str(result.data.get("approval_id", "")) if asked else ""


def answer_alone(question: Question) -> StepArtifact:
    """The answer to a question of a dry run, or why there is none."""
    try:
        return StepArtifact(question.name, True, output=question.ask())
    except Exception as error:  # noqa: BLE001 - a model's library may raise anything
        return StepArtifact(question.name, False, error=in_words(question.name, error))


def next_step(
    steps: Steps, sent: StepArtifact | None
) -> tuple[PlannedStep | Question | None, Any, StepArtifact | None]:
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
        return None, None, StepArtifact(PLAN_STEP, False, error=in_words("the planner", error))
    return step, None, None


def in_words(who: str, error: Exception) -> str:
    return f"{who} raised {type(error).__name__}: {one_line(str(error), _LONGEST)}"
