"""What does our plugin for opencode tell, and which answers does it understand?

opencode has no hooks that are processes: a plugin, which `docs/reference/hosts.md` has, starts `sb hook opencode` for each event
and throws where it exits with 2, saying what is on stderr. So the payload is our own, its names are opencode's:

    {"host": "opencode", "event": "tool.execute.before", "sessionID", "callID", "cwd", "tool", "args"}

and for `tool.execute.after` also "output" and "metadata". Other events: session.created, session.idle, session.deleted,
chat.message. A call whose tool throws has no event after it.
"""

from __future__ import annotations

from typing import Any

from sb.hosts.hooks.event import Answer, Decision, HookEvent, Moment, NativeCall, Verdict
from sb.hosts.hooks.fields import table, text

HOST = "opencode"
ASKS_ON: frozenset[str] = frozenset()
BLOCKED = 2

_MOMENTS = {
    "tool.execute.before": Moment.BEFORE,
    "tool.execute.after": Moment.AFTER,
    "chat.message": Moment.PROMPT,
    "session.created": Moment.SESSION_STARTED,
    "session.deleted": Moment.SESSION_ENDED,
    "session.idle": Moment.STOP,
}


def sent(payload: dict[str, Any]) -> bool:
    """Whether our plugin sent it, by its fields."""
    return payload.get("host") == HOST and "event" in payload


def read(payload: dict[str, Any]) -> HookEvent:
    """The event of a payload; unknown events and fields mean nothing to us."""
    name = text(payload, "event")
    moment = _MOMENTS.get(name, Moment.OTHER)
    told = moment in (Moment.BEFORE, Moment.AFTER)
    calls = (_call(payload),) if told else ()
    return HookEvent(HOST, name, moment, text(payload, "sessionID"), text(payload, "cwd"), calls)


def _call(payload: dict[str, Any]) -> NativeCall:
    tool, args = text(payload, "tool"), table(payload, "args")
    output = payload.get("output")
    return NativeCall(
        tool,
        args,
        text(payload, "callID"),
        None if output is None else {"output": output},
        cwd=text(args, "workdir") if tool == "bash" else "",
    )


def answer(event: HookEvent, verdict: Verdict) -> Answer:
    """Silence for no opinion, else the exit code on which the plugin throws."""
    if event.moment is not Moment.BEFORE or verdict.decision is Decision.NONE:
        return Answer()
    return Answer(stderr=f"{verdict.reason}\n", code=BLOCKED)
