"""Saboteurs of evals."""

from __future__ import annotations

import pytest

from sb.kernel.trajectory_eval import grading, matching
from sb.kernel.trajectory_eval.arguments import CallArguments
from tests.harness.saboteurs import breaks


@breaks("HA-17")
def arguments_are_not_compared(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(CallArguments, "fitting", lambda self, step, among: among)


@breaks("HA-17")
def forbidden_calls_are_overlooked(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(grading, "_forbidden", lambda trajectory, calls: ())


@breaks("HA-17")
def calls_beside_the_steps_are_overlooked(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(grading, "_extra", lambda trajectory, calls, matched, over: ())


@breaks("HA-17")
def the_first_call_that_fits_is_taken(patch: pytest.MonkeyPatch) -> None:
    def greedy(fits: list[int], optional: list[bool]) -> tuple[int | None, ...]:
        matched: list[int | None] = []
        for mask in fits:
            matched.append(next((bit for bit in matching.bits(mask) if bit not in matched), None))
        return tuple(matched)

    patch.setattr(matching, "align_in_any_order", greedy)


@breaks("HA-17")
def optional_steps_weigh_as_much_as_required_ones(patch: pytest.MonkeyPatch) -> None:
    real = matching.align_in_order
    patch.setattr(matching, "align_in_order", lambda fits, optional: real(fits, [True] * len(fits)))
