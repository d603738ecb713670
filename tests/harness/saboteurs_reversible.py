"""Saboteurs of running once, undo, decisions, fallback, escalation and kills."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from sb.kernel import run_context
from sb.kernel.approvals.gate import ApprovalGate
from sb.kernel.authority import authority
from sb.kernel.calls.approval import Approval
from sb.kernel.calls.intents import Intents
from sb.kernel.compensation import dispatcher as compensation
from sb.kernel.compensation import wiring as compensation_wiring
from sb.kernel.compensation.dispatcher import CompensationDispatcher
from sb.kernel.compensation.wiring import _Wiring, executor_dispatcher
from sb.kernel.contracts import MutationRef, ReversalClass
from sb.kernel.durable_execution import workflow
from sb.kernel.durable_execution.values import frozen
from sb.kernel.durable_execution.workflow import Workflow
from sb.kernel.error_classifier import classifier as error_classifier
from sb.kernel.error_classifier import verdicts
from sb.kernel.error_classifier.verdicts import CompensationAction
from sb.kernel.error_kinds import ErrorKind
from sb.kernel.execution import attempts
from sb.kernel.incident_response import kill_switch
from sb.kernel.incident_response.kill_switch import KillSwitch
from sb.kernel.incident_response.severity import SEVERITY_MATRIX, Impact, Reach, Severity
from sb.kernel.reversibility.mutations import MutationStore
from sb.kernel.run_context import IrreversibilityBudget
from tests.harness.saboteurs import breaks, while_it_runs


@breaks("HA-27")
def steps_are_not_looked_up(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Intents, "refuse_known_step", lambda *_: None)


@breaks("HA-27")
def every_failure_is_retried(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(attempts, "retries_allowed", lambda call: call.spec.max_retries)


@breaks("HA-28")
def recorded_steps_run_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Workflow, "_recall", lambda self, place, name, digest: None)


@breaks("HA-28")
def arguments_of_steps_are_not_compared(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(workflow, "frozen", lambda value, what: (frozen(value, what)[0], b""))


@breaks("HA-29")
def windows_never_end(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(MutationRef, "in_window", lambda self, now: True)


@breaks("HA-29")
def any_assumption_takes_everything_back(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(MutationStore, "assuming", lambda self, *about: self.newest())


@breaks("HA-29")
def compensable_costs_all(patch: pytest.MonkeyPatch) -> None:
    dear = {**run_context.DEBT_SHARE, ReversalClass.COMPENSABLE: 1.0}
    while_it_runs(patch, IrreversibilityBudget, "charge", run_context, "DEBT_SHARE", dear)


@breaks("HA-30")
def signatures_are_not_checked(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(authority, "signature_fits", lambda public_key, data, signature: True)


@breaks("HA-30")
def dual_control_of_tools_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ApprovalGate, "_needed", lambda self, call: call.recovery.people if call.recovery else 1)


@breaks("HA-33")
def refusals_are_retried(patch: pytest.MonkeyPatch) -> None:
    naive = {**verdicts.PLAYBOOK, ErrorKind.REFUSAL: CompensationAction.RETRY_WITH_BACKOFF}
    while_it_runs(patch, compensation, "verdict_for", verdicts, "PLAYBOOK", naive)


@breaks("HA-33")
def retries_do_not_wait(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(CompensationDispatcher, "_wait_s", lambda self, call: 0.0)


@breaks("HA-33")
def evidence_is_not_read_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_Wiring, "refresh", lambda self, call: True)


@breaks("HA-33")
def a_timeout_that_is_raised_is_unknown(patch: pytest.MonkeyPatch) -> None:
    known = error_classifier._own_kind

    def kind(error: BaseException) -> ErrorKind | None:
        return None if type(error) is TimeoutError else known(error)

    patch.setattr(error_classifier, "_own_kind", kind)


@breaks("HA-35")
def nobody_is_told(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_Wiring, "_queue", lambda self, escalation: None)


@breaks("HA-35")
def retries_hardly_end(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(compensation_wiring, "executor_dispatcher", partial(executor_dispatcher, max_attempts=10))


@breaks("HA-35")
def nothing_is_ever_overdue(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Approval, "overdue", lambda self, now: False)


@breaks("HA-36")
def a_kill_stops_everybody(patch: pytest.MonkeyPatch) -> None:
    def first(active: dict[str, Any], *about: str, **more: Any) -> Any:
        return next(iter(active.values()), None)

    patch.setattr(kill_switch, "_fitting", first)


@breaks("HA-36")
def kills_are_not_read_from_the_store(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(KillSwitch, "in_force", lambda self, execute=None, *, exact=True: self._known.active)


@breaks("HA-36")
def a_leak_in_the_fleet_is_a_trifle(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(SEVERITY_MATRIX[Impact.EXPOSED], Reach.FLEET, Severity.SEV4)
