"""The trust assessments of a database, read as what counts: standings of agents, and the trust in records.

An operator's assessments stand in a place of their own, where nothing else writes: no core, no copy of a stack and no import.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import orjson

from sb.base.sources import Clock
from sb.memory.trust.authority import given_by
from sb.memory.trust.scores import GENERAL, NEUTRAL, OPERATORS, Opinion, Standing, standings, trust_in_memory
from sb.store.records.columns import ACTIVE, Row
from sb.store.records.places import GLOBAL, Place, Places
from sb.store.records.store import RecordStore

KIND = "trust_assessment"
_DAY = 86_400.0
_HOUR = 3_600.0


def place_of_operators(stack: str) -> Place:
    """Returns the place of what operators assessed in a stack."""
    return Place(stack, GLOBAL, OPERATORS)


class TrustStore:
    """Trust in one database, by stack."""

    def __init__(self, records: RecordStore, places: Places, clock: Clock) -> None:
        self._records, self._places, self._clock = records, places, clock
        self._known: dict[str, tuple[tuple[Any, ...], Mapping[str, Standing]]] = {}

    def standings(self, stack: str, domain: str = GENERAL) -> Mapping[str, Standing]:
        """The agents of whom something counts, with what they are trusted now.

        Args:
            domain: of trust; one of which nothing is known is that in general.
        """
        if domain != GENERAL:
            return standings(self.opinions(stack, domain))
        places = self._of(stack)
        hour = int(self._clock.now() // _HOUR)
        stamp = (*self._records.stamp(places, KIND), hour) if places else ()
        if stack not in self._known or self._known[stack][0] != stamp:
            self._known[stack] = stamp, standings(self.opinions(stack)) if any(stamp[:-1]) else {}
        return self._known[stack][1]

    def score_of(self, stack: str, agent: str) -> float | None:
        """The trust in an agent, from 0 to 1; None if nothing is known of it."""
        found = self.standings(stack).get(agent)
        return None if found is None else found.score

    def is_lower(self, stack: str, agent: str, other: str) -> bool:
        """True if one agent is trusted less than another one, and therefore changes nothing that this one wrote."""
        known = self.standings(stack)
        if not known or agent == other:
            return False
        least = Standing(NEUTRAL, (), 0)
        return known.get(agent, least).score < known.get(other, least).score

    def in_memory(self, source_type: str, agent: str, stack: str) -> float:
        """The trust in what an agent has from such a source, from 0 to 1."""
        return trust_in_memory(source_type, self.score_of(stack, agent))

    def in_rows(self, rows: Iterable[Row]) -> dict[int, float]:
        """The trust in records by themselves, by number."""
        known: dict[int, Mapping[str, Standing]] = {}
        found = {}
        for row in rows:
            place = row["place"]
            if place not in known:
                known[place] = self.standings(self._places.numbered(place).stack)
            standing = known[place].get(row["agent"])
            found[row["id"]] = trust_in_memory(row["source_type"], standing and standing.score)
        return found

    def opinions(self, stack: str, domain: str = GENERAL) -> list[Opinion]:
        """All assessments of a domain, or in general where somebody has none of that."""
        now = self._clock.now()
        found: list[Opinion] = []
        for number in self._of(stack):
            operators = self._places.numbered(number).owner == OPERATORS
            rows = self._records.select("r.place = ? AND r.kind = ?", (number, KIND))
            for row in rows:
                if row["state"] == ACTIVE:
                    found += _opinions(row, domain, operators, now)
        return found

    def _of(self, stack: str) -> tuple[int, ...]:
        """The places that hold assessments of a stack."""
        return self._places.numbers((Place(stack), place_of_operators(stack)))


def _opinions(row: Row, domain: str, operators: bool, now: float) -> Iterator[Opinion]:
    fields = orjson.loads(row["fields"])
    dimensions = fields.get("dimensions") or {}
    dimension = domain if domain in dimensions else GENERAL
    score = (dimensions.get(dimension) or {}).get("score")
    if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
        return
    given = given_by(fields.get("authority"), dimension)
    at = given.get("at")
    if isinstance(at, bool) or not isinstance(at, int | float):  # it came from elsewhere
        at = row["updated_at"]
    by = OPERATORS if operators else str(given.get("by") or "")
    about = row["text"]
    # An agent that could pass for the operators, or vouch for itself, would settle its own trust.
    if by != about and (operators or by != OPERATORS):
        yield Opinion(by, about, float(score), max(0.0, (now - at) / _DAY))
