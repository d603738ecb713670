"""Records that show themselves when their precondition comes up: match, show, list and retire them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import orjson

from sb.errors import EmbedderError, UsageError
from sb.memory.access import WRITE
from sb.memory.masking import masked_row
from sb.memory.quarantine.holding import ATTACK
from sb.memory.session_writer import SessionWriter
from sb.memory.triggers import armed
from sb.memory.triggers.armed import Fitting
from sb.memory.triggers.precondition import LEAST_WORDS, Situation, bare_call, checked, prepared
from sb.memory.trust.floor import numbers_where
from sb.memory.views import Memory
from sb.store.armed_triggers import any_armed
from sb.store.embedding.static import StaticEmbedder
from sb.store.records.columns import ACTIVE, Row
from sb.store.records.places import Execute

FIRED, RETIRED = "fired", "retired"
MEANING = 0.5  # a cosine's part in the score of words
LEAST_WITH_MEANING = 0.62
_UNRANKED = 4.0  # the logarithm of the rank below which a token tells next to nothing
_LEAST_RARITY = 0.2


class _HasStatus(Protocol):
    @property
    def status(self) -> str: ...


Shown = TypeVar("Shown")
Listed = TypeVar("Listed", bound=_HasStatus)


class Reminders(ABC, Generic[Shown, Listed]):
    """The records of one kind that show themselves, as far as one agent's session sees them.

    Args:
        moves: each status, and those that it may become. armed_in: those in which a record is shown.
        most: shown at once; the others wait.
    """

    kind: ClassVar[str]
    moves: ClassVar[Mapping[str, tuple[str, ...]]]
    armed_in: ClassVar[tuple[str, ...]]
    most: ClassVar[int]
    heeded_by_repeating: ClassVar[bool]  # a later call that fits came to what it was reminded of

    def __init__(self, writer: SessionWriter) -> None:
        self._writer = writer
        self._space = writer.space

    @abstractmethod
    def _view(self, row: Row, item: Fitting) -> Shown: ...

    @abstractmethod
    def _status(self, memory: Memory, counts: tuple[int, int], inert: bool, now: float) -> Listed: ...

    # Prepare and change

    def prepare(self) -> None:
        """Make the keys of those that came from elsewhere."""
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
                worked = str(fields.get("worked") or "")
                usable = not check(row["text"], origin=Origin.MEMORY).flagged
            except (ValueError, KeyError, TypeError):  # of a bundle
                usable = False
            if not usable:
                armed.prepare(execute, row["id"], {}, {})
                continue
            spec, keys = prepared(parts, self.rarity)
            due, expires = (seconds_of(fields.get(name)) for name in ("snoozed_until", "expires_at"))
            every = row["kind"] == "lesson" or bool(fields.get("every_session"))
            spec |= {"due": due or 0.0, "expires": expires, "every": every}
            if worked:
                spec["worked"] = bare_call(worked)
            armed.prepare(execute, row["id"], spec, keys)

    def rarity(self, word: str) -> float:
        """Weight of a word: by the rank of its rarest token, else by its length."""
        embedder = self._space.usable_embedder
        information = (
            math.log(2 + embedder.rank(word)) - _UNRANKED if isinstance(embedder, StaticEmbedder) else 0.0
        )
        return max(_LEAST_RARITY, information or len(word) / 4)

    def retire(self, row: Row, reason: str) -> None:
        """End one for good.

        Raises:
            ValueError: it has retired already.
        """
        self._move(row, RETIRED, "retire", reason)

    def _move(self, row: Row, status: str, operation: str, reason: str, **fields: Any) -> None:
        if row["kind"] != self.kind:
            problem = f"{row['uid']} is a {row['kind']}, not a {self.kind}"
            raise UsageError(problem, f"sb memory {self.kind} list")
        self._writer.record_writer.check_trusted(row)
        now = self.status([row])[0].status
        if status not in self.moves[now]:
            raise ValueError(f"{self.kind} {row['uid']} is {now}, and cannot become {status}")
        changed = masked_row(replace(self._space.record(row), status=status, **fields), {}, row)
        self._writer.change(row, {name: changed[name] for name in ("category", "fields")}, operation, reason)

    def keep(self, row: Row) -> None:
        """Keep one that was proposed for retirement: how often it is ignored is counted anew."""
        self._writer.record_writer.check_right(row["place"])
        with self._space.database.write() as execute:
            armed.keep(execute, row["id"])

    # Match and fire

    def matching(
        self, situation: Situation, *, meaning: bool = False, scope: str | None = None
    ) -> list[Fitting]:
        """Those that fit a situation and that this session may see and has not been shown, the best first.

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
            for item in armed.fitting(space.database, situation, floor, self.kind)
            if item.spec.get("due", 0.0) <= now < (item.spec.get("expires") or math.inf)
        ]
        found = self._near(found, situation) if meaning and found else found
        rows = self._visible([item.record for item in found], scope)
        session = self._writer.begun()
        number = session.number if session else None
        shown = armed.shown_in(space.database, number, rows)
        if situation.is_call and number is not None and shown and self.heeded_by_repeating:
            with space.database.write() as execute:
                armed.heed(execute, number, shown)
        return [item for item in found if item.record in rows and item.record not in shown][: self.most]

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

    def views(self, found: Sequence[Fitting]) -> list[Shown]:
        """Those that fit as the agent may read them."""
        rows = {row["id"]: row for row in self._space.records.rows([item.record for item in found])}
        return [self._view(rows[item.record], item) for item in found if item.record in rows]

    def fire(self, found: Sequence[Fitting], query: str = "", scope: str | None = None) -> list[Shown]:
        """Note that these are about to be shown, each once whoever else does; returns those that are to be shown.

        A trigger fires by it. An operator's look fires none.
        """
        space, writer = self._space, self._writer
        rows = self._visible([item.record for item in found], scope)
        found = [item for item in found if item.record in rows]
        if not found:
            return []
        memories = [space.memory(rows[item.record]) for item in found]
        writer.broadcast(
            self.kind, query, [(item.record, item.score) for item in found], memories, scope=scope
        )
        session = writer.session
        if session is None:
            return self.views(found)
        fired = []
        with space.database.write() as execute:
            for item in found:
                row = space.records.row(item.record)
                if row is None or row["state"] != ACTIVE or row["category"] not in self.armed_in:
                    continue  # somebody else was first
                if not armed.note_shown(execute, session.number, item.record, space.clock.now()):
                    continue
                fired.append(item)
                if not item.spec.get("every") and self._may_write(row):
                    space.records.update(
                        execute, item.record, {"category": FIRED}, actor=writer.agent, operation="fire"
                    )
        return self.views(fired)

    def check(self, situation: Situation, *, meaning: bool = False, scope: str | None = None) -> list[Shown]:
        """Fire what fits a situation; returns it. The arguments are those of `matching`."""
        found = self.matching(situation, meaning=meaning, scope=scope)
        return self.fire(found, situation.text, scope) if found else []

    def _ended(self, uid: str) -> tuple[float | None, str]:
        """The time at which a record fired or was retired, and why."""
        sql = (
            "SELECT h.at, h.operation, h.reason FROM record_history AS h JOIN records AS r ON r.id = h.record"
            " WHERE r.uid = ? AND h.operation IN ('fire', 'expire', 'retire') ORDER BY h.id DESC LIMIT 1"
        )
        found = self._space.database.query(sql, (uid,))
        return (found[0][0], found[0][2] or f"{found[0][1]}d") if found else (None, "")

    def _may_write(self, row: Row) -> bool:
        """True if this agent may change the record; one that may only read does not end another's trigger."""
        place = self._space.places.numbered(row["place"])
        return not self._space.rights or self._space.rights.may(self._writer.agent, WRITE, place.scope)

    # List

    def listed(self, status: str = "") -> list[Listed]:
        """Those that this agent sees, the newest first.

        Args:
            status: only these.

        Raises:
            UsageError: there is no such status.
        """
        if status and status not in self.moves:
            raise UsageError(f"no status {status!r} of {self.kind}s", ", ".join(sorted(self.moves)))
        places = self._writer.places()
        marks = ", ".join("?" * len(places)) or "NULL"
        where = f"r.place IN ({marks}) AND r.kind = '{self.kind}' AND r.state = '{ACTIVE}'"
        rows = {row["id"]: row for row in self._space.records.select(where, tuple(places), order="r.id DESC")}
        hidden = numbers_where(self._space.database, rows, self._space.reader.left_out(places))
        found = self.status([row for number, row in rows.items() if number not in hidden])
        return [item for item in found if status in ("", item.status)]

    def status(self, rows: Sequence[Row]) -> list[Listed]:
        """The present states of these."""
        now = self._space.clock.now()
        counts = armed.showings(self._space.database, [row["id"] for row in rows], now)
        inert = armed.inert(self._space.database)
        return [
            self._status(self._space.memory(row), counts.get(row["id"], (0, 0)), row["id"] in inert, now)
            for row in rows
        ]


def seconds(moment: datetime) -> float:
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def seconds_of(value: object) -> float | None:
    """The time that a record's field holds; None if it is none."""
    try:
        return seconds(datetime.fromisoformat(value)) if isinstance(value, str) else None
    except (ValueError, OverflowError):
        return None
