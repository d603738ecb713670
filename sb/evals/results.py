"""Results of the cases of a run of evals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any

from sb.base.values.frozen import frozen
from sb.evals.answer import Answer
from sb.kernel.trajectory_eval.model import Trajectory, TrajectoryGrade


class CaseVerdict(StrEnum):
    """Verdict on a case."""

    PASSED = "passed"
    FAILED = "failed"
    FLAKY = "flaky"  # some attempts passed, some did not
    ERROR = "error"  # the agent could not be run
    SKIPPED = "skipped"
    EXPECTED = "expected_failure"
    UNEXPECTED = "unexpected_pass"  # of a case that says that it fails


@frozen
class Attempt:
    """One run of a case.

    Args:
        failures: a line for each demand that does not hold; the agent's error if it could not be run.
        grade: of its calls; None where the case has no trajectory.
    """

    answer: Answer
    passed: bool
    failures: tuple[str, ...] = ()
    grade: TrajectoryGrade | None = None


@frozen
class CaseResult:
    """Result of one case.

    Args:
        suite: the name of its suite. passes: how many attempts passed.
        needed: how many had to.
        reason: why it was skipped or expected to fail.
        trajectory: what its calls were graded against, if anything.
        variables: those that made it, of a table of cases.
    """

    suite: str
    id: str
    verdict: CaseVerdict
    attempts: tuple[Attempt, ...] = ()
    needed: int = 1
    reason: str = ""
    tags: tuple[str, ...] = ()
    trajectory: Trajectory | None = None
    variables: Mapping[str, Any] = field(default_factory=dict)

    @property
    def passes(self) -> int:
        return sum(attempt.passed for attempt in self.attempts)

    @property
    def holds(self) -> bool:
        """True if a gate lets the case pass: a flaky one only if enough of its attempts passed."""
        if self.verdict is CaseVerdict.FLAKY:
            return self.passes >= self.needed
        return self.verdict not in (CaseVerdict.FAILED, CaseVerdict.ERROR)


@frozen
class EvalRun:
    """A run of evals.

    Args:
        id, at: its id, and seconds since the epoch. agent: the agent as it was named, masked.
        suites: digest by name. release: the release tuple under which it ran, as a document.
        interrupted: it was stopped before the end.
    """

    id: str
    at: float
    agent: str
    results: tuple[CaseResult, ...]
    suites: Mapping[str, str] = field(default_factory=dict)
    release: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    interrupted: bool = False
