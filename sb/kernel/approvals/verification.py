"""Verification of displayed requests against their keyed digests."""

from __future__ import annotations

from collections.abc import Callable

from sb.base.values.canonical import NotCanonical
from sb.kernel.approvals.disclosure import SHOWN, display_digest, whole_arguments
from sb.kernel.approvals.queue import SELECT_APPROVALS
from sb.kernel.calls.approval import approval_of
from sb.log.event_log import EventLog
from sb.store import driver


def check_displayed(
    log: EventLog, execute: Callable[..., driver.Cursor], report: Callable[[str], object], unclear: set[str]
) -> None:
    """Report every request whose display differs from what was asked, in the snapshot of `execute`.

    Of one whose arguments were masked, and are not at hand any more, nothing can be said, nor where the home's key is not.

    Args:
        unclear: ids of which something was pruned.
    """
    if not log.keyed:
        return
    for row in execute(SELECT_APPROVALS).fetchall():
        try:
            approval = approval_of(row)
            args = whole_arguments(log, approval)
            recorded = approval.request.get(SHOWN)
            if approval.id in unclear or recorded is None or args is None:
                continue
            fits = display_digest(log, approval, args) == recorded
        except (ValueError, TypeError, NotCanonical):
            fits = False
        if not fits:
            report(f"approvals {row[1]}: what is displayed is not what was asked for")
