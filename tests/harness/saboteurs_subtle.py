"""Saboteurs that break a subsystem while the obvious example still works."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import sb.runtime.opening
from sb.config.groups import Irreversibility
from sb.context_packs.injector import _Draft
from sb.context_packs.plan import InjectionPlan
from sb.kernel.approvals import gate
from sb.kernel.authority.authority import Authority
from sb.kernel.calls import intents
from sb.kernel.calls.call import ToolCall
from sb.kernel.compensation import wiring as compensation_wiring
from sb.kernel.contracts import _DERIVED, VALUE_TYPES, ToolErrorCode, ToolSpec
from sb.kernel.execution import recorder, telemetry
from sb.kernel.execution.executor import ToolExecutor
from sb.kernel.execution.recorder import Recorder
from sb.kernel.incident_response import kill_switch, statements
from sb.kernel.policy.permissions import ToolPolicy
from sb.kernel.policy.rules import WrittenPolicy
from sb.kernel.recovery_loop.loop import registry_approval_resolver
from sb.kernel.recovery_loop.service import Recovery
from sb.kernel.registry import arguments
from sb.kernel.registry.registry import ToolRegistry
from sb.kernel.review.log_verification import _Walk
from sb.kernel.run_context import RunBudget, RunContext, SafetyMode
from tests.harness.saboteurs import breaks


@breaks("HA-02")
def a_required_slot_takes_what_there_is(patch: pytest.MonkeyPatch) -> None:
    real = _Draft.fill_required

    def fill(draft: _Draft, wish: Any, decision_key: str) -> None:
        real(draft, replace(wish, packs=(*wish.packs, *wish.foreign)), decision_key)

    patch.setattr(_Draft, "fill_required", fill)


@breaks("HA-02")
def contents_do_not_count_for_the_manifest(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(InjectionPlan, "manifest_hash", property(lambda plan: plan.decision_key))


@breaks("HA-07")
def the_mode_of_the_configuration_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        sb.runtime.opening, "open_policy", lambda config: ToolPolicy(rules=WrittenPolicy(config.policy))
    )


@breaks("HA-07")
def a_stricter_mode_drops_the_written_rules(patch: pytest.MonkeyPatch) -> None:
    def bound_by(policy: ToolPolicy, mode: SafetyMode) -> ToolPolicy:
        return policy if mode in (policy.mode, SafetyMode.NORMAL) else ToolPolicy(mode)

    patch.setattr(ToolPolicy, "bound_by", bound_by)


@breaks("HA-11")
def tools_that_are_for_others_are_offered(patch: pytest.MonkeyPatch) -> None:
    def offered(registry: ToolRegistry, agent: str) -> list[ToolSpec]:
        return [spec for spec in registry.list_all() if not registry.capability_refusal(spec, agent)]

    patch.setattr(ToolRegistry, "filter_for_agent", offered)


@breaks("HA-11")
def agents_of_the_configuration_are_not_registered(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ToolRegistry, "register_agent", lambda registry, caps: None)


@breaks("HA-12")
def a_boolean_counts_as_a_number(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(arguments, "value_matches", lambda name, value: isinstance(value, VALUE_TYPES[name]))


@breaks("HA-13")
def a_way_back_is_derived_from_what_a_tool_calls_itself(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ToolSpec, "resolved_reversal", lambda spec: spec.reversal or _DERIVED[spec.safety_class])


@breaks("HA-21")
def payloads_are_not_checked(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_Walk, "_check_payload", lambda walk, seq, row: None)


@breaks("HA-21")
def what_the_budget_refuses_is_not_recorded(patch: pytest.MonkeyPatch) -> None:
    real = Recorder.refused

    def refused(self: Recorder, call: ToolCall, refusal: Any) -> None:
        if refusal.code is not ToolErrorCode.BUDGET_EXCEEDED:
            real(self, call, refusal)

    patch.setattr(Recorder, "refused", refused)


@breaks("HA-22")
def spans_hang_in_a_trace_of_their_own(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(telemetry, "_parent", lambda trace, trace_id: None)


@breaks("HA-27")
def steps_of_other_runs_count_as_done(patch: pytest.MonkeyPatch) -> None:
    real = intents.step_of
    patch.setattr(recorder, "step_of", lambda subject, *given: real(subject._replace(run_id=""), *given))


@breaks("HA-28")
def calls_of_dead_processes_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ToolExecutor, "settle_orphans", lambda executor: 0)


@breaks("HA-29")
def a_way_back_that_nobody_approved_fires(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        Recovery, "resolver", lambda recovery: registry_approval_resolver(recovery.executor.registry)
    )


@breaks("HA-29")
def ceilings_of_the_configuration_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Irreversibility, "ceilings", lambda ceilings: {})


@breaks("HA-30")
def unsigned_decisions_count(patch: pytest.MonkeyPatch) -> None:
    real = Authority.verify

    def verify(authority: Authority, signed: Any, *event: Any, **more: Any) -> str:
        authority.roster()
        statement = signed["statement"]
        return real(authority, signed, *event, **more) if statement["key"] else str(statement["by"])

    patch.setattr(Authority, "verify", verify)


@breaks("HA-30")
def an_approval_is_what_its_row_says(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(gate, "approvers", lambda log, authority, found, shown: tuple(found.decided_by.split(", ")))


@breaks("HA-31")
def refused_calls_keep_what_was_set_aside(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(RunBudget, "release_call", lambda budget: None)


@breaks("HA-31")
def only_calls_are_limited(patch: pytest.MonkeyPatch) -> None:
    def cap(budget: RunBudget) -> str:
        return "max_tool_calls" if budget.tool_calls_used >= budget.max_tool_calls else ""

    patch.setattr(RunBudget, "exceeded_cap", cap)


@breaks("HA-31")
def deadlines_are_looked_at_afterwards(patch: pytest.MonkeyPatch) -> None:
    real = ToolCall.attach

    def attach_without_deadline(call: ToolCall, tool: Any) -> None:
        real(call, tool)
        call.has_deadline = False

    patch.setattr(ToolCall, "attach", attach_without_deadline)


@breaks("HA-31")
def values_of_calls_are_not_added_up(patch: pytest.MonkeyPatch) -> None:
    real = RunContext.extend_reach

    def extend(ctx: RunContext, tool_id: str, value: float, limit: Any) -> str:
        refused = real(ctx, tool_id, value, limit)
        if not refused:
            ctx._reach[tool_id] = (ctx._reach[tool_id][0], value)
        return refused

    patch.setattr(RunContext, "extend_reach", extend)


@breaks("HA-33")
def the_evidence_of_something_else_is_read(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(compensation_wiring, "_mapping_of", lambda spec: {"order": 0})


@breaks("HA-36")
def who_is_stopped_still_reads(patch: pytest.MonkeyPatch) -> None:
    real = Recorder.refuse_killed

    def refuse(self: Recorder, call: ToolCall, *given: Any, **named: Any) -> None:
        if call.side_effecting:
            real(self, call, *given, **named)

    patch.setattr(Recorder, "refuse_killed", refuse)


@breaks("HA-36")
def a_kill_of_everything_stops_nothing(patch: pytest.MonkeyPatch) -> None:
    real = kill_switch._fitting

    def fitting(active: dict[str, Any], *about: str, **more: Any) -> Any:
        return real({name: kill for name, kill in active.items() if name != "global"}, *about, **more)

    patch.setattr(kill_switch, "_fitting", fitting)


@breaks("HA-36")
def anybody_lifts_a_kill(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(statements, "may_be_anybody", lambda kind: True)
