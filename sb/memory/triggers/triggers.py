"""Triggers of one agent: create, match, fire, list, snooze and retire them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import orjson

from sb.base.text import plain
from sb.base.values.frozen import frozen
from sb.errors import EmbedderError, UsageError
from sb.memory.access import WRITE
from sb.memory.masking import masked_row
from sb.memory.quarantine.holding import ATTACK
from sb.memory.ranking.rank import Ranked
from sb.memory.session_writer import SessionWriter
from sb.memory.triggers import armed
from sb.memory.triggers.armed import Fitting
from sb.memory.triggers.precondition import (
    LEAST_WORDS,
    LONGEST_ACTION,
    Situation,
    checked,
    described,
    prepared,
)
from sb.memory.trust.floor import numbers_where
from sb.memory.views import Hit, Memory, View
from sb.protocols.types import Trigger
from sb.store.armed_triggers import any_armed
from sb.store.embedding.static import StaticEmbedder
from sb.store.records.columns import ACTIVE, Row
from sb.store.records.places import Execute, Place

KIND = OPERATION = FEATURE = "trigger"
PENDING, FIRED, RETIRED, EXPIRED, SNOOZED = "pending", "fired", "retired", "expired", "snoozed"
MOVES = {
    PENDING: (FIRED, RETIRED, EXPIRED, SNOOZED),
    SNOOZED: (PENDING, FIRED, RETIRED, EXPIRED, SNOOZED),
    FIRED: (RETIRED,),
    EXPIRED: (RETIRED,),
    RETIRED: (),
}
MOST_SHOWN = 3  # at once; the others stay pending
IGNORED_BEFORE_RETIREMENT = 3
MEANING = 0.5  # a cosine's part in the score of words
LEAST_WITH_MEANING = 0.62
_UNRANKED = 4.0  # the logarithm of the rank below which a token tells next to nothing
_LEAST_RARITY = 0.2


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
    shown: int
    ignored: int
    proposed: bool
    inert: bool


class Triggers:
    """The triggers that one agent's session sees."""

    def __init__(self, writer: SessionWriter) -> None:
        self._writer = writer
        self._space = writer.space

    # Create and change

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
        if expires_at is not None and _seconds(expires_at) <= self._space.clock.now():
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

    def prepare(self) -> None:
        """Make the keys of triggers that came from elsewhere."""
        if armed.unprepared(self._space.database):
            with self._space.database.write() as execute:
                self._prepare(execute)

    def _prepare(self, execute: Execute) -> None:
        """Make the missing keys. A text that reads like an attack gets none: it would reach agents that did not ask."""
        from sb.kernel.red_team.detector import check
        from sb.kernel.red_team.verdict import Origin

        for row in self._space.records.rows(armed.unprepared(self._space.database)):
            try:
                fields = orjson.loads(row["fields"])
                parts = checked(fields.get("conditions") or fields["precondition"])
                usable = not check(row["text"], origin=Origin.MEMORY).flagged
            except (ValueError, KeyError, TypeError):  # of a bundle
                usable = False
            if not usable:
                armed.prepare(execute, row["id"], {}, {})
                continue
            spec, keys = prepared(parts, self.rarity)
            due, expires = (_seconds_of(fields.get(name)) for name in ("snoozed_until", "expires_at"))
            spec |= {"due": due or 0.0, "expires": expires, "every": bool(fields.get("every_session"))}
            armed.prepare(execute, row["id"], spec, keys)

    def rarity(self, word: str) -> float:
        """Weight of a word: by the rank of its rarest token, else by its length."""
        embedder = self._space.usable_embedder
        information = (
            math.log(2 + embedder.rank(word)) - _UNRANKED if isinstance(embedder, StaticEmbedder) else 0.0
        )
        return max(_LEAST_RARITY, information or len(word) / 4)

    def snooze(self, row: Row, until: datetime, reason: str) -> None:
        """Let a trigger rest until a time.

        Raises:
            ValueError: it has fired, expired or retired, or the time is past.
        """
        if _seconds(until) <= self._space.clock.now():
            raise ValueError(f"until is past: {until.isoformat()}")
        self._move(row, SNOOZED, "snooze", reason, snoozed_until=until)

    def retire(self, row: Row, reason: str) -> None:
        """End a trigger for good.

        Raises:
            ValueError: it has retired already.
        """
        self._move(row, RETIRED, "retire", reason)

    def _move(self, row: Row, status: str, operation: str, reason: str, **fields: Any) -> None:
        if row["kind"] != KIND:
            raise UsageError(f"{row['uid']} is a {row['kind']}, not a trigger", "sb memory trigger list")
        self._writer.record_writer.check_trusted(row)
        now = self.status([row])[0].status
        if status not in MOVES[now]:
            raise ValueError(f"trigger {row['uid']} is {now}, and cannot become {status}")
        changed = masked_row(replace(self._space.record(row), status=status, **fields), {}, row)
        self._writer.change(row, {name: changed[name] for name in ("category", "fields")}, operation, reason)

    # Match and fire

    def matching(
        self, situation: Situation, *, meaning: bool = False, scope: str | None = None, most: int = MOST_SHOWN
    ) -> list[Fitting]:
        """The pending triggers that fit a situation and that this session may see and has not been shown, the best first.

        Args:
            meaning: compare by vectors too; a hook has no time for that. scope: whose triggers, by default the session's.
        """
        space = self._space
        if not any_armed(space.database):
            return []
        self.prepare()
        floor = max(0.01, LEAST_WITH_MEANING - MEANING) if meaning else LEAST_WORDS
        now = space.clock.now()
        found = [
            item
            for item in armed.fitting(space.database, situation, floor)
            if item.spec.get("due", 0.0) <= now < (item.spec.get("expires") or math.inf)
        ]
        found = self._near(found, situation) if meaning and found else found
        rows = self._visible([item.record for item in found], scope)
        session = self._writer.begun()
        number = session.number if session else None
        shown = armed.shown_in(space.database, number, rows)
        if situation.is_call and number is not None and shown:
            with space.database.write() as execute:
                armed.heed(execute, number, shown)
        return [item for item in found if item.record in rows and item.record not in shown][:most]

    def _near(self, found: Sequence[Fitting], situation: Situation) -> list[Fitting]:
        """Those that fit by words and meaning together, the best first."""
        wanted = [item.spec["parts"].get("words", "") for item in found]
        cosines = self._cosines(situation.text, wanted)
        near = []
        for item, words, cosine in zip(found, wanted, cosines, strict=True):
            total = item.score if not words else item.score + MEANING * cosine
            if item.score >= 1.0 or (total >= LEAST_WITH_MEANING if cosine else item.score >= LEAST_WORDS):
                near.append(item._replace(score=min(1.0, total)))
        return sorted(near, key=lambda item: (-item.score, -item.record))

    def _cosines(self, text: str, others: Sequence[str]) -> list[float]:
        embedder = self._space.usable_embedder
        if embedder is None or not embedder.in_process:
            return [0.0] * len(others)
        try:
            query, *vectors = embedder.embed([text, *others])
        except EmbedderError:  # the words are there
            return [0.0] * len(others)
        return [float(query @ vector) for vector in vectors]

    def _visible(self, numbers: Sequence[int], scope: str | None = None) -> dict[int, Row]:
        """The rows of those that may be shown to this session without being asked for."""
        space, places = self._space, self._writer.places(scope)
        rows = {row["id"]: row for row in space.records.rows(list(numbers)) if row["place"] in places}
        for number in numbers_where(space.database, rows, space.reader.left_out(places)):
            del rows[number]
        return {
            number: row
            for number, row in rows.items()
            if row["state"] == ACTIVE and ATTACK not in orjson.loads(row["tags"] or "[]")
        }

    def views(self, found: Sequence[Fitting]) -> list[FiredTrigger]:
        """Fitting triggers as the agent may read them."""
        rows = {row["id"]: row for row in self._space.records.rows([item.record for item in found])}
        return [self._view(rows[item.record], item) for item in found if item.record in rows]

    def _view(self, row: Row, item: Fitting) -> FiredTrigger:
        memory = self._space.memory(row)
        return FiredTrigger(
            memory.id, str(memory.details.get("precondition", "")), str(memory.details.get("action", "")),
            memory.agent_id, memory.source_type, memory.scope, round(item.score, 3), bool(item.spec.get("every")),
        )  # fmt: skip

    def fire(self, found: Sequence[Fitting], query: str = "", scope: str | None = None) -> list[FiredTrigger]:
        """Fire triggers that are about to be shown, each once whoever else does; returns those that are to be shown.

        An operator's look fires none.
        """
        space, writer = self._space, self._writer
        rows = self._visible([item.record for item in found], scope)
        found = [item for item in found if item.record in rows]
        if not found:
            return []
        memories = [space.memory(rows[item.record]) for item in found]
        writer.broadcast(
            OPERATION, query, [(item.record, item.score) for item in found], memories, scope=scope
        )
        session = writer.session
        if session is None:
            return self.views(found)
        fired = []
        with space.database.write() as execute:
            for item in found:
                row = space.records.row(item.record)
                if row is None or row["state"] != ACTIVE or row["category"] not in (PENDING, SNOOZED):
                    continue  # somebody else was first
                if not armed.note_shown(execute, session.number, item.record, space.clock.now()):
                    continue
                fired.append(item)
                if not item.spec.get("every") and self._may_write(row):
                    space.records.update(
                        execute, item.record, {"category": FIRED}, actor=writer.agent, operation="fire"
                    )
        return self.views(fired)

    def check(
        self, situation: Situation, *, meaning: bool = False, scope: str | None = None, most: int = MOST_SHOWN
    ) -> list[FiredTrigger]:
        """Fire what fits a situation; returns it. The arguments are those of `matching`."""
        found = self.matching(situation, meaning=meaning, scope=scope, most=most)
        return self.fire(found, situation.text, scope) if found else []

    def hits(self, query: str, scope: str | None) -> list[Hit]:
        """The triggers that a search for these words fires, as hits that say so."""
        fired = self.check(Situation(query), meaning=True, scope=scope)
        rows = self._space.records.known([item.id for item in fired])
        hits = []
        for item in fired:
            ranked = Ranked(rows[item.id]["id"], item.score, {FEATURE: (item.score, 1.0)})
            hits.append(replace(self._space.hit(rows[item.id], ranked), content=item.line))
        return hits

    def _may_write(self, row: Row) -> bool:
        """True if this agent may change the record; one that may only read does not end another's trigger."""
        place = self._space.places.numbered(row["place"])
        return not self._space.rights or self._space.rights.may(self._writer.agent, WRITE, place.scope)

    # List

    def listed(self, status: str = "") -> list[TriggerStatus]:
        """The triggers that this agent sees, the newest first.

        Args:
            status: only these.

        Raises:
            UsageError: there is no such status.
        """
        if status and status not in MOVES:
            raise UsageError(f"no status {status!r} of triggers", ", ".join(sorted(MOVES)))
        places = self._writer.places()
        marks = ", ".join("?" * len(places)) or "NULL"
        where = f"r.place IN ({marks}) AND r.kind = '{KIND}' AND r.state = '{ACTIVE}'"
        rows = {row["id"]: row for row in self._space.records.select(where, tuple(places), order="r.id DESC")}
        hidden = numbers_where(self._space.database, rows, self._space.reader.left_out(places))
        found = self.status([row for number, row in rows.items() if number not in hidden])
        return [item for item in found if status in ("", item.status)]

    def status(self, rows: Sequence[Row]) -> list[TriggerStatus]:
        """The present states of these triggers."""
        now = self._space.clock.now()
        counts = armed.showings(self._space.database, [row["id"] for row in rows], now)
        inert = armed.inert(self._space.database)
        return [
            self._status(self._space.memory(row), counts.get(row["id"], (0, 0)), row["id"] in inert, now)
            for row in rows
        ]

    def _status(self, memory: Memory, counts: tuple[int, int], inert: bool, now: float) -> TriggerStatus:
        details, (shown, ignored) = memory.details, counts
        due, expires = (_seconds_of(details.get(name)) for name in ("snoozed_until", "expires_at"))
        status = str(memory.category)
        if status in (PENDING, SNOOZED):
            late = expires is not None and expires <= now
            status = EXPIRED if late else SNOOZED if (due or 0.0) > now else PENDING
        return TriggerStatus(
            id=memory.id, when=str(details.get("precondition", "")), action=str(details.get("action", "")),
            status=status, scope=memory.scope, agent_id=memory.agent_id, source_type=memory.source_type,
            conditions=details.get("conditions") or {"words": str(details.get("precondition", ""))},
            every_session=bool(details.get("every_session")), expires_at=expires, snoozed_until=due,
            created_at=memory.created_at, shown=shown, ignored=ignored, inert=inert,
            proposed=status in (PENDING, SNOOZED) and ignored >= IGNORED_BEFORE_RETIREMENT,
        )  # fmt: skip


def _seconds(moment: datetime) -> float:
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _seconds_of(value: object) -> float | None:
    """The time that a record's field holds; None if it is none."""
    try:
        return _seconds(datetime.fromisoformat(value)) if isinstance(value, str) else None
    except (ValueError, OverflowError):
        return None
