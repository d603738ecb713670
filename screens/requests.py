"""Dialogs of requests and their decisions, for every screen that lists requests."""

from __future__ import annotations

from sb.screens.state.approvals import REVOKES
from sb.screens.state.records import Records

from sb.base.sources import MICROSECONDS
from sb.errors import CheckFailed
from sb.kernel.approvals.disclosure import Disclosure
from sb.kernel.authority.signing import Decider
from sb.kernel.calls.approval import Approval, ApprovalState
from sb.kernel.contracts import REVERSAL_SURFACE
from sb.kernel.review.request_context import request_context
from sb.present.agents import trust_in
from sb.present.approvals import RequestDetail, decided_text
from sb.present.decisions import meanwhile
from sb.present.undo import undo_ahead

LONGEST_TOLD = 100  # characters of a call in a short message: two lines of it


def request_detail(records: Records, approval: Approval) -> RequestDetail:
    """The context of a request; called in a worker."""
    contracts = records.baselines("rows", REVERSAL_SURFACE).entries()
    reversal = next(
        (
            contract_entry.live_document
            for contract_entry in contracts
            if contract_entry.tool_id == approval.tool_id
        ),
        {},
    )
    args = approval.request.get("args")
    undo = undo_ahead(args if isinstance(args, dict) else {}, reversal)
    log = records.log("rows")
    trust = trust_in(log.database, approval.agent)
    return RequestDetail(approval.number, request_context(log, approval), undo, trust)


def read_request(records: Records, approval_id: str) -> tuple[Disclosure, RequestDetail]:
    """A request, with what makes its approval count no longer, and what stands around it; called in a worker."""
    from sb.kernel.approvals.decisions import Approvals  # not before the first screen is there

    queue = Approvals(records.log("rows"), records.authority("rows"))
    item = queue.disclose(queue.get(approval_id))
    return item, request_detail(records, item.approval)


def decide_request(
    records: Records, verb: str, item: Disclosure, by: Decider, reason: str, *, opened: bool
) -> str:
    """Approve, deny or revoke; returns what follows, and how to take it back. Called in a worker.

    Args:
        opened: whether it was opened to be read, which a long one has to be.
    """
    from sb.kernel.approvals.decisions import AlreadyDecided
    from sb.kernel.baselines.seeding import sign_added
    from sb.kernel.baselines.seen import SURFACES
    from sb.runtime.parts import shipped_registry

    approvals, name = records.approvals(), item.approval.id
    try:
        if verb == "approve":
            displayed = "" if item.long and not opened else item.digest
            decided = approvals.approve(name, by, reason, displayed=displayed)
        elif verb == "deny":
            decided = approvals.deny(name, by, reason)
        else:
            approvals.revoke(name, by, reason)
            decided = approvals.get(name)
    except AlreadyDecided as error:
        who = meanwhile(approvals.get(name), int(records.clock.now() * MICROSECONDS))
        raise CheckFailed(who or error.message, "" if who else error.hint) from error
    stores = (records.baselines("write", surface) for surface in SURFACES)
    trouble = sign_added(stores, by, lambda: shipped_registry(records.config))
    takes_back = REVOKES if decided.state is ApprovalState.APPROVED else ""
    text = " ".join(filter(None, (decided_text(approvals.disclose(decided), LONGEST_TOLD), takes_back)))
    return "; ".join(filter(None, (text, trouble)))
