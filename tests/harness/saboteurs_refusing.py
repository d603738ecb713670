"""Saboteurs of refusals: one call too many passes, or one too few."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from sb.kernel.approvals.decisions import Approvals
from sb.kernel.baselines.store import BaselineStatus, ContractBaselineStore
from sb.kernel.calls.call import Refused, ToolCall
from sb.kernel.contracts import ReversalClass, ReversalSpec, SafetyClass, ToolErrorCode, ToolSpec
from sb.kernel.execution.admission import Admission
from sb.kernel.execution.telemetry import Telemetry
from sb.kernel.policy.permissions import ToolPolicy
from sb.kernel.registry.registry import ToolRegistry
from sb.kernel.run_context import RunContext, SafetyMode
from tests.harness.saboteurs import breaks


@breaks("HA-07")
def what_only_reads_is_refused_in_safe_mode_too(patch: pytest.MonkeyPatch) -> None:
    real = ToolPolicy.built_in_denials

    def denials(policy: ToolPolicy, *given: Any) -> list[tuple[str, str]]:
        return real(policy, *given) or ([("safe_mode", "no")] if policy.mode is SafetyMode.SAFE else [])

    patch.setattr(ToolPolicy, "built_in_denials", denials)


@breaks("HA-07")
def a_policy_that_fails_says_nothing(patch: pytest.MonkeyPatch) -> None:
    real = Admission._check_policy

    def check(admission: Admission, call: ToolCall) -> None:
        try:
            real(admission, call)
        except RuntimeError:
            return

    patch.setattr(Admission, "_check_policy", check)


@breaks("HA-11")
def contracts_may_say_anything(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ToolSpec, "__setattr__", object.__setattr__)


@breaks("HA-11")
def contracts_are_made_of_anything(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ToolSpec, "__post_init__", lambda spec: None)
    patch.setattr(ToolSpec, "__setattr__", object.__setattr__)


@breaks("HA-11")
def what_nobody_registered_is_forbidden(patch: pytest.MonkeyPatch) -> None:
    real = Admission._look_up

    def look_up(admission: Admission, call: ToolCall) -> None:
        try:
            real(admission, call)
        except Refused as refused:
            raise Refused(ToolErrorCode.PERMISSION_DENIED, refused.reason, "lookup") from None

    patch.setattr(Admission, "_look_up", look_up)


@breaks("HA-11")
def tools_of_others_are_not_listed(patch: pytest.MonkeyPatch) -> None:
    real = ToolRegistry.list_ids

    def ids(registry: ToolRegistry) -> list[str]:
        return [item for item in real(registry) if item != "probe.read"]

    patch.setattr(ToolRegistry, "list_ids", ids)


@breaks("HA-12")
def what_is_for_good_is_of_the_contract(patch: pytest.MonkeyPatch) -> None:
    real = ToolSpec.contract_document

    def document(spec: ToolSpec) -> dict[str, Any]:
        for_good = spec.reversal is not None and spec.reversal.reversal_class is ReversalClass.IRREVERSIBLE
        return real(spec) | {"irreversible": for_good}

    patch.setattr(ToolSpec, "contract_document", document)


@breaks("HA-12")
def approvals_that_cannot_be_read_count(patch: pytest.MonkeyPatch) -> None:
    real = ContractBaselineStore.status

    def status(store: ContractBaselineStore, *given: Any, **named: Any) -> tuple[BaselineStatus, str]:
        found, detail = real(store, *given, **named)
        return BaselineStatus.APPROVED if found is BaselineStatus.UNREADABLE else found, detail

    patch.setattr(ContractBaselineStore, "status", status)


@breaks("HA-13")
def what_goes_out_is_said_to_come_back(patch: pytest.MonkeyPatch) -> None:
    real = ToolSpec.resolved_reversal

    def resolved(spec: ToolSpec) -> ReversalSpec:
        outside = spec.reversal is None and spec.safety_class is SafetyClass.NETWORK
        return replace(real(spec), reversal_class=ReversalClass.REVERSIBLE) if outside else real(spec)

    patch.setattr(ToolSpec, "resolved_reversal", resolved)


@breaks("HA-22")
def who_wants_no_span_gets_one(patch: pytest.MonkeyPatch) -> None:
    real = Telemetry.start

    def start(telemetry: Telemetry, ctx: RunContext, spec: ToolSpec, *more: Any) -> Any:
        return real(telemetry, ctx, replace(spec, emit_trace=True), *more)

    patch.setattr(Telemetry, "start", start)


@breaks("HA-30")
def reasons_are_not_kept(patch: pytest.MonkeyPatch) -> None:
    real: Callable[..., Any] = Approvals.approve

    def approve(approvals: Approvals, approval_id: str, by: Any, reason: str, **more: Any) -> Any:
        return real(approvals, approval_id, by, "agreed", **more)

    patch.setattr(Approvals, "approve", approve)
