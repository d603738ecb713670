"""The claims of an agent's last message, judged when its turn ends."""

from __future__ import annotations

import os
from collections.abc import Sequence

from sb.base.secrets.redaction import one_line
from sb.config.guards import HOLD, TELL
from sb.errors import SBError
from sb.hosts.hooks.event import Decision, HookVerdict
from sb.hosts.hooks.session import HookSession
from sb.kernel.claims.model import ClaimFinding
from sb.kernel.review.claimed import judge_message, untold_claims
from sb.store import driver

_MOST_NAMED = 4  # claims in one notice
_LONGEST = 160  # characters of a claim and of a reason


def judge_claims(session: HookSession) -> HookVerdict:
    """Judge and record what the last message claims; with hooks.claims = hold a disputed claim keeps the agent from stopping."""
    event = session.event
    holds = session.config.hooks.claims == HOLD
    action = (HOLD if event.may_go_on else "") if holds else TELL if session.adapter.takes_context_on else ""

    def exists(path: str) -> bool:
        try:
            return os.path.lexists(os.path.join(event.cwd, os.path.expanduser(path)))
        except ValueError:
            return False

    try:
        found = judge_message(session.runtime.log, session.run, event.text, action=action, exists=exists)
    except (SBError, driver.Error) as error:  # the turn ends as it would have
        return HookVerdict(reason=f"claims not judged: {one_line(error, _LONGEST)}")
    disputed = [finding for finding in found if finding.is_disputed]
    if not disputed or action != HOLD:
        return HookVerdict()
    return HookVerdict(
        Decision.DENY, notice(disputed, "your last message claims what the record does not support")
    )


def untold(session: HookSession) -> str:
    """The notice of what the last turn claimed wrongly, if the agent was not told; "" for nothing."""
    try:
        disputed = untold_claims(session.runtime.log, session.run.run_id)
    except (SBError, driver.Error):
        return ""
    return (
        notice(disputed, "your message before this one claimed what the record does not support")
        if disputed
        else ""
    )


def notice(disputed: Sequence[ClaimFinding], what: str) -> str:
    """Instructions to an agent whose claims are disputed."""
    named = "; ".join(
        f'"{one_line(finding.claim.sentence, _LONGEST)}": {one_line(finding.reason, _LONGEST)}'
        for finding in disputed[:_MOST_NAMED]
    )
    return (
        f"SecondBrain: {what}: {named}. Run what is missing, or tell the user plainly what is not done or not known. "
        "Do not repeat a claim that no call supports."
    )
