"""Triggers of one agent: create, show, list and snooze them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from sb.base.text import plain
from sb.base.values.frozen import frozen
from sb.memory.ranking.rank import Ranked
from sb.memory.triggers.armed import IGNORED_BEFORE_RETIREMENT, Fitting
from sb.memory.triggers.precondition import (
    LONGEST_ACTION,
    Situation,
    checked,
    described,
)
from sb.memory.triggers.reminders import (
    FIRED,
    RETIRED,
    Reminders,
    seconds,
    seconds_of,
)
from sb.memory.views import Hit, Memory, View
from sb.protocols.types import Trigger
from sb.store.records.columns import Row
from sb.store.records.places import Place

KIND = FEATURE = "trigger"
PENDING, EXPIRED, SNOOZED = "pending", "expired", "snoozed"
MOVES = {
    PENDING: (FIRED, RETIRED, EXPIRED, SNOOZED),
    SNOOZED: (PENDING, FIRED, RETIRED, EXPIRED, SNOOZED),
    FIRED: (RETIRED,),
    EXPIRED: (RETIRED,),
    RETIRED: (),
}
MOST_SHOWN = 3  # at once; the others stay pending


@frozen
class FiredTrigger(View):
    """A trigger that fits, as an agent is shown it.

    Args:
        when: its precondition. agent_id, source_type: whose words it is in. score: how well it fits.
    """

    id: str
    when: str
    action: str
    agent_id: str
    source_type: str
    scope: str
    score: float
    every_session: bool

    @property
    def line(self) -> str:
        """The trigger in one line that says whose words it is in."""
        whose = f"words of {self.agent_id or 'an unnamed agent'}, {self.source_type}"
        return plain(f"[trigger] when {self.when}: {self.action} ({whose}, {self.id})", one_line=True)


@frozen
class TriggerStatus(View):
    """A trigger with its state and how it fared.

    Args:
        status: pending, fired, retired, expired or snoozed. conditions: the parts of its precondition.
        shown, ignored: sessions. proposed: for retirement, as it was ignored too often.
        inert: it never fires, as it reads like an attack or has a precondition that cannot be used.
        expires_at, snoozed_until: seconds since the epoch, or None.
        ended_at, why: when it fired, expired or retired, and the reason; None and "" for one that waits.
    """

    id: str
    when: str
    action: str
    status: str
    scope: str
    agent_id: str
    source_type: str
    conditions: Mapping[str, str]
    every_session: bool
    expires_at: float | None
    snoozed_until: float | None
    created_at: float
    ended_at: float | None
    why: str
    shown: int
    ignored: int
    proposed: bool
    inert: bool


class Triggers(Reminders[FiredTrigger, TriggerStatus]):
    """The triggers that one agent's session sees."""

    kind = KIND
    moves = MOVES
    armed_in = (PENDING, SNOOZED)
    most = MOST_SHOWN
    heeded_by_repeating = True

    def create(
        self,
        precondition: str | Mapping[str, str],
        action: str,
        place: Place,
        *,
        expires_at: datetime | None = None,
        every_session: bool = False,
        **more: Any,
    ) -> str:
        """Save a trigger; returns its id.

        Raises:
            ValueError: a value cannot be used, or `expires_at` is past.
        """
        parts, action = checked(precondition), action.strip()
        if not action:
            raise ValueError("action: must be a non-blank string")
        if len(action) > LONGEST_ACTION:
            raise ValueError(f"action has {len(action)} characters, at most {LONGEST_ACTION}")
        if expires_at is not None and seconds(expires_at) <= self._space.clock.now():
            raise ValueError(f"expires_at is past: {expires_at.isoformat()}")
        trigger = Trigger(
            precondition=described(parts),
            action=action,
            expires_at=expires_at,
            every_session=every_session,
            conditions=None if parts.keys() == {"words"} else dict(parts),
            **more,
        )
        return self._writer.keep_all([trigger], place, also=lambda execute, _: self._prepare(execute))[0]

    def snooze(self, row: Row, until: datetime, reason: str) -> None:
        """Let a trigger rest until a time.

        Raises:
            ValueError: it has fired, expired or retired, or the time is past.
        """
        if seconds(until) <= self._space.clock.now():
            raise ValueError(f"until is past: {until.isoformat()}")
        self._move(row, SNOOZED, "snooze", reason, snoozed_until=until)

    def hits(self, query: str, scope: str | None) -> list[Hit]:
        """The triggers that a search for these words fires, as hits that say so."""
        fired = self.check(Situation(query), meaning=True, scope=scope)
        rows = self._space.records.known([item.id for item in fired])
        hits = []
        for item in fired:
            ranked = Ranked(rows[item.id]["id"], item.score, {FEATURE: (item.score, 1.0)})
            hits.append(replace(self._space.hit(rows[item.id], ranked), content=item.line))
        return hits

    def _view(self, row: Row, item: Fitting) -> FiredTrigger:
        memory = self._space.memory(row)
        return FiredTrigger(
            memory.id, str(memory.details.get("precondition", "")), str(memory.details.get("action", "")),
            memory.agent_id, memory.source_type, memory.scope, round(item.score, 3), bool(item.spec.get("every")),
        )  # fmt: skip

    def _status(self, memory: Memory, counts: tuple[int, int], inert: bool, now: float) -> TriggerStatus:
        details, (shown, ignored) = memory.details, counts
        due, expires = (seconds_of(details.get(name)) for name in ("snoozed_until", "expires_at"))
        status = str(memory.category)
        if status in (PENDING, SNOOZED):
            late = expires is not None and expires <= now
            status = EXPIRED if late else SNOOZED if (due or 0.0) > now else PENDING
        ended_at, why = self._ended(memory.id) if status in (FIRED, RETIRED) else (None, "")
        if status == EXPIRED:
            ended_at, why = expires, "its time is over"
        return TriggerStatus(
            id=memory.id, when=str(details.get("precondition", "")), action=str(details.get("action", "")),
            status=status, scope=memory.scope, agent_id=memory.agent_id, source_type=memory.source_type,
            conditions=details.get("conditions") or {"words": str(details.get("precondition", ""))},
            every_session=bool(details.get("every_session")), expires_at=expires, snoozed_until=due,
            created_at=memory.created_at, ended_at=ended_at, why=why, shown=shown, ignored=ignored, inert=inert,
            proposed=status in (PENDING, SNOOZED) and ignored >= IGNORED_BEFORE_RETIREMENT,
        )  # fmt: skip
