"""Saboteurs of runs of evals, and of what may change by them."""

from __future__ import annotations

from typing import Any

import pytest

from sb.evals import cases, comparison, judging, proposals, running
from sb.evals.agents.attempt import CallLines
from sb.evals.answer import Answer
from sb.evals.comparison import GateResult
from sb.evals.kernel import CaseHomes
from sb.evals.results import Attempt
from sb.evals.suite import Case
from sb.kernel.trajectory_eval import grading
from sb.runtime import parts
from tests.harness.saboteurs import breaks


@breaks("HA-16")
def matchers_are_not_asked(patch: pytest.MonkeyPatch) -> None:
    def judge(case: Case, answer: Answer) -> Attempt:
        return Attempt(answer, not answer.error)

    patch.setattr(running, "judge", judge)


@breaks("HA-16")
def a_trajectory_is_not_graded(patch: pytest.MonkeyPatch) -> None:
    real = grading.grade
    patch.setattr(judging, "grade", lambda trajectory, calls: real(type(trajectory)(), calls))


@breaks("HA-16")
def failed_calls_count_as_succeeded(patch: pytest.MonkeyPatch) -> None:
    real = CallLines._line

    def line(self: CallLines, call: Any, *, success: bool, ms: float) -> dict[str, Any]:
        return real(self, call, success=True, ms=ms)

    patch.setattr(CallLines, "_line", line)


@breaks("HA-16")
def nothing_is_worse_than_before(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(comparison, "regression", lambda before, after, growth=None: "")


@breaks("HA-16")
def cases_that_cannot_fail_are_taken(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(cases, "_refuse_toothless", lambda values, place: None)


@breaks("HA-37")
def proposals_are_applied_whatever_they_do(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(proposals, "gate", lambda run, compared: GateResult(0, ()))


@breaks("HA-37")
def the_folder_of_a_suite_can_be_opened(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(CaseHomes, "_refuse_reach", lambda self, config, suite: None)


@breaks("HA-37")
def evaluations_are_not_guarded(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(parts, "judging_files", lambda config: [])
