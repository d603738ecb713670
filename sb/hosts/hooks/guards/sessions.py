"""What a session of a host is refused or told because of other sessions, and of its own cost."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from sb.errors import SBError
from sb.hosts.hooks.adapter import Adapter
from sb.hosts.hooks.event import Decision, GovernedCall, HookEvent, HookVerdict, Moment
from sb.kernel.review.session_conflicts import Conflict, SessionConflicts
from sb.redaction import one_line
from sb.runtime import Runtime
from sb.store import driver

if TYPE_CHECKING:
    from sb.kernel.run_context import RunContext

OFF, REFUSE = "off", "refuse"
SESSION_COST, SESSION_CONFLICT = "session_cost", "session_conflict"  # rules that refuse calls
_TURN_OVER = (Moment.PROMPT, Moment.STOP, Moment.SESSION_ENDED)
_TELLS = (Moment.BEFORE, Moment.PROMPT, Moment.SESSION_STARTED)
_SESSION = 8  # characters of a session's id
_LONGEST_PATH = 200


class Sessions:
    """One session beside the others; made for each event."""

    def __init__(self, runtime: Runtime, adapter: Adapter, event: HookEvent, ctx: RunContext) -> None:
        self._runtime = runtime
        self._adapter = adapter
        self._event = event
        self._run_id = ctx.run_id
        self._conflicts = SessionConflicts(runtime.log, ctx.run_id, event.host, event.session_id)

    def limit(self, governed: GovernedCall) -> GovernedCall:
        """The call, refused if the session's cost or a conflict with another one refuses it."""
        if governed.refused:
            return governed
        if why := self._over_cost():
            return governed._replace(refused=why, rule=SESSION_COST)
        if why := self._conflicting(governed):
            return governed._replace(refused=why, rule=SESSION_CONFLICT)
        return governed

    def follow(self, verdict: HookVerdict) -> HookVerdict:
        """Read the session's tokens when a turn is over, and tell it what it was not told of yet."""
        if self._event.moment in _TURN_OVER and self._event.transcript:
            from sb.hosts.usage import advance

            with contextlib.suppress(OSError):  # the next turn reads it
                advance(self._runtime.config.home.usage, self._run_id, self._event)
        return self._tell(verdict)

    def _tell(self, verdict: HookVerdict) -> HookVerdict:
        """The verdict, with what the session was not told of yet, where its host can be told."""
        if self._runtime.config.hooks.conflicts == OFF or not self._event.session_id:
            return verdict
        if self._event.moment not in _TELLS or verdict.decision is not Decision.NONE:
            return verdict
        takes = self._adapter.takes(self._event)
        if not takes and (self._adapter.takes_context_on or self._event.moment is not Moment.BEFORE):
            return verdict
        try:
            untold = self._conflicts.untold()
            if untold:
                self._conflicts.mark_as_told(len(untold))
        except (SBError, driver.Error):  # the next event tells it; this one was judged
            return verdict
        if not untold:
            return verdict
        notice = " ".join(f"{_said(one)}." for one in untold) + " Read the file again before you change it."
        if takes:
            return verdict._replace(context="\n\n".join(filter(None, (verdict.context, notice))))
        return verdict._replace(reason="; ".join(filter(None, (verdict.reason, notice))))

    def _conflicting(self, governed: GovernedCall) -> str:
        """Why a conflict refuses a call, or ""; one that does not is put on record."""
        setting = self._runtime.config.hooks.conflicts
        changed = governed.paths or governed.writes
        if setting == OFF or not changed or not self._event.session_id:
            return ""
        found = self._conflicts.find(changed)
        for conflict in found:
            self._conflicts.record(conflict)
        if not found or setting != REFUSE:
            return ""
        return f"{_said(found[0])}; hooks.conflicts = refuse keeps two sessions from changing one file"

    def _over_cost(self) -> str:
        """Why the session's cost refuses a call, or ""."""
        if not self._runtime.config.budget.caps_sessions:
            return ""
        from sb.hosts.usage import over_cap

        return over_cap(self._runtime.config, self._run_id, self._event)


def _said(conflict: Conflict) -> str:
    session = one_line(conflict.session, 60)[:_SESSION]
    return f"{one_line(conflict.path, _LONGEST_PATH)} is also being changed by another live session, {conflict.host} {session}"
