"""Decisions for a console in another process, which has no key: made here, from this process's own reading.

A request says which record is decided, how, why, and under which digest it was shown. What is signed is built by the
kernel's own functions from the database; nothing that a request says is signed as it came.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from sb.base.secrets.redaction import one_line
from sb.errors import DeniedError, NotFoundError
from sb.kernel.approvals.decisions import Approvals
from sb.kernel.authority.authority import Authority
from sb.kernel.authority.signing import Decider, required
from sb.kernel.autonomy.levels import Levels
from sb.kernel.autonomy.proposals import Proposals
from sb.kernel.baselines.seen import SURFACES
from sb.kernel.baselines.store import ContractBaselineStore
from sb.kernel.durable_execution.doubt import confirm, in_doubt
from sb.kernel.incident_response.kill_switch import KillSwitch
from sb.kernel.recovery_loop.escalations import Escalations, EscalationState
from sb.kernel.recovery_loop.settling import Settlement, settlement
from sb.log.event_log import EventLog

# Each decision with the texts that its request holds; contracts are texts by tool. There are no others.
FIELDS: Mapping[str, frozenset[str]] = {
    "approve": frozenset({"approval", "reason", "shown"}),
    "deny": frozenset({"approval", "reason"}),
    "revoke": frozenset({"reference", "reason"}),
    "approve_contracts": frozenset({"surface", "contracts", "reason"}),
    "lift": frozenset({"scope", "target", "number", "reason"}),
    "dismiss": frozenset({"escalation", "reason"}),
    "settle": frozenset({"call", "verdict", "reason"}),
    "raise": frozenset({"proposal", "reason"}),
}


class DecisionDesk:
    """Decides for one person, whose key is unlocked in this process.

    Args:
        open_log: opens the log anew for each decision. operators: the file that says who may decide.
        by: who decides. dual_control: the setting `kill.dual_control`.
    """

    def __init__(
        self, open_log: Callable[[], EventLog], operators: Path, by: Decider, *, dual_control: bool = False
    ) -> None:
        self._open_log = open_log
        self._operators = operators
        self._by = by
        self._dual_control = dual_control

    @property
    def name(self) -> str:
        return self._by.name

    @property
    def key_id(self) -> str:
        return self._by.key_id

    def decide(self, request: Any) -> dict[str, Any]:
        """Make one decision; returns the signed statement where the other process has to record it, else nothing.

        Raises:
            DeniedError: it is none that is made here, cannot be read, or this person may not make it.
            SBError: as the decision itself says.
        """
        kind, fields = _read(request)
        with closing(self._open_log()) as log:
            authority = Authority(self._operators, log)
            approvals = Approvals(log, authority)
            match kind:
                case "approve":
                    if not fields["shown"]:
                        raise DeniedError(
                            "it does not say what was shown", "open the request, and decide again"
                        )
                    approvals.approve(
                        fields["approval"], self._by, fields["reason"], displayed=fields["shown"]
                    )
                case "deny":
                    approvals.deny(fields["approval"], self._by, fields["reason"])
                case "revoke":
                    approvals.revoke(fields["reference"], self._by, fields["reason"])
                case "approve_contracts":
                    self._approve_contracts(log, authority, fields)
                case "lift":
                    self._lift(KillSwitch(log, authority, dual_control=self._dual_control), fields)
                case "raise":
                    Proposals(Levels(log, authority)).sign(fields["proposal"], self._by, fields["reason"])
                case "dismiss":
                    return {"signed": self._dismissal(approvals, fields)}
                case "settle":
                    return {"signed": self._settlement(approvals, fields)}
        return {}

    def _lift(self, switch: KillSwitch, fields: Mapping[str, Any]) -> None:
        number = fields["number"]
        if not (number.isascii() and number.isdigit() and int(number[:20])):
            raise DeniedError("it does not say which kill was shown", "look at it, and decide again")
        switch.lift(fields["scope"], fields["target"], self._by, fields["reason"], number=int(number[:20]))

    def _approve_contracts(self, log: EventLog, authority: Authority, fields: Mapping[str, Any]) -> None:
        if fields["surface"] not in SURFACES:
            raise DeniedError("there is no such surface of contracts")
        store = ContractBaselineStore(log, authority, fields["surface"])
        live = {entry.tool_id: entry.live_fingerprint for entry in store.entries()}
        for tool_id, fingerprint in fields["contracts"].items():
            if not fingerprint or live.get(tool_id) != fingerprint:
                name = one_line(tool_id, 80)
                raise DeniedError(f"the contract of {name} is not the one that was shown", "look at it again")
        store.approve(fields["contracts"], self._by, required(fields["reason"]))

    def _dismissal(self, approvals: Approvals, fields: Mapping[str, Any]) -> dict[str, Any]:
        escalations = Escalations(approvals.log)
        found = escalations.get(fields["escalation"])
        escalations.confirm(found)
        # One whose request was denied a moment ago counts as dismissed.
        if found.state is EscalationState.REVERSED:
            raise DeniedError(f"{found.id} is {found.state} already")
        about = {"escalation": found.id, "database": approvals.log.database_id}
        return approvals.signed(self._by, "dismiss", about, required(fields["reason"]))

    def _settlement(self, approvals: Approvals, fields: Mapping[str, Any]) -> dict[str, Any]:
        intent = next((item for item in in_doubt(approvals.log) if item.call_id == fields["call"]), None)
        if intent is None or fields["verdict"] not in tuple(Settlement):
            raise NotFoundError("no such call is in doubt", "sb recovery list shows those that are")
        confirm(approvals.log, intent)
        about = settlement(approvals.log, intent, Settlement(fields["verdict"]))
        return approvals.signed(self._by, "settle", about, required(fields["reason"]))


def _read(request: Any) -> tuple[str, dict[str, Any]]:
    """Parse a decision request; raises DeniedError for an unknown one or other content."""
    kind = request.get("decision") if isinstance(request, dict) else None
    if not isinstance(kind, str) or kind not in FIELDS:
        name = one_line(str(kind), 40)
        raise DeniedError(f"{name} is no decision that is made for another process", "use sb in the terminal")
    fields = {name: value for name, value in request.items() if name != "decision"}
    texts = [value for name, value in fields.items() if name != "contracts"]
    contracts = fields.get("contracts", {})
    texts += [*contracts, *contracts.values()] if isinstance(contracts, dict) else [contracts]
    if fields.keys() != FIELDS[kind] or not all(isinstance(text, str) for text in texts):
        raise DeniedError(f"what {kind} is asked for cannot be read")
    return kind, fields
