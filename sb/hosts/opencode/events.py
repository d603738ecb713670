"""The payloads of our plugin for opencode, and the exit code that it understands.

opencode has no hooks that are processes: a plugin, which `docs/reference/hosts.md` has, starts `sb hook opencode` for each event
and throws where it exits with 2, saying what is on stderr. So the payload is our own, its names are opencode's:

    {"host": "opencode", "event": "tool.execute.before", "sessionID", "callID", "cwd", "tool", "args"}

and for `tool.execute.after` also "output" and "metadata". Other events: session.created, session.idle, session.deleted,
chat.message. A call whose tool throws has no event after it.
"""

from __future__ import annotations

from typing import Any

from sb.hosts.hooks.adapter import Adapter, by_exit_code
from sb.hosts.hooks.calls.fields import table, text
from sb.hosts.hooks.event import HookAnswer, HookEvent, HookVerdict, Moment, NativeCall


class OpenCode(Adapter):
    host = "opencode"
    moments = {
        "tool.execute.before": Moment.BEFORE,
        "tool.execute.after": Moment.AFTER,
        "chat.message": Moment.PROMPT,
        "session.created": Moment.SESSION_STARTED,
        "session.deleted": Moment.SESSION_ENDED,
        "session.idle": Moment.STOP,
    }
    event_fields = ("event",)
    session_fields = ("sessionID",)
    note_fields = ()
    takes_context = False

    def is_sender(self, payload: dict[str, Any]) -> bool:
        return payload.get("host") == self.host and "event" in payload

    def call(self, payload: dict[str, Any], name: str) -> NativeCall:
        tool, args = text(payload, "tool"), table(payload, "args")
        output = payload.get("output")
        return NativeCall(
            tool,
            args,
            text(payload, "callID"),
            None if output is None else {"output": output},
            cwd=text(args, "workdir") if tool == "bash" else "",
            separator="_",
        )

    def decided(self, event: HookEvent, verdict: HookVerdict) -> HookAnswer:
        return by_exit_code(verdict)


ADAPTER = OpenCode()
