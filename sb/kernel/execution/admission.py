"""Admit a call or refuse it: every check before the intent, in one order, each failing closed.

Order (docs/concepts/architecture.md): canonical arguments, lookup, kill switch, charter, contract, deny by policy, level
of autonomy, arguments against the schema, assumptions, budget and blast radius reserved, callable, then all reasons for which a
person has to decide.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from sb.base.text import human_bytes, nearest
from sb.base.values.canonical import NotCanonical, digest, freeze
from sb.base.values.frozen import frozen
from sb.errors import ContractError
from sb.kernel.approvals.gate import ApprovalGate
from sb.kernel.baselines.store import BaselineStatus, ContractBaselineStore
from sb.kernel.calls.approval import IRREVERSIBLE, STANDING
from sb.kernel.calls.call import AnsweredBy, Refused, ToolCall
from sb.kernel.calls.consequence import Consequences, give_back
from sb.kernel.calls.host_questions import PERMITTED, permitted
from sb.kernel.calls.intents import KnownStep
from sb.kernel.contracts import ToolErrorCode
from sb.kernel.execution.recorder import Recorder
from sb.kernel.policy.permissions import PolicyAction, ToolPolicy, agent_denials
from sb.kernel.registry.arguments import problem_with, secrets_in
from sb.kernel.registry.credentials import (
    CREDENTIALS,
    Credentials,
    credentials_of,
    reference,
    with_references,
)
from sb.kernel.registry.registry import IDEMPOTENCY_KEY, UNAVAILABLE, ToolRegistry, accepts_key
from sb.kernel.reversibility.contracts import listed
from sb.kernel.run_context import RECOVERY_AGENT

if TYPE_CHECKING:  # what is off need not be loaded
    from sb.kernel.boundaries.boundaries import Boundaries

PERFORMED_BY_HOST = "performed_by_host"  # in a contract's metadata


class ContractEnforcement(StrEnum):
    """Enforcement for contracts that changed since registration."""

    OFF = "off"
    OBSERVE = "observe"
    ENFORCE = "enforce"


@frozen
class Admission:
    """The checks before a call.

    Args:
        permissions: agent name to the permissions that its configuration grants.
        max_args_bytes: size limit of the arguments' canonical form.
        digest: of the canonical form.
        gate: finds what lets a call pass that a person has to agree to, or queues it.
        baselines: the contracts that an operator approved; without it none is compared with what was approved.
        recorder: knows the named steps that need no second decision.
        consequences: the limits of what one run may do that stays.
        boundaries: what runs may be for; None where that is not limited.
        credentials: what tools get by reference.
    """

    registry: ToolRegistry
    policy: ToolPolicy
    gate: ApprovalGate
    recorder: Recorder
    consequences: Consequences
    baselines: ContractBaselineStore | None = None
    enforcement: ContractEnforcement = ContractEnforcement.OBSERVE
    permissions: Mapping[str, Collection[str]] = field(default_factory=dict)
    max_args_bytes: int = 1 << 20
    digest: Callable[[bytes], str] = digest
    boundaries: Boundaries | None = None
    credentials: Credentials = field(default_factory=Credentials)

    def admit(self, call: ToolCall, args: Any) -> None:
        """Pass, or raise Refused; whatever else a check raises is a refusal too. A refused call holds no budget.

        Raises:
            KnownStep: a named step that would need a person's decision was announced before.
        """
        try:
            self._freeze(call, args)
            self._look_up(call)
            if CREDENTIALS in call.spec.metadata:
                self._refer(call)
            self.recorder.refuse_killed(call, exact=not call.side_effecting)  # else with its intent
            if call.recovery is not None or call.ctx.agent_name == RECOVERY_AGENT:
                self._check_recovery(call)
            elif self.boundaries is not None:
                self.boundaries.judge_call(call)
            self._check_contract(call)
            self._check_policy(call)
            if self.recorder.autonomy is not None:
                self.recorder.autonomy.judge(call)
            self._check_arguments(call)
            if reason := call.spec.metadata.get(UNAVAILABLE):  # nobody is asked about what could not run
                raise Refused(ToolErrorCode.PERMISSION_DENIED, str(reason), UNAVAILABLE)
            if call.assumptions:
                self._check_assumptions(call)
            self._reserve(call)
            if call.side_effecting:
                self.consequences.reserve(call)
            self._choose_performer(call)
            self._check_approval(call)
        except (Refused, KnownStep):
            self._give_up(call)
            raise
        except Exception as error:
            self._give_up(call)
            reason = f"denied because a check failed: {type(error).__name__}: {error}"
            raise Refused(ToolErrorCode.PERMISSION_DENIED, reason, "check_failed") from error

    def _give_up(self, call: ToolCall) -> None:
        release(call)
        if self.boundaries is not None and not call.boundary:
            self.boundaries.name_intent(call)

    def describe(self, call: ToolCall, args: Any) -> None:
        """Fill in what the record of a call says of it, without judging it; raises Refused where it cannot be."""
        self._look_up(call)
        self._freeze(call, args)
        call.secrets = secrets_in(call.spec, call.args)
        if self.boundaries is not None:
            self.boundaries.describe_call(call)
        self._check_contract(call)

    def refusal(self, call: ToolCall) -> str:
        """The reason why contract or policy would refuse this call now, whoever agrees to it; "" if they would not."""
        try:
            self._look_up(call)
            self._check_contract(call)
            self._check_policy(call)
        except Refused as refused:
            return refused.reason
        return ""

    def _freeze(self, call: ToolCall, args: Any) -> None:
        if args is None:
            args = {}
        if not isinstance(args, dict):
            kind = type(args).__name__
            raise Refused(
                ToolErrorCode.VALIDATION_ERROR, f"arguments must be an object, not {kind}", "arguments"
            )
        try:
            frozen, encoded = freeze(args)
        except NotCanonical as error:
            raise Refused(ToolErrorCode.VALIDATION_ERROR, f"arguments: {error}", "arguments") from None
        if len(encoded) > self.max_args_bytes:
            size, limit = human_bytes(len(encoded)), human_bytes(self.max_args_bytes)
            reason = f"the arguments have {size}, more than max_args_bytes allows ({limit})"
            raise Refused(ToolErrorCode.VALIDATION_ERROR, reason, "arguments")
        call.args, call.args_size, call.args_digest = frozen, len(encoded), self.digest(encoded)

    def _look_up(self, call: ToolCall) -> None:
        tool = self.registry.tool(call.tool_id)
        if tool is None:
            known = self.registry.list_ids()
            reason = (
                f"no tool {call.subject.tool_id!r}{nearest(call.tool_id, known)}"
                if known
                else "no tools are registered"
            )
            raise Refused(ToolErrorCode.NOT_FOUND, reason, "lookup")
        call.attach(tool)
        call.secrets = secrets_in(tool.spec, call.args)
        if call.recovery is not None and call.recovery.secrets:
            call.secrets = sorted({*call.secrets, *call.recovery.secrets}, key=len, reverse=True)

    def _refer(self, call: ToolCall) -> None:
        """Put the references of a tool's credentials in its arguments, so that record and digest have these alone."""
        call.credentials = credentials_of(call.spec)
        args, problem = with_references(call.credentials, call.args)
        missing = self.credentials.missing(call.credentials)
        if not problem and missing:
            problem = f"{call.tool_id} needs {reference(missing)}, which `credentials` of the configuration does not name"
        if problem:
            raise Refused(ToolErrorCode.VALIDATION_ERROR, problem, CREDENTIALS)
        self._freeze(call, args)

    def _check_recovery(self, call: ToolCall) -> None:
        if call.recovery is None:
            reason = f"the name {RECOVERY_AGENT!r} is recovery's own: no agent can have it"
            raise Refused(ToolErrorCode.PERMISSION_DENIED, reason, "agent_name")
        if not call.recovery.reverses and call.side_effecting:
            reason = f"recovery only reads where it looks, and {call.tool_id} may change something"
            raise Refused(ToolErrorCode.PERMISSION_DENIED, reason, "recovery_look")

    def _check_contract(self, call: ToolCall) -> None:
        tool = call.tool
        current = tool.current_fingerprint()
        compared = self.enforcement is not ContractEnforcement.OFF
        changed = compared and current != tool.registered_fingerprint
        call.contract = {
            "tool_contract_fingerprint": current,
            "tool_contract_registered_fingerprint": tool.registered_fingerprint,
            "tool_contract_status": ("changed" if changed else "unchanged") if compared else "unchecked",
            "tool_contract_enforcement": self.enforcement,
            "tool_contract_mismatch": changed,
        }
        if changed and self.enforcement is ContractEnforcement.ENFORCE and tool.high_risk:
            reason = f"the contract of {call.tool_id} changed after it was registered"
            raise Refused(ToolErrorCode.PERMISSION_DENIED, reason, "contract_changed")
        if self.baselines is not None and compared:
            self._check_baseline(call, self.baselines, current)

    def _check_baseline(self, call: ToolCall, baselines: ContractBaselineStore, current: str) -> None:
        status, detail = baselines.status(call.tool_id, current, exact=call.tool.high_risk)
        call.contract["tool_contract_baseline"] = str(status)
        if status is BaselineStatus.CHANGED:
            call.contract["tool_contract_baseline_fingerprint"] = detail
        if self.enforcement is not ContractEnforcement.ENFORCE:
            return
        # A change cannot talk the harm down: what the approved contract could do counts too.
        if not call.tool.high_risk and not (
            status is BaselineStatus.CHANGED and baselines.harmful(call.tool_id, detail)
        ):
            return
        if status is BaselineStatus.UNREADABLE:
            reason = f"whether the contract of {call.tool_id} is approved cannot be told: {detail}"
            raise Refused(ToolErrorCode.PERMISSION_DENIED, reason, "contract_unreadable")
        if status is not BaselineStatus.APPROVED:
            how = "is new" if status is BaselineStatus.NEW else "is not the approved one"
            command = f"sb runtime-guard approve-contract {baselines.surface} {call.tool_id}"
            reason = f"the contract of {call.tool_id} {how}; an operator can approve it: {command}"
            raise Refused(ToolErrorCode.PERMISSION_DENIED, reason, f"contract_{status}")

    def _check_policy(self, call: ToolCall) -> None:
        agent, spec = call.ctx.agent_name, call.spec
        policy = self.policy.bound_by(call.ctx.safety_mode)
        call.policy_version = policy.version
        call.policy = policy.evaluate(spec, agent, call.args)
        if call.policy.action is PolicyAction.DENY:
            raise Refused(ToolErrorCode.PERMISSION_DENIED, call.policy.reason, call.policy.rule)
        for rule, reason in agent_denials(spec, agent, self.registry, self.permissions):
            raise Refused(ToolErrorCode.PERMISSION_DENIED, reason, rule)

    def _check_assumptions(self, call: ToolCall) -> None:
        """Recovery looks under its own name, so with nothing that changes something or that the caller may not read."""
        try:
            listed(call.assumptions)
        except ContractError as error:
            reason = f"{call.tool_id}: {error.message}"
            raise Refused(ToolErrorCode.VALIDATION_ERROR, reason, "assumptions") from error
        agent, policy = call.ctx.agent_name, self.policy.bound_by(call.ctx.safety_mode)
        for assumption in call.assumptions:
            if isinstance(assumption, str) or not assumption.tool_id:
                continue
            spec = self.registry.get(assumption.tool_id)
            if spec is None or spec.side_effecting:
                reason = "an assumption can be looked at only with a registered tool that only reads"
                raise Refused(ToolErrorCode.VALIDATION_ERROR, reason, "assumptions")
            denied = [reason for _, reason in agent_denials(spec, agent, self.registry, self.permissions)]
            judged = policy.evaluate(spec, agent, {})
            if judged.action is PolicyAction.DENY:
                denied.append(judged.reason)
            if denied:
                raise Refused(ToolErrorCode.PERMISSION_DENIED, denied[0], "assumptions")

    def _check_arguments(self, call: ToolCall) -> None:
        problem = problem_with(call.spec, call.args)
        if problem:
            raise Refused(ToolErrorCode.VALIDATION_ERROR, f"{call.tool_id}: {problem}", "args_schema")

    def _reserve(self, call: ToolCall) -> None:
        cap = call.ctx.budget.reserve_call()
        if cap:
            limit = getattr(call.ctx.budget, cap)
            reason = f"the run's budget is used up: {cap} = {limit:g}"
            raise Refused(ToolErrorCode.BUDGET_EXCEEDED, reason, cap)
        call.reserved = True

    def _choose_performer(self, call: ToolCall) -> None:
        if bool(call.spec.metadata.get(PERFORMED_BY_HOST)) != bool(call.performed_by):
            reason = f"{call.tool_id} is performed by " + ("this program" if call.performed_by else "a host")
            raise Refused(ToolErrorCode.PERMISSION_DENIED, f"{reason}, and by nobody else", "performed_by")
        call.fn = call.override_fn if call.override_fn is not None else call.tool.fn
        call.accepts_key = call.tool.accepts_key if call.override_fn is None else accepts_key(call.fn)
        if call.accepts_key and IDEMPOTENCY_KEY in call.args:
            reason = f"{IDEMPOTENCY_KEY} is made by the kernel and cannot be passed"
            raise Refused(ToolErrorCode.VALIDATION_ERROR, reason, "args_schema")

    def _check_approval(self, call: ToolCall) -> None:
        if call.policy is not None and call.policy.action is PolicyAction.REQUIRE_APPROVAL:
            reasons = call.policy.reasons or ((call.policy.rule, call.policy.reason),)
            asked = [{"rule": rule, "reason": reason} for rule, reason in reasons]
            # What is destructive is asked for anyway; that it cannot be undone is no second reason.
            call.reasons = asked + [reason for reason in call.reasons if reason["rule"] != IRREVERSIBLE]
        if call.recovery is not None:
            call.reasons += call.recovery.reasons
        if call.asked:
            call.reasons = [ask.to_dict() for ask in call.asked] + call.reasons
        if call.reasons:
            self.recorder.refuse_killed(call)
            self.recorder.refuse_known_step(call)
            if self.gate.is_settled(call):
                call.host_asks = False
                return
            call.host_asks = self._host_may_answer(call)
            if not call.host_asks:
                self.gate.require(call)
            elif self.gate.is_decided(call):
                call.host_asks = False
            else:
                self._ask_in_place(call)

    def _host_may_answer(self, call: ToolCall) -> bool:
        """True if the host's own person is asked, and that is enough."""
        if call.unshowable:
            return False
        asked = [
            ask for ask in call.asked if ask.to_dict() in call.reasons
        ]  # a grant may have settled others
        if any(ask.answer is AnsweredBy.QUEUED for ask in asked):
            return False
        if len(asked) == len(call.reasons) and all(ask.answer is AnsweredBy.PERMITTED for ask in asked):
            return call.host_permits and self.gate.host_may_permit(call)
        return call.host_asks and self.gate.host_may_ask(call)

    def _ask_in_place(self, call: ToolCall) -> None:
        """Leave the reasons that the host's person is asked about: not those that they permitted in this run before."""
        before = permitted(self.recorder.log, call)
        if before:
            call.reasons = [reason for reason in call.reasons if reason.get(STANDING) not in before]
            call.notes = {**call.notes, PERMITTED: sorted(set(before.values()))}
        call.host_asks = bool(call.reasons)


def release(call: ToolCall) -> None:
    """Give back what the call has reserved of the run's budgets: it did not run."""
    give_back(call)
    if call.reserved:
        call.reserved = False
        call.ctx.budget.release_call()
