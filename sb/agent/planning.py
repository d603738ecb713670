"""Planners: they say which step comes next, and never make a call."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import field
from typing import Any, Protocol

from sb.agent.run_record import StepArtifact
from sb.base.values.frozen import frozen
from sb.errors import SBError
from sb.kernel.contracts import ToolSpec


class PlanError(SBError):
    """A plan cannot be made, or cannot go on."""

    kind = "plan_error"


@frozen
class PlannedStep:
    """A call that a planner asks for.

    Args:
        name: of the step, the same in every attempt; by default the tool's id.
        ask: why a person has to agree to it, whatever policy says; "" for no such reason.
        intent: what it is for, by its registered name; "" for what the run is for.
        goes_on: the planner is told where it fails, in place of the end of the run.
        note: of a dry run: on what it depends.
    """

    tool: str
    args: dict[str, Any] = field(default_factory=dict)
    name: str = ""
    ask: str = ""
    intent: str = ""
    goes_on: bool = False
    note: str = ""


@frozen
class Question:
    """A question that a planner asks somebody else, such as a model; the answer is kept, and the same in each attempt.

    Args:
        ask: gives the answer, in plain JSON; `usage` of it counts tokens. It may be asked again where it failed.
    """

    name: str
    ask: Callable[[], Any]


Steps = Generator[PlannedStep | Question, StepArtifact, Any]  # its return value is the run's output


class Planner(Protocol):
    """Protocol of planners.

    A planner is given contracts and outcomes, never a way to make a call. In every attempt it has to ask for the same
    steps, given the same outcomes.
    """

    @property
    def document(self) -> Any:
        """The plan in plain JSON: a run goes on with no other."""
        ...

    def steps(self, goal: str, tools: Sequence[ToolSpec], *, dry_run: bool = False) -> Steps:
        """The steps to a goal, one after the other; each is sent what became of it.

        Args:
            tools: those that the agent may use. dry_run: outcomes are not known, and nothing is called.

        Raises:
            PlanError: there is no next step that can be made.
        """
        ...
