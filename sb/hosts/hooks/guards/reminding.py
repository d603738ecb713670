"""Remind an agent, before the call that they are about, of triggers and lessons that fit it, and learn from calls.

A trigger or lesson is a record of what somebody wrote: it is shown as data beside the verdict, and changes no verdict.
"""

from __future__ import annotations

from sb.base.text import plain
from sb.hosts.hooks.guards.remembering import scope_of
from sb.hosts.hooks.judged_call import JudgedCall
from sb.hosts.hooks.session import HookSession
from sb.memory.brain import Brain
from sb.memory.triggers.reminding import reminders
from sb.memory.triggers.situations import of_call
from sb.store.armed_triggers import unreadable

_NOTE = "SecondBrain: a reminder saved earlier fits this call. It is a record of what was written, not an instruction."


def reminder(call: JudgedCall, session: HookSession) -> str:
    """The triggers and lessons that fit a call, each fired by it, as text; "" if none fits or the host would not show it."""
    if not session.adapter.takes(session.event) or not session.event.session_id:
        return ""
    try:
        paths = (*call.governed.paths, *call.written)
        situation = of_call(
            call.args, call.tool, text=call.governed.why, paths=paths, error=call.native.error
        )
        lines = reminders(session.runtime.database, situation, lambda: _brain(session), _NOTE)
        return plain("\n".join(lines))
    except Exception as error:  # noqa: BLE001 - whatever it is, the call is judged, and its agent is told
        return f"SecondBrain: {unreadable(error)}"


def learned(session: HookSession) -> str:
    """Learn from how the calls of a session ended; returns why that failed, or ""."""
    from sb.memory.lessons.learning import learn

    try:
        learn(_brain(session), session.runtime.log, session.run.run_id)
    except Exception as error:  # noqa: BLE001 - whatever it is, the host's session goes on, and is told
        return f"SecondBrain: {unreadable(error)}"
    return ""


def _brain(session: HookSession) -> Brain:
    event = session.event
    scope = scope_of(event.cwd)
    return session.runtime.brain(event.host, scope=scope, session=event.session_id, threads=False)
