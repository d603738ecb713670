"""Forget memories of a stack: unused ones fade by half-lives, faded ones are forgotten.

Source: the stack protocol, "Strength-tier filtering" and "Features"; how fast, and from where on a memory is forgotten, is
ours. A sweep takes off what the time since the last one takes, so that many sweeps come to the same as one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sb.memory.decay import DAY, FORGET, REVIEW, SWEPT_AT, faded, stability
from sb.memory.record_writer import RecordWriter
from sb.protocols.types.vocabulary import WEAK, MemoryType
from sb.stack.container import SYSTEM, Container
from sb.stack.provenance import check_writable
from sb.stack.strength import Strengths
from sb.stack.views import kinds_viewed_as
from sb.store.records.columns import ACTIVE, Row
from sb.store.records.descriptors import DESCRIPTORS
from sb.store.records.places import Execute

FADING_KINDS = tuple(kind for kind in map(str, MemoryType) if math.isfinite(DESCRIPTORS[kind].half_life_days))
_SHOWN_AS = {own: kind for kind in FADING_KINDS for own in kinds_viewed_as(kind)}
# Below WEAK a memory is dormant: out of the index, in state 'forgotten'. Two half-lives later, below this strength, it
# is forgotten: its strength is 0, until somebody recovers it.
GONE = 0.05
_DORMANT_AT_ONCE = 200  # memories that a transaction takes out of the index, some 0.1 s
_ACTOR = f"{SYSTEM}forgetting"
_GONE_REASON = "it faded away"

_LEAST_SALIENCE = 0.3  # as well as below this one: about one use within a half-life
_AT_ONCE = 10  # memories that such a sweep forgets
_IDENTITY_GOALS = frozenset({"aspiration", "commitment"})

Conditions = tuple[str, tuple[Any, ...]]
Places = tuple[int, ...]  # by their numbers


class Swept(NamedTuple):
    """The result of a sweep.

    Args:
        swept: memories that were looked at; decayed: that became weaker; dormant: that no search finds any more;
        forgotten: that have faded away; protected: that were left as they are.
    """

    swept: int = 0
    decayed: int = 0
    dormant: int = 0
    forgotten: int = 0
    protected: int = 0


class Forgetting:
    """Lets the memories of one stack fade, whoever they belong to; a core is told of those in its view."""

    def __init__(self, container: Container, strengths: Strengths) -> None:
        self._container = container
        self._strengths = strengths
        self._space = container.space

    def begin(self) -> None:
        """Starts decay from now on, unless it has started already."""
        with self._space.database.write() as execute:
            if self._container.fresh(execute, SWEPT_AT) is None:
                self._container.set_in(execute, SWEPT_AT, self._space.clock.now())

    def fade(self, half_lives: Mapping[str, float]) -> Swept:
        """Take off every memory what the time since the last sweep takes; the first one only begins.

        What it did is counted of the memories in view: how many others there are, no core is told.

        Args:
            half_lives: kind of memory to days, where they are not the descriptor's.
        """
        now = self._space.clock.now()
        seen, beyond = self._places()
        with self._space.database.write() as execute:
            since = self._container.fresh(execute, SWEPT_AT)
            self._container.set_in(execute, SWEPT_AT, now if since is None else max(since, now))
            here = self._here(FADING_KINDS, seen)
            protected = self._number(execute, here, "protected = 1 AND strength > 0")
            swept = self._number(execute, here, "protected = 0 AND strength > 0")
            decayed = 0
            if since is not None and now > since:
                self._space.reads.fold(execute)  # what was recalled fades more slowly
                decayed = self._weaken(execute, seen, since, now, half_lives)
                self._weaken(execute, beyond, since, now, half_lives)
        dormant = self._make_dormant(here)
        self._make_dormant(self._here(FADING_KINDS, beyond))
        with self._space.database.write() as execute:
            self._forget_gone(execute, self._here(FADING_KINDS, beyond), now)
            gone = self._forget_gone(execute, here, now)
        return Swept(swept, decayed, dormant, gone, protected)

    def _weaken(
        self,
        execute: Execute,
        places: Places,
        since: float,
        now: float,
        half_lives: Mapping[str, float],
    ) -> int:
        where, values = self._here(FADING_KINDS, places)
        rows = execute(
            "SELECT id, kind, category, strength, max(created_at, updated_at, coalesce(s.last_accessed, 0)),"
            " coalesce(s.accessed, 0) FROM records LEFT JOIN (SELECT record, accessed, last_accessed FROM record_stats)"
            f" AS s ON s.record = id WHERE {where} AND protected = 0 AND strength > 0",
            values,
        ).fetchall()
        left = []
        for number, own, category, strength, touched, times in rows:
            days = half_lives.get(_SHOWN_AS[own], DESCRIPTORS[own].half_life(category))
            if days != math.inf:
                fewer = faded(strength, (now - max(since, touched)) / DAY, stability(days, times))
                left.append((fewer, number))
        self._space.database.write_each("UPDATE records SET strength = ? WHERE id = ?", left)
        return len(left)

    def _make_dormant(self, here: Conditions) -> int:
        """Removes memories that became too weak from the index, in short transactions.

        What an interruption leaves the next sweep does.
        """
        where, values = here
        weak = f"{where} AND protected = 0 AND state = '{ACTIVE}' AND strength < ?"
        done = 0
        while rows := list(self._space.records.select(weak, (*values, WEAK), limit=_DORMANT_AT_ONCE)):
            with self._space.database.write() as execute:
                for row in self._space.records.rows([row["id"] for row in rows]):
                    if row["strength"] < WEAK:  # nobody recovered it meanwhile
                        self._strengths.set(execute, row, row["strength"])
            done += len(rows)
        return done

    def _forget_gone(self, execute: Execute, here: Conditions, now: float) -> int:
        """Forget what faded away, and say so in its history: it can be recovered."""
        where, values = here
        gone = f"{where} AND protected = 0 AND strength > 0 AND strength < ?"
        execute(
            "INSERT INTO record_history (record, at, actor, operation, reason, version, former)"
            " SELECT id, ?, ?, 'forget', ?, version, json_object('strength', strength) FROM records"
            f" WHERE {gone}",
            (now, _ACTOR, _GONE_REASON, *values, GONE),
        )
        return int(execute(f"UPDATE records SET strength = 0 WHERE {gone}", (*values, GONE)).rowcount)

    def forget_unimportant(self, *, protect_identity: bool) -> dict[str, Any]:
        """Forget a few memories in view that are weak and hardly matter, those that matter least first.

        Args:
            protect_identity: whether aspirations, commitments and beliefs about oneself stay.

        Raises:
            MaintenanceModeError, StoreReadOnly: nothing may be written now.
        """
        check_writable(self._container)
        where, values = self._here(FADING_KINDS, self._places()[0])
        weak = list(
            self._space.records.select(f"{where} AND strength > 0 AND strength < ?", (*values, REVIEW))
        )
        exempt = [row for row in weak if row["protected"] or (protect_identity and self._is_identity(row))]
        protected = {row["id"] for row in exempt}
        candidates = sorted(self._unimportant([row for row in weak if row["id"] not in protected]))
        chosen = {number for _, number in candidates[:_AT_ONCE]}
        record_writer = RecordWriter(self._space, _ACTOR)
        with self._space.database.write() as execute:
            still = f"{where} AND protected = 0 AND strength > 0 AND strength < ?"  # whatever others did meanwhile
            rows = self._space.records.select(still, (*values, REVIEW))
            forgotten = [row for row in rows if row["id"] in chosen]
            for row in forgotten:
                record_writer.change(execute, row, FORGET, "forget", "it hardly matters")
        return {
            "forgotten": len(forgotten),
            "candidates": len(candidates),
            "protected": len(protected),
        }

    def _unimportant(self, rows: Sequence[Row]) -> Iterator[tuple[float, int]]:
        """Yields strength times salience and number of the rows of low salience."""
        now = self._space.clock.now()
        reads = self._space.reads.stats([row["id"] for row in rows])
        for row in rows:
            times, last = reads.get(row["id"], (0, row["happened_at"]))
            since = (now - max(last, row["happened_at"])) / DAY
            days = DESCRIPTORS[row["kind"]].half_life(row["category"])
            worth = salience(row["confidence"], times, since, days)
            if worth < _LEAST_SALIENCE:
                yield row["strength"] * worth, row["id"]

    def _is_identity(self, row: Row) -> bool:
        if row["kind"] == "goal":
            return row["category"] in _IDENTITY_GOALS
        return getattr(self._space.record(row), "belief_scope", "") == "self"

    def _places(self) -> tuple[Places, Places]:
        """The places of the stack: those in view of its cores, all if there are none, and the others."""
        every = tuple(self._space.places.of_stack(self._container.stack_id))
        seen = self._container.places() if self._container.cores else every
        return seen, tuple(place for place in every if place not in seen)

    def _here(self, kinds: Sequence[str], places: Places) -> Conditions:
        """The memories of these kinds in these places that are present or dormant."""
        shown = tuple(own for kind in kinds for own in kinds_viewed_as(kind))
        marks = (", ".join("?" * len(some)) or "NULL" for some in (places, shown))
        where = "place IN ({}) AND kind IN ({}) AND state IN ('active', 'forgotten')".format(*marks)
        return where, (*places, *shown)

    def _number(self, execute: Execute, here: Conditions, which: str) -> int:
        where, values = here
        return int(execute(f"SELECT count(*) FROM records WHERE {where} AND {which}", values).fetchone()[0])


def salience(confidence: float | None, times: int, days: float, half_life_days: float) -> float:
    """Returns the salience of a memory, from its confidence, its uses and the days since the last one."""
    sure = 0.8 if confidence is None else confidence
    return sure * (math.log(times + 1) + 0.1) / (max(0.0, days) / half_life_days + 1)
