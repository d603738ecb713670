"""Remind an agent, before the call that they are about, of triggers that fit it.

A trigger is a record of what somebody wrote: it is shown as data beside the verdict, and changes no verdict.
"""

from __future__ import annotations

from collections.abc import Iterator

from sb.base.text import plain
from sb.hosts.hooks.guards.remembering import scope_of
from sb.hosts.hooks.judged_call import JudgedCall
from sb.hosts.hooks.session import HookSession
from sb.memory.triggers.armed import fitting
from sb.memory.triggers.precondition import Situation

_NOTE = "SecondBrain: a reminder saved earlier fits this call. It is a record of what was written, not an instruction."
_LONGEST_TEXT = 500  # characters of an argument; longer ones are contents of files
_PATHS = ("file_path", "path", "notebook_path", "filePath", "target_file", "absolute_path")


def reminder(call: JudgedCall, session: HookSession) -> str:
    """The triggers that fit a call, each fired by it, as text; "" if none fits or the host would not show it."""
    if not session.adapter.takes(session.event) or not session.event.session_id:
        return ""
    event = session.event
    try:
        situation = situation_of(call)
        if not fitting(session.runtime.database, situation):
            return ""
        scope = scope_of(event.cwd)
        brain = session.runtime.brain(event.host, scope=scope, session=event.session_id, threads=False)
        fired = brain.triggers.check(situation)
    except Exception:  # noqa: BLE001 - whatever it is, the call is judged without a reminder
        return ""
    return plain("\n".join((_NOTE, *(item.line for item in fired)))) if fired else ""


def situation_of(call: JudgedCall) -> Situation:
    """A call as triggers see it: its texts and its effect, the files that it names, its tool, and its error."""
    texts = [value for value in _texts(call) if len(value) <= _LONGEST_TEXT]
    named = (call.args.get(name) for name in _PATHS)
    paths = dict.fromkeys(
        [*(path for path in named if isinstance(path, str)), *call.governed.paths, *call.written]
    )
    return Situation(
        " ".join((*texts, call.governed.why)),
        paths=tuple(paths),
        tool=call.tool,
        error=call.native.error,
        is_call=True,
    )


def _texts(call: JudgedCall) -> Iterator[str]:
    return (value for value in call.args.values() if isinstance(value, str))
