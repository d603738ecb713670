"""Promote a lesson that recurs, in whatever words, to a belief that names its episodes.

Source: the stack protocol, "Features". A belief is made once: not again where it was changed, forgotten or replaced since.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sb.stack.container import SYSTEM, Container
from sb.stack.queries import NEWEST, Query, Reader
from sb.stack.saver import Saver
from sb.stack.similarity import Similarity, Statement
from sb.types import Belief, Episode, SourceType

_EPISODES = 500  # the newest ones, which are gone through
_FEWEST = 3  # episodes: fewer say nothing of what recurs
_BELIEFS = 2_000  # the newest ones, that a new one is compared with
_MOST_SOURCES = 10  # that a belief names
_SHOWN = 5  # lessons in a report
_CONFIDENCE, _MOST_CONFIDENCE, _EACH = 0.6, 0.9, 0.05  # of a belief, and what each episode adds up to which
_ACTOR = f"{SYSTEM}consolidation"


@dataclass(frozen=True)
class Pattern:
    """Something that several episodes say.

    Args:
        episodes: their ids, the newest first. contexts: that they belong to.
    """

    statement: str
    episodes: tuple[str, ...]
    contexts: tuple[str, ...] = ()


class Promoter:
    """Makes beliefs of the lessons of one stack's episodes."""

    def __init__(self, container: Container, reader: Reader, saver: Saver) -> None:
        self._container = container
        self._reader = reader
        self._saver = saver
        self._similarity = Similarity(lambda: container.space.lexicon)

    def episodes(self, context: str | None = None) -> list[Episode]:
        """The newest episodes that say what they taught."""
        query = self._reader.query("episode", context=context, include_weak=True)
        query.add("json_array_length(r.fields, '$.lessons') > 0")
        return self._reader.read(query, limit=_EPISODES)

    def _number(self, context: str | None) -> int:
        """Counts the episodes to go through, with lessons or without."""
        query = self._reader.query("episode", context=context, include_weak=True)
        return min(_EPISODES, self._container.space.records.number_of(*query.sql()))

    def patterns(self, episodes: Sequence[Episode]) -> list[Pattern]:
        """The lessons that at least two of them taught, those of most episodes first."""
        sources: dict[str, dict[str, str]] = {}  # lesson to episodes and their contexts
        spelled: dict[str, str] = {}
        for episode in episodes:
            for lesson in (text for one in episode.lessons or () if (text := one.strip())):
                first = spelled.setdefault(" ".join(lesson.casefold().split()), lesson)
                sources.setdefault(first, {})[episode.id] = episode.context or ""
        often = sorted(
            sources, key=lambda lesson: -len(sources[lesson])
        )  # stable: the newest of equals first
        found = []
        for group in self._similarity.groups(map(Statement, often)):
            contexts = {uid: place for one in group for uid, place in sources[one.text].items()}
            if len(contexts) > 1:
                named = tuple(sorted({place for place in contexts.values() if place}))
                found.append(Pattern(group[0].text, tuple(contexts), named))
        return sorted(found, key=lambda pattern: -len(pattern.episodes))

    def promote(self, context: str | None = None) -> dict[str, Any]:
        """Make a belief of each lesson that recurs; see `SQLiteStack.promote`."""
        episodes = self.episodes(context)
        number = self._number(context)
        report: dict[str, Any] = {
            "consolidated": number,
            "lessons_found": sum(len(one.lessons or ()) for one in episodes),
            "patterns_found": 0,
            "common_lessons": [],
            "cross_domain_patterns": 0,
            "beliefs_created": 0,
            "belief_ids": [],
        }
        if number < _FEWEST:
            return report | {
                "consolidated": 0,
                "message": f"at least {_FEWEST} episodes are needed",
            }
        found = self.patterns(episodes)
        made = self.keep(found, context)
        return report | {
            "patterns_found": len(found),
            "common_lessons": [one.statement for one in found[:_SHOWN]],
            "cross_domain_patterns": sum(len(one.contexts) > 1 for one in found),
            "beliefs_created": len(made),
            "belief_ids": made,
        }

    def keep(self, patterns: Sequence[Pattern], context: str | None = None) -> list[str]:
        """Make beliefs of what no belief says or ever said; returns their ids."""
        held = [Statement(one) for one in self._held()] if patterns else []
        fresh: list[Belief] = []
        for pattern in (one for some in patterns for one in self._seen_together(some)):
            statement = Statement(pattern.statement)
            if not any(self._similarity.same(statement, one) for one in held):
                held.append(statement)
                fresh.append(self._belief(pattern, context))
        return [uid for uid in self._saver.save("belief", fresh) if not uid.startswith("suggestion:")]

    def _seen_together(self, pattern: Pattern) -> list[Pattern]:
        """The pattern or, if nobody may see all of its episodes, what those of one place say that have at least two."""
        if self._container.place_of(pattern.episodes) is not None:
            return [pattern]
        parts = self._container.by_place(pattern.episodes).values()
        return [replace(pattern, episodes=tuple(some), contexts=()) for some in parts if len(some) > 1]

    def _held(self) -> list[str]:
        """Returns the statements of beliefs, forgotten and replaced ones too: they are not made again."""
        query = Query().among("r.place", self._container.places()).among("r.kind", ("belief", "fact"))
        query.among("r.state", ("active", "forgotten", "superseded"))
        return [one.statement for one in self._reader.read(query, limit=_BELIEFS, order=NEWEST)]

    def _belief(self, pattern: Pattern, context: str | None) -> Belief:
        place = self._container.place_of(pattern.episodes) or self._container.place
        where = "" if place == self._container.place else f"\0{place.scope}\0{place.owner}"
        said = f"{self._container.stack_id}{where}\0{pattern.statement.casefold()}".encode("utf-8", "replace")
        only = pattern.contexts[0] if len(pattern.contexts) == 1 else None
        return Belief(
            # Two processes that find the same at once make one belief of it.
            f"pattern_{hashlib.blake2b(said, digest_size=12).hexdigest()}",
            self._container.stack_id,
            pattern.statement,
            "pattern",
            confidence=min(_MOST_CONFIDENCE, _CONFIDENCE + _EACH * len(pattern.episodes)),
            source_type=SourceType.CONSOLIDATION,
            source_entity=_ACTOR,
            derived_from=[f"episode:{uid}" for uid in pattern.episodes[:_MOST_SOURCES]],
            context=context or only,
        )
