"""Promote a lesson that recurs, in whatever words, to a belief that names its episodes.

Source: the stack protocol, "Features"; the memory whitepaper, "the worthiness gate W(m)". A belief is made once: not again where it
was changed, forgotten or replaced since. One that the gate merges becomes evidence of the memory that says it already.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sb.base.values.frozen import frozen
from sb.memory.access import PROMOTE
from sb.memory.record_writer import RecordWriter
from sb.protocols.types import Belief, Episode, SourceType
from sb.stack.container import SYSTEM, Container
from sb.stack.queries import NEWEST, Query, StackReader
from sb.stack.saver import Saver
from sb.stack.similarity import Similarity, Statement
from sb.stack.views import CORE
from sb.store.records.consent import inherited
from sb.store.records.places import Place

if TYPE_CHECKING:  # who only reads a stack has no need of the gate
    from sb.memory.gate.incoming import Gate

_EPISODES = 500  # the newest ones, which are gone through
_FEWEST = 3  # episodes: fewer say nothing of what recurs
_BELIEFS = 2_000  # the newest ones, that a new one is compared with
_MOST_SOURCES = 10  # that a belief names
_SHOWN = 5  # lessons in a report
_CONFIDENCE, _MOST_CONFIDENCE, _EACH = 0.6, 0.9, 0.05  # of a belief, and what each episode adds up to which
_ACTOR = f"{SYSTEM}consolidation"
SUGGEST_BELIEF = (
    0.3  # trust in who recorded what a belief is made of; source: the core and stack notes, "trust constants"
)
_VALUES = frozenset({"number", "date", "name", "negation"})


@frozen
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

    def __init__(self, container: Container, reader: StackReader, saver: Saver) -> None:
        self._container = container
        self._reader = reader
        self._saver = saver
        self._similarity = Similarity(lambda: container.space.lexicon)

    def episodes(self, context: str | None = None) -> list[Episode]:
        """The newest episodes that say what they taught."""
        query = self._reader.query("episode", context=context, include_weak=True)
        query.add("json_array_length(r.fields, '$.lessons') > 0")
        found: list[Episode] = self._reader.read(query, limit=_EPISODES)
        return [episode for episode in found if self._may_suggest(episode)]

    def _may_suggest(self, episode: Episode) -> bool:
        """True if who recorded an episode is trusted enough for beliefs to be made of it."""
        container = self._container
        agent = (episode.source_entity or "").removeprefix(CORE)
        standing = container.space.trust.score_of(container.stack_id, agent) if agent else None
        return standing is None or standing >= SUGGEST_BELIEF

    def _number(self, context: str | None) -> int:
        """Counts the episodes to go through, with lessons or without."""
        query = self._reader.query("episode", context=context, include_weak=True)
        return min(_EPISODES, self._container.space.records.number_of(*query.sql()))

    def patterns(self, episodes: Sequence[Episode]) -> list[Pattern]:
        """The lessons that at least two of them taught, those of most episodes first."""
        sources: dict[str, dict[str, str]] = {}  # lesson to episodes and their contexts
        spelled: dict[str, str] = {}
        for episode in episodes:
            for lesson in (text for item in episode.lessons or () if (text := item.strip())):
                first = spelled.setdefault(" ".join(lesson.casefold().split()), lesson)
                sources.setdefault(first, {})[episode.id] = episode.context or ""
        often = sorted(
            sources, key=lambda lesson: -len(sources[lesson])
        )  # stable: the newest of equals first
        found = []
        for group in self._similarity.groups(map(Statement, often)):
            contexts = {uid: place for statement in group for uid, place in sources[statement.text].items()}
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
            "lessons_found": sum(len(episode.lessons or ()) for episode in episodes),
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
            "common_lessons": [pattern.statement for pattern in found[:_SHOWN]],
            "cross_domain_patterns": sum(len(pattern.contexts) > 1 for pattern in found),
            "beliefs_created": len(made),
            "belief_ids": made,
        }

    def keep(self, patterns: Sequence[Pattern], context: str | None = None) -> list[str]:
        """Make beliefs of what no belief says or ever said; returns their ids.

        Where a memory says it, the gate merges it into that, as one piece of evidence.

        Raises:
            DeniedError: the attached core may not promote in the scope of one of them. Nothing was made then.
        """
        from sb.memory.gate.incoming import Gate

        if not patterns:
            return []
        beliefs = [
            self._belief(pattern, context) for some in patterns for pattern in self._seen_together(some)
        ]
        places = [self._place(item) for item in beliefs]
        for place in places:
            self._container.check_right(PROMOTE, place.scope)
        statements = [Statement(item) for item in self._held()]
        promotions = Gate(self._container.space, RecordWriter(self._container.space, _ACTOR))
        fresh: list[Belief] = []
        for belief, place in zip(beliefs, places, strict=True):
            statement = Statement(belief.statement)
            known = any(self._says(promotions, statement, item) for item in statements)
            if not self._merged(promotions, belief, place) and not known:
                statements.append(statement)
                fresh.append(belief)
        return [uid for uid in self._saver.save("belief", fresh) if not uid.startswith("suggestion:")]

    def _says(self, promotions: Gate, new: Statement, former: Statement) -> bool:
        """True if a statement says the same, and of the same number, date, name, and as true or not."""
        if not self._similarity.same(new, former):
            return False
        return promotions.comparer.compare(new.text, former.text).changed not in _VALUES

    def _merged(self, promotions: Gate, belief: Belief, place: Place) -> bool:
        """Merge a promotion into the memory that says it, if the gate does; as evidence once, however often it recurs."""
        space = self._container.space
        [(row, _)] = promotions.writer.pairs([belief])
        if space.records.find(belief.id) is not None:  # this very promotion, made before
            return False
        admission = promotions.look(row, belief, place)
        into = space.records.find(admission.verdict.nearest)
        if admission.verdict.admitted or into is None:
            return False
        if any(evidence.agent == _ACTOR for evidence in space.evidence.of(into["id"])):
            return True
        with space.database.write() as execute:
            if merges := admission.merges():
                admission.merge(execute, None)
            return merges

    def _place(self, belief: Belief) -> Place:
        """The place of a promotion: whoever sees it sees all that it was made from."""
        named = [item.rpartition(":")[2] for item in belief.derived_from or ()]
        return self._container.place_of(named) or self._container.place

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
        return [item.statement for item in self._reader.read(query, limit=_BELIEFS, order=NEWEST)]

    def _belief(self, pattern: Pattern, context: str | None) -> Belief:
        place = self._container.place_of(pattern.episodes) or self._container.place
        where = "" if place == self._container.place else f"\0{place.scope}\0{place.owner}"
        identity = f"{self._container.stack_id}{where}\0{pattern.statement.casefold()}".encode(
            "utf-8", "replace"
        )
        only = pattern.contexts[0] if len(pattern.contexts) == 1 else None
        return Belief(
            # Two processes that find the same at once make one belief of it.
            f"pattern_{hashlib.blake2b(identity, digest_size=12).hexdigest()}",
            self._container.stack_id,
            pattern.statement,
            "pattern",
            confidence=min(_MOST_CONFIDENCE, _CONFIDENCE + _EACH * len(pattern.episodes)),
            source_type=SourceType.CONSOLIDATION,
            source_entity=_ACTOR,
            derived_from=[f"episode:{uid}" for uid in pattern.episodes[:_MOST_SOURCES]],
            context=context or only,
            **inherited(self._container.space.records.known(pattern.episodes).values()),
        )
