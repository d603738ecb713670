"""Answer a question: words and meaning name candidates, one weighted sum orders them.

Source: docs/reference/retrieval.md; the memory whitepaper, "hybrid search" and "ad-hoc search".
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from sb.base.values.frozen import frozen
from sb.base.values.numeric import np
from sb.errors import EmbedderError
from sb.memory.ranking.candidate import Candidates
from sb.memory.ranking.fusion import fuse
from sb.memory.ranking.match_query import WordQuery, word_query
from sb.memory.ranking.questions import Query, understand
from sb.memory.ranking.rank import Ranked, rank
from sb.memory.ranking.terms import match_expression
from sb.memory.ranking.weights import Weights
from sb.memory.ranking.weights import weights as fitted
from sb.memory.salience import IN_SEARCH, JUDGED_BY, configured, in_reach, salient
from sb.memory.space import Space
from sb.memory.views import Hit, Memory
from sb.store.embedding.selection import NoEmbedder
from sb.store.index.full_text import in_view
from sb.store.records.columns import SUPERSEDED, Row
from sb.store.records.descriptors import ASIDE, DESCRIPTORS, MEMORIES
from sb.store.records.evidence import IS_RESTATEMENT

if TYPE_CHECKING:
    from sb.store.embedding.embedder import Vectors

LEG = 60  # candidates that words, and meaning, name each: 100 find a half percent more in many scopes at once, for twice the time


BESIDE = 20  # of them, whose neighbours in their sessions are candidates too: an answer may have none of the question's words

# What salience and trust go by: more are judged than returned.
_JUDGED_BY = ("id", *JUDGED_BY, "category", "updated_at", "place", "agent", "source_type")


class Predicate(Protocol):
    """A condition that every hit meets."""

    def sql(self) -> tuple[str, tuple[Any, ...]]:
        """A condition over `r`, the table of records, and its parameters; "" for none."""


@frozen
class Filters:
    """The conditions that every hit meets, in SQL; nothing is filtered afterwards.

    Args:
        kinds: kinds of memories, such as `decision`, all by default; categories: of facts, or types of events, entities and so on.
        agents: who wrote it. min_confidence, min_strength: from 0 to 1. since, until: seconds since the epoch.
    """

    kinds: Sequence[str] = ()
    categories: Sequence[str] = ()
    agents: Sequence[str] = ()
    min_confidence: float | None = None
    min_strength: float | None = None
    since: float | None = None
    until: float | None = None

    def __post_init__(self) -> None:
        for kind in self.kinds:
            if kind not in DESCRIPTORS or kind in ASIDE:
                known = ", ".join(descriptor for descriptor in DESCRIPTORS if descriptor not in ASIDE)
                raise ValueError(f"{kind!r} is not a memory kind: {known}")

    def sql(self) -> tuple[str, tuple[Any, ...]]:
        """A condition over `r`, the table of records, and its parameters; "" without filters."""
        parts: list[str] = []
        values: list[Any] = []
        for column, wanted in (("kind", self.kinds), ("category", self.categories), ("agent", self.agents)):
            if wanted:
                parts.append(f"r.{column} IN ({', '.join('?' * len(wanted))})")
                values += wanted
        for condition, value in (
            ("r.confidence >= ?", self.min_confidence),
            ("r.strength >= ?", self.min_strength),
            ("r.happened_at >= ?", self.since),
            ("r.happened_at < ?", self.until),
        ):
            if value is not None:
                parts.append(condition)
                values.append(value)
        return " AND ".join(parts), tuple(values)


NO_FILTERS = Filters()


class Without:
    """The condition of a filter without part of it."""

    def __init__(self, filters: Predicate, condition: str, parameters: tuple[Any, ...]) -> None:
        self._filters, self._condition, self._parameters = filters, condition, parameters

    def sql(self) -> tuple[str, tuple[Any, ...]]:
        where, values = self._filters.sql()
        return f"({where or 1}) AND NOT ({self._condition})", (*values, *self._parameters)


class Searcher:
    """Answers questions over the records in some places."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._failed = ""  # what the embedder failed with at the last question

    @property
    def vector_search_disabled_reason(self) -> str:
        """The reason why the last search used words alone, in one line; "" if vectors counted too."""
        embedder = NoEmbedder(self._failed) if self._failed else self._space.embedder
        return str(embedder) if isinstance(embedder, NoEmbedder) else ""

    def find(
        self,
        query: str,
        places: Sequence[int],
        *,
        filters: Predicate = NO_FILTERS,
        weights: Weights | None = None,
        fusion: bool = False,
        explain: bool = False,
    ) -> list[Ranked]:
        """The numbers of all candidates, the best first.

        Args:
            places: who may see what is found, see `sb.store.records.places`.
            weights: of features by name, by default the fitted ones. fusion: order by rank fusion (k = 60) instead.
            explain: also say what each feature gave.
        """
        asked, candidates, memories = self._named(query, places, filters)
        if fusion:
            return by_memory(fuse(candidates.legs, explain=explain), memories)
        space = self._space
        used = weights or fitted(vectors=not self.vector_search_disabled_reason)
        ranked = rank(
            asked, candidates, space.statistics, used, space.lexicon, space.words.texts, explain=explain
        )
        ranked = by_memory(ranked, memories)
        return self._related(ranked, places, filters) if space.settings.spreading else ranked

    def _related(self, ranked: list[Ranked], places: Sequence[int], filters: Predicate) -> list[Ranked]:
        """The hits with what they are related to, as far as that meets the filters too."""
        from sb.memory.spreading import with_related

        meets = in_view(places, *self._seen(filters, places).sql())
        return with_related(self._space, ranked, places, meets, self._space.settings.spreading)

    def _seen(self, filters: Predicate, places: Sequence[int]) -> Predicate:
        """The filters, without what a search in these places leaves out."""
        condition, parameters = self._space.reader.left_out(places)
        return Without(filters, condition, parameters) if condition else filters

    def candidates(
        self, query: str, places: Sequence[int], filters: Predicate = NO_FILTERS
    ) -> tuple[Query, Candidates]:
        """The question as it is understood, and what words and meaning name for it, by number."""
        asked, found, _ = self._named(query, places, filters)
        return asked, found

    def _named(
        self, query: str, places: Sequence[int], filters: Predicate
    ) -> tuple[Query, Candidates, dict[int, int]]:
        """The same, and the memories of those candidates that are restatements."""
        filters = self._seen(filters, places)
        speakers = self._space.places.speakers(places)
        asked = understand(query, speakers, speakers)
        self._space.statistics.refresh()
        wanted = self._word_query(asked, places)
        legs = {"words": self._by_words(wanted, places, filters)}
        vector = self._vector(asked)
        similar = {} if vector is None else self._by_meaning(vector, places, filters, legs["words"])
        if vector is not None:
            legs["meaning"] = list(similar)[:LEG]
        best = dict.fromkeys(number for leg in legs.values() for number in leg[:BESIDE])
        known = {*similar, *legs["words"]}
        beside = self._beside(list(best), known, places, filters) if speakers else []
        if vector is not None and beside:
            similar |= self._space.vectors.cosines(*vector, beside)
        memories = self._restatements(asked, places, filters)
        if memories:  # a restatement means what its memory means
            legs["words"] = [*legs["words"], *memories]
            if vector is not None:
                near = self._space.vectors.cosines(*vector, list(memories.values()))
                similar |= {text: near.get(memory, 0.0) for text, memory in memories.items()}
        return asked, self._candidates(legs, similar, beside), memories

    def _restatements(self, asked: Query, places: Sequence[int], filters: Predicate) -> dict[int, int]:
        """The restatements that words name, with their memories, as far as those meet the filters."""
        space = self._space
        terms = list(dict.fromkeys((*asked.terms(spoken=False), *asked.terms(spoken=True))))
        if not terms or not places:
            return {}
        hidden, values = space.reader.left_out(places)
        where = f"{IS_RESTATEMENT} AND NOT ({hidden or 0})"
        expression = match_expression(terms, places, state=SUPERSEDED)
        found = [n for n, _ in space.words.best(expression, BESIDE, where=where, parameters=values)]
        memories = space.evidence.memories_of(found)
        seen = set(space.words.meeting([*memories.values()], *in_view(places, *filters.sql())))
        return {number: memories[number] for number in found if memories.get(number) in seen}

    def best(
        self, candidates: Sequence[Ranked], k: int, *, salience: bool = True, explain: bool = False
    ) -> list[tuple[Ranked, Hit]]:
        """Returns what `first` does, as an agent sees it."""
        ranked = self.first(candidates, k, salience=salience, explain=explain)
        numbers = [item.restatement for item, _ in ranked if item.restatement]
        texts = {row["id"]: self._space.memory(row).content for row in self._space.records.rows(numbers)}
        return [
            (item, self._space.hit(row, item, (texts[item.restatement],) if item.restatement else ()))
            for item, row in ranked
        ]

    def superseded(self, query: str, places: Sequence[int], filters: Predicate, k: int) -> list[Hit]:
        """The superseded memories that share most words with a question, each with what replaced it."""
        rows = self.past(query, places, filters, k, (SUPERSEDED,))
        hits = [self._space.hit(row, Ranked(row["id"], 0.0)) for row in rows]
        return [hit for hit in hits if hit.superseded_by]

    def past(
        self, query: str, places: Sequence[int], filters: Predicate, k: int, states: Sequence[str]
    ) -> list[Row]:
        """The memories in other states than active that share most words with a question."""
        speakers = self._space.places.speakers(places)
        asked = understand(query, speakers, speakers)
        words = match_expression(dict.fromkeys((*asked.terms(spoken=False), *asked.terms(spoken=True))), None)
        if not words or not places:
            return []
        tokens = " OR ".join(f'"{state}p{place}"' for state in states for place in places)
        where, values = self._seen(filters, places).sql()
        where = f"{MEMORIES} AND NOT ({IS_RESTATEMENT}) AND ({where or 1})"
        found = self._space.words.best(f"{words} AND (place : ({tokens}))", k, where=where, parameters=values)
        rows = {row["id"]: row for row in self._space.records.rows([number for number, _ in found])}
        return [rows[number] for number, _ in found]

    def with_neighbours(self, hits: Sequence[Hit], places: Sequence[int], count: int) -> list[Hit]:
        """The hits, each with what stands right before and after it in its session, as far as an agent sees it.

        Args:
            places: who may see it, see `sb.store.records.places`. count: the most on each side.
        """
        hidden, values = self._space.reader.left_out(places)
        here, parameters = in_view(places, f"NOT ({hidden or 0})", values)
        where = f"{here} AND r.session = ?"
        found = []
        for hit in hits:
            row = self._space.records.find(hit.id)
            sides: list[tuple[Memory, ...]] = [(), ()]
            if row is not None and row["session"] is not None:
                known = (*parameters, row["session"], row["id"])
                select = self._space.records.select
                before = list(select(f"{where} AND r.id < ?", known, order="r.id DESC", limit=count))
                after = select(f"{where} AND r.id > ?", known, limit=count)
                sides = [tuple(map(self._space.memory, part)) for part in (before[::-1], after)]
            found.append(replace(hit, before=sides[0], after=sides[1]))
        return found

    def first(
        self, candidates: Sequence[Ranked], k: int, *, salience: bool = True, explain: bool = False
    ) -> list[tuple[Ranked, Row]]:
        """The k best of all candidates, the best first, with their rows.

        Args:
            salience: let it count a little how recent, how much used, how sure and how strong a memory is.
        """
        space, first, known = self._space, candidates[:k], dict[int, Row]()
        if salience:
            first = in_reach(candidates, k)
            numbers = [ranked.id for ranked in first]
            known = {row["id"]: row for row in space.records.rows(numbers, _JUDGED_BY)}
            trust = space.trust.in_rows(known.values())
            reads, now = space.reads.stats(numbers), space.clock.now()
            known = space.aged(known.values(), reads)
            weights = configured(IN_SEARCH, space.settings.salience)
            first = salient(first, known, reads, now, trust=trust, weights=weights, explain=explain)[:k]
        rows = {row["id"]: row for row in space.records.rows([ranked.id for ranked in first])}
        return [(ranked, rows[ranked.id] | known.get(ranked.id, {})) for ranked in first]

    def _vector(self, asked: Query) -> tuple[str, Vectors] | None:
        """The question's vector and what made it; None where nothing makes vectors."""
        self._failed = ""
        embedder = self._space.usable_embedder
        if embedder is None:
            return None
        try:
            return embedder.model, embedder.embed_query(asked.text, asked.terms(spoken=True))
        except EmbedderError as error:  # a server that is away now: the words are there
            self._failed = error.message
            return None

    def _by_meaning(
        self,
        vector: tuple[str, Vectors],
        places: Sequence[int],
        filters: Predicate,
        words: Sequence[int],
    ) -> dict[int, float]:
        """The cosines of the nearest records and of those that words found, the nearest first."""
        where, parameters = filters.sql()
        found = self._space.vectors.nearest(
            *vector, places, LEG, also=words, where=where or "1", parameters=parameters,
        )  # fmt: skip
        return dict(found)

    def _beside(
        self,
        best: Sequence[int],
        known: Collection[int],
        places: Sequence[int],
        filters: Predicate,
    ) -> list[int]:
        """The records right before and after the best ones, as far as they are not known."""
        found = self._space.words.beside(best, places, *filters.sql())
        return [number for number in found if number not in known]

    def _word_query(self, asked: Query, places: Sequence[int]) -> WordQuery:
        terms = list(dict.fromkeys((*asked.terms(spoken=False), *asked.terms(spoken=True))))
        return word_query(terms, places, self._space.statistics)

    def _by_words(self, query: WordQuery, places: Sequence[int], filters: Predicate) -> list[int]:
        if not query.expression:
            return []
        where, parameters = filters.sql()
        found = self._space.words.best(
            query.expression, LEG, first=query.first, places=places, placed=query.placed,
            spare=query.spare, where=where, parameters=parameters,
        )  # fmt: skip
        return [number for number, _ in found]

    def _candidates(
        self,
        legs: Mapping[str, Sequence[int]],
        similar: Mapping[int, float],
        beside: Sequence[int],
    ) -> Candidates:
        """The candidates with what ranking has to know of them."""
        named = {*beside, *(number for leg in legs.values() for number in leg)}
        rows = self._space.words.ranked_by(list(named))
        numbers, by_words = rows.ids.tolist(), frozenset(legs["words"])
        return Candidates(
            rows,
            np.array([similar.get(number, 0.0) for number in numbers], np.float64),
            np.array([number in by_words for number in numbers], np.bool_),
            legs,
        )


def by_memory(ranked: Sequence[Ranked], memories: Mapping[int, int]) -> list[Ranked]:
    """Each memory once, at its own place or that of its best restatement.

    Args:
        memories: of the restatements among the candidates.
    """
    if not memories:
        return list(ranked)
    best: dict[int, Ranked] = {}
    for item in ranked:
        number = memories.get(item.id, item.id)
        found = item if number == item.id else Ranked(number, item.score, item.features, item.id)
        best.setdefault(number, found)
    return list(best.values())
