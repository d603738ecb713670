"""Relate memories of one topic, and those that name the same, so that recall follows them.

A topic relates each memory to the few before it that have it, not all to all: what is related grows with the number of
memories, and the rarer the topic the closer they are. What only one agent may read is related to nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from sb.memory.ranking.terms import words
from sb.stack.container import SYSTEM, Container
from sb.store.records.edges import Edge
from sb.store.records.places import Execute

TOPIC, MENTIONS = "shares_topic", "mentions"
_DONE = "knowledge_up_to"  # the setting of a stack: up to which change records were related, by number
_BEFORE = 2  # memories with a topic that the next one is related to
_COMMON, _SHARE = 50, 0.3  # a topic that more have, and more than this share of all, says nothing
_MENTIONED = 0.8  # weight
_SHORTEST = 3  # letters of a name that is looked for
_MOST_MENTIONS = 200  # memories that are related to one name, the newest ones
_KINDS_OF_NAMES = ("relationship", "entity")
_ACTOR = f"{SYSTEM}knowledge"
_AT_ONCE = 500  # relations in one transaction


class Domain(NamedTuple):
    """A topic of the memory.

    Args:
        memories: beliefs, episodes and notes. confidence: their mean, and the least of them.
    """

    name: str
    memories: int
    confidence: float
    least: float


class Relater:
    """Relates the memories of one stack that are everybody's."""

    def __init__(self, container: Container) -> None:
        self._container = container
        self._space = container.space

    def relate(self) -> dict[str, int]:
        """Relate records written since the last time; returns counts of the visible relations it looked at, by sort."""
        newest, change = self._space.records.head()
        after = self._container.settings.get(_DONE) or [0, 0]
        if [newest, change] == after:
            return {TOPIC: 0, MENTIONS: 0}
        changed = self._changed(*after)
        edges = {TOPIC: list(self._topics(changed)), MENTIONS: list(self._mentions(changed))}
        in_view = dict.fromkeys(edges, 0)
        for name, some in edges.items():
            for start in range(0, len(some), _AT_ONCE):
                with self._space.database.write() as execute:
                    in_view[name] += self._add(execute, some[start : start + _AT_ONCE])
        self._container.set(_DONE, [newest, change])
        return in_view

    def domains(self) -> list[Domain]:
        """The topics of beliefs, episodes and notes in view, those with most memories first."""
        in_view = frozenset(self._container.places())
        places = tuple(number for number in self._places() if number in in_view)
        kinds = ("belief", "fact", "episode", "event", "note", "decision")
        rows = self._space.database.query(
            "SELECT name, count(*), avg(confidence), min(confidence) FROM ("
            f" SELECT lower(t.value) AS name, r.confidence FROM records AS r, json_each(r.tags) AS t WHERE {_HERE}"
            " UNION ALL"
            f" SELECT r.category, r.confidence FROM records AS r WHERE r.kind IN ('belief', 'fact') AND {_HERE}"
            ") WHERE name <> '' AND confidence IS NOT NULL GROUP BY name ORDER BY 2 DESC, 1".format(
                *(_marks(places), _marks(kinds)) * 2
            ),
            (*places, *kinds, *places, *kinds),
        )
        return [Domain(*row) for row in rows]

    def _places(self) -> tuple[int, ...]:
        places = self._space.places.of_stack(self._container.stack_id)
        return tuple(number for number, place in places.items() if not place.owner)

    def _changed(self, record: int, change: int) -> set[int]:
        """The records that came, or were changed, since then."""
        rows = self._space.database.query(
            "SELECT id FROM records WHERE id > ? UNION SELECT record FROM record_history WHERE id > ?",
            (record, change),
        )
        return {number for (number,) in rows}

    def _topics(self, changed: set[int]) -> Iterator[Edge]:
        by_topic: dict[str, list[int]] = {}
        places = self._places()
        rows = self._space.database.query(
            "SELECT r.id, r.tags, json_extract(r.fields, '$.context_tags') FROM records AS r"
            f" WHERE r.state = 'active' AND r.place IN ({_marks(places)})"
            " AND (r.tags IS NOT NULL OR json_extract(r.fields, '$.context_tags') IS NOT NULL) ORDER BY r.id",
            places,
        )
        for number, *row in rows:
            for topic in {str(load).casefold() for tags in row if tags for load in orjson.loads(tags)}:
                by_topic.setdefault(topic, []).append(number)
        for those in by_topic.values():
            if len(those) <= max(_COMMON, _SHARE * len(rows)):
                weight = 1.0 / (1.0 + math.log2(len(those)))
                for at, number in enumerate(those):
                    for former in those[max(0, at - _BEFORE) : at]:
                        if number in changed or former in changed:
                            yield Edge(number, TOPIC, former, weight)

    def _mentions(self, changed: set[int]) -> Iterator[Edge]:
        """Relations to the relationships and entities that a text names, word for word."""
        places = self._places()
        named = self._space.database.query(
            "SELECT id, coalesce(json_extract(fields, '$.entity_name'), json_extract(fields, '$.name'), key)"
            f" FROM records WHERE state = 'active' AND place IN ({_marks(places)})"
            f" AND kind IN ({_marks(_KINDS_OF_NAMES)})",
            (*places, *_KINDS_OF_NAMES),
        )
        allowed = " OR ".join(f'"p{place}"' for place in places)
        for entity, name in named:
            phrase = " ".join(words(name))
            if len(phrase) < _SHORTEST:
                continue
            found = self._space.database.query(
                "SELECT i.rowid, r.text FROM record_index AS i JOIN records AS r ON r.id = i.rowid"
                " WHERE record_index MATCH ? ORDER BY i.rowid DESC LIMIT +?",
                (f'(body : "{phrase}") AND (place : ({allowed}))', _MOST_MENTIONS),
            )
            for number, text in found:
                new = number in changed or entity in changed
                if number != entity and new and f" {phrase} " in f" {' '.join(words(text))} ":
                    yield Edge(number, MENTIONS, entity, _MENTIONED)

    def _add(self, execute: Execute, edges: Sequence[Edge]) -> int:
        """Adds relations whose ends may both be seen by everyone; returns how many are in view.

        Returns:
            How many of them are in view.
        """
        now, places, in_view = self._space.clock.now(), set(self._places()), set(self._container.places())
        ends = {end for edge in edges for end in (edge.source, edge.target)}
        rows = self._space.database.query(
            f"SELECT id, place FROM records WHERE id IN ({_marks(ends)})", tuple(ends)
        )
        place: dict[int, int] = dict(rows)
        seen = 0
        for edge in edges:
            ends_at = {place.get(edge.source), place.get(edge.target)}
            seen += ends_at <= in_view
            if ends_at <= places:
                self._space.edges.add(execute, edge, place=place[edge.source], agent=_ACTOR, at=now)
        return seen


_HERE = "r.state = 'active' AND r.place IN ({}) AND r.kind IN ({})"


def _marks(values: Iterable[Any] | Mapping[Any, Any]) -> str:
    return ", ".join("?" for _ in values) or "NULL"
