"""Limits of a session: its cost, and files that other sessions change; and what it is told of these."""

from __future__ import annotations

import contextlib

from sb.base.secrets.redaction import one_line
from sb.config.guards import OFF, REFUSE
from sb.errors import SBError
from sb.hosts.hooks.event import Decision, Finding, HookVerdict, Moment
from sb.hosts.hooks.judged_call import JudgedCall
from sb.hosts.hooks.session import HookSession
from sb.kernel.review.session_conflicts import Conflict
from sb.store import driver

SESSION_COST, SESSION_CONFLICT = "session_cost", "session_conflict"  # rules that refuse calls
_TURN_OVER = (Moment.PROMPT, Moment.STOP, Moment.SESSION_ENDED)
_TELLS = (Moment.BEFORE, Moment.PROMPT, Moment.SESSION_STARTED)
_SESSION = 8  # characters of a session's id
_LONGEST_PATH = 200


def limits(call: JudgedCall, session: HookSession) -> Finding | None:
    """Refuse a call over the session's cost, or in conflict with another session."""
    if call.governed.refused:
        return None
    if why := _over_cost(session):
        return Finding(why, SESSION_COST)
    if why := _conflicting(call, session):
        return Finding(why, SESSION_CONFLICT)
    return None


def follow(session: HookSession, verdict: HookVerdict) -> HookVerdict:
    """Read the session's tokens when a turn is over, and tell it what it was not told of yet."""
    event = session.event
    if event.moment in _TURN_OVER and event.transcript:
        from sb.hosts.usage import advance

        with contextlib.suppress(OSError):  # the next turn reads it
            advance(session.config.home.usage, session.run.run_id, event)
    return _tell(session, verdict)


def _tell(session: HookSession, verdict: HookVerdict) -> HookVerdict:
    """The verdict, with what the session was not told of yet, where its host can be told."""
    event, adapter = session.event, session.adapter
    if session.config.hooks.conflicts == OFF or not event.session_id:
        return verdict
    if event.moment not in _TELLS or verdict.decision is not Decision.NONE:
        return verdict
    takes = adapter.takes(event)
    if not takes and (adapter.takes_context_on or event.moment is not Moment.BEFORE):
        return verdict
    try:
        untold = session.conflicts.untold()
        if untold:
            session.conflicts.mark_as_told(len(untold))
    except (SBError, driver.Error):  # the next event tells it; this one was judged
        return verdict
    if not untold:
        return verdict
    notice = " ".join(f"{_described(conflict)}." for conflict in untold)
    notice += " Read the file again before you change it."
    if takes:
        return verdict._replace(context="\n\n".join(filter(None, (verdict.context, notice))))
    return verdict._replace(reason="; ".join(filter(None, (verdict.reason, notice))))


def _conflicting(call: JudgedCall, session: HookSession) -> str:
    """The reason why a conflict refuses a call, or ""; one that does not is put on record."""
    setting = session.config.hooks.conflicts
    changed = call.governed.paths or call.effects.writes
    if setting == OFF or not changed or not session.event.session_id:
        return ""
    conflicts = session.conflicts.find(changed)
    for conflict in conflicts:
        session.conflicts.record(conflict)
    if not conflicts or setting != REFUSE:
        return ""
    return f"{_described(conflicts[0])}; hooks.conflicts = refuse keeps two sessions from changing one file"


def _over_cost(session: HookSession) -> str:
    """The reason why the session's cost refuses a call, or ""."""
    if not session.config.budget.caps_sessions:
        return ""
    from sb.hosts.usage import over_cap

    return over_cap(session.config, session.run.run_id, session.event)


def _described(conflict: Conflict) -> str:
    session = one_line(conflict.session, 60)[:_SESSION]
    return f"{one_line(conflict.path, _LONGEST_PATH)} is also being changed by another live session, {conflict.host} {session}"
