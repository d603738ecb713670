"""Decisions from a browser's tab, made by the process that serves it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sb.screens.signing_agent import RemoteDecider, remote_decider, signing_socket

from sb.errors import DeniedError
from sb.kernel.approvals.decisions import Approvals
from sb.kernel.authority.signing import Decider
from sb.kernel.autonomy.proposals import Proposal, Proposals
from sb.kernel.baselines.store import ContractBaselineStore
from sb.kernel.calls.approval import Approval, Grant
from sb.kernel.incident_response.kill import Kill, KillScope, name_of, parse_scope
from sb.kernel.incident_response.kill_switch import KillSwitch

_NAMES = {
    "dismiss": ("escalation",),
    "settle": ("call", "verdict"),
}  # what of such a statement names the record


def desk() -> RemoteDecider:
    """The process that decides for this tab.

    Raises:
        DeniedError: there is none, or it does not answer.
    """
    path = signing_socket()
    if path is None:
        raise DeniedError("no signing process for this console")
    return remote_decider(path)


class RemoteApprovals(Approvals):
    """The queue, which another process decides."""

    def approve(self, approval_id: str, by: Decider, reason: str, *, displayed: str = "") -> Approval:
        desk().decide("approve", approval=approval_id, reason=reason, shown=displayed)
        return self.get(approval_id)

    def deny(self, approval_id: str, by: Decider, reason: str) -> Approval:
        desk().decide("deny", approval=approval_id, reason=reason)
        return self.get(approval_id)

    def revoke(self, reference: str, by: Decider, reason: str) -> Approval | Grant:
        desk().decide("revoke", reference=reference, reason=reason)
        grants = {grant.id: grant for grant in self.grants()}
        return grants[reference] if reference in grants else self.get(reference)

    def signed(
        self, by: Decider, action: str, binding: dict[str, Any], reason: str, more: Any = None
    ) -> dict[str, Any]:
        """The statement that the other process made about the same record, for this one to keep."""
        if action not in _NAMES:
            raise DeniedError("this cannot be decided in a browser", "use sb in the terminal")
        named = {name: str(binding[name]) for name in _NAMES[action]}
        signed: dict[str, Any] = desk().decide(action, reason=reason, **named)["signed"]
        self.authority.verify(signed)
        return signed


class RemoteBaselines(ContractBaselineStore):
    """The approved contracts, which another process approves."""

    def approve(self, contracts: Mapping[str, str], by: Decider, reason: str = "") -> None:
        desk().decide("approve_contracts", surface=self.surface, contracts=dict(contracts), reason=reason)


class RemoteKillSwitch(KillSwitch):
    """Kill switch of a process without keys; another process lifts. Stopping needs nobody."""

    def lift(
        self, scope: KillScope | str, target: str, by: Decider, reason: str, *, number: int = 0
    ) -> Kill | None:
        known, target = parse_scope(str(scope), target)
        desk().decide("lift", scope=str(known), target=target, number=str(number), reason=reason)
        return self.in_force().get(name_of(known, target))


class RemoteProposals(Proposals):
    """The proposals of higher autonomy, which another process signs."""

    def sign(self, reference: str, by: Decider, reason: str) -> Proposal:
        found = self.get(reference)
        desk().decide("raise", proposal=found.id, reason=reason)
        return found
