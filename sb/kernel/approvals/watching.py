"""Watch the queue of approval requests for changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from enum import StrEnum

from sb.base.values.frozen import frozen, mutable
from sb.kernel.approvals.queue import ApprovalQueue
from sb.kernel.calls.approval import Approval, ApprovalState

EXPIRING_SHARE = 0.1  # of its time: a request with less than that left is expiring


class Change(StrEnum):
    WAITING = "waiting"
    OVERDUE = "overdue"
    EXPIRING = "expiring"
    DECIDED = "decided"


@frozen
class Notice:
    """One thing to tell a person about."""

    change: Change
    approval: Approval


@mutable
class Watcher:
    """Compares the queue with what it was; every change of a request is told once."""

    queue: ApprovalQueue
    _told: dict[str, Change] = field(default_factory=dict)

    def news(self) -> Iterator[Notice]:
        """The changes since the last call; at first, everything that waits."""
        now = self.queue.now()
        waiting = {
            approval.id: approval for approval in self.queue.page(states=[ApprovalState.WAITING], limit=0)
        }
        for approval in reversed(waiting.values()):
            change = urgency(approval, now)
            if self._told.get(approval.id) is not change:
                self._told[approval.id] = change
                yield Notice(change, approval)
        for approval_id in self._told.keys() - waiting.keys():
            del self._told[approval_id]
            yield Notice(Change.DECIDED, self.queue.get(approval_id))


def urgency(approval: Approval, now: int) -> Change:
    """The urgency of a waiting request at this time, in microseconds since the epoch."""
    if approval.expires_at - now < (approval.expires_at - approval.requested_at) * EXPIRING_SHARE:
        return Change.EXPIRING
    return Change.OVERDUE if approval.overdue(now) else Change.WAITING
