"""Saboteurs: each breaks one audited subsystem in one place, as a bug would.

Each saboteur is given a MonkeyPatch; `SABOTEURS` names the control that has to notice, and only that one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from sb.context_packs import injector
from sb.kernel.approvals.decisions import Approvals
from sb.kernel.baselines.store import BaselineStatus, ContractBaselineStore
from sb.kernel.contracts import KERNEL_SURFACE, ToolSpec
from sb.kernel.execution import recorder
from sb.kernel.execution.recorder import Recorder
from sb.kernel.execution.telemetry import _OtelSpan
from sb.kernel.policy.rules import DENY, Hit, PolicyVerdict, WrittenPolicy
from sb.kernel.review import log_verification
from sb.kernel.run_context import RunBudget, RunContext
from sb.log.event import Subject
from sb.log.kinds import TOOL_DISPATCH

Saboteur = Callable[[pytest.MonkeyPatch], None]
SABOTEURS: list[tuple[str, Saboteur]] = []


def breaks(control_id: str) -> Callable[[Saboteur], Saboteur]:
    """Register a saboteur of that control."""

    def register(saboteur: Saboteur) -> Saboteur:
        SABOTEURS.append((control_id, saboteur))
        return saboteur

    return register


def while_it_runs(
    patch: pytest.MonkeyPatch, part: object, function: str, place: object, name: str, value: Any
) -> None:
    """Give a constant another value for as long as the function runs that reads it."""
    real = getattr(part, function)

    def call(*given: Any, **named: Any) -> Any:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(place, name, value)
            return real(*given, **named)

    patch.setattr(part, function, call)


@breaks("HA-02")
def packs_of_every_scope_are_visible(patch: pytest.MonkeyPatch) -> None:
    real = injector._wish

    def wish(*given: Any) -> Any:
        found = real(*given)
        return replace(found, packs=(*found.packs, *found.foreign), foreign=())

    patch.setattr(injector, "_wish", wish)


@breaks("HA-07")
def written_denials_do_not_count(patch: pytest.MonkeyPatch) -> None:
    real = WrittenPolicy._verdict

    def verdict(policy: WrittenPolicy, hits: list[Hit]) -> PolicyVerdict:
        return real(policy, [hit for hit in hits if hit.effect != DENY])

    patch.setattr(WrittenPolicy, "_verdict", verdict)


@breaks("HA-07")
def refusals_by_policy_look_like_any_other(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(recorder, "TOOL_POLICY_BLOCKED", TOOL_DISPATCH)


@breaks("HA-11")
def every_agent_is_on_every_allowlist(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ToolSpec, "allows_agent", lambda *_: True)


@breaks("HA-12")
def a_changed_contract_counts_as_approved(patch: pytest.MonkeyPatch) -> None:
    real = ContractBaselineStore.status

    def status(*given: Any, **named: Any) -> Any:
        found, detail = real(*given, **named)
        approved = found is BaselineStatus.CHANGED and given[0].surface == KERNEL_SURFACE
        return BaselineStatus.APPROVED if approved else found, detail

    patch.setattr(ContractBaselineStore, "status", status)


@breaks("HA-12")
def the_fingerprint_leaves_the_description_out(patch: pytest.MonkeyPatch) -> None:
    real = ToolSpec.contract_document
    patch.setattr(ToolSpec, "contract_document", lambda spec: real(spec) | {"description": ""})


@breaks("HA-13")
def what_a_tool_writes_outside_is_overlooked(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ToolSpec, "effective_class", property(lambda spec: spec.safety_class))


@breaks("HA-21")
def the_end_of_the_log_is_not_compared_with_its_anchor(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(log_verification, "_compare_with_anchor", lambda *_: None)


@breaks("HA-21")
def the_end_of_a_run_is_not_recorded(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Recorder, "run_finished", lambda *_: None)


@breaks("HA-22")
def the_start_of_a_run_is_on_no_trace(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(recorder, "_run_subject", lambda ctx: Subject(ctx.run_id, "", ctx.agent_name))


@breaks("HA-22")
def a_failed_call_has_a_span_like_any_other(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_OtelSpan, "end", lambda span, _: span._span.end())


@breaks("HA-25")
def what_was_decided_can_be_decided_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Approvals, "_open", lambda approvals, approval_id, _: approvals.get(approval_id))


@breaks("HA-31")
def a_run_may_call_as_often_as_it_likes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(RunBudget, "reserve_call", lambda _: "")


@breaks("HA-31")
def the_reach_of_a_run_is_not_added_up(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(RunContext, "extend_reach", lambda *_: "")
