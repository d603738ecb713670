"""Stores with rows kept as agents keep them, and asked as agents ask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby

import numpy as np

from evals.retrieval.corpora import Question, Row
from evals.retrieval.fitting import Array, Asked
from evals.retrieval.measure import Search
from sb.base.sources import SYSTEM_CLOCK, Clock
from sb.config import current_config
from sb.memory import Brain
from sb.memory.housekeeping import tidy
from sb.memory.ranking.rank import feature_values, shares
from sb.memory.ranking.term_counts import Counted
from sb.memory.ranking.terms import match_expression
from sb.protocols.types import Event, Fact
from sb.store.database import MEMORY
from sb.store.records.places import Place

_SCOPE = "project:measured"


class Store:
    """A database in memory with one scope.

    Args:
        vectors: whether there is an embedder.
        tidied: whether housekeeping has been there since everything was written: words counted anew, and vectors made
            by those counts.
    """

    def __init__(
        self, rows: Sequence[Row], *, vectors: bool = True, tidied: bool = True, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        config = current_config()
        if not vectors:
            config = replace(config, memory=replace(config.memory, embedder="none"))
        self.brain = Brain("reader", path=MEMORY, config=config, scope=_SCOPE, clock=clock)
        self.space = self.brain.space
        self._rows: dict[str, str] = {}
        for session, part in groupby(rows, lambda row: row.session):
            self._keep(list(part), session)
        self._numbers = {
            row["id"]: self._rows[row["uid"]] for row in self.space.records.select("r.id > 0", ())
        }
        if tidied:
            tidy(self.space)

    def _keep(self, rows: Sequence[Row], session: str) -> None:
        """Keep turns in their session; notes of none stand alone."""
        for part in [rows] if session else [[row] for row in rows]:
            self.brain.writer.begin(_SCOPE, session or None)
            uids = self.brain.writer.keep_all([_record(row) for row in part], Place(self.brain.stack, _SCOPE))
            self._rows.update(zip(uids, (row.id for row in part), strict=True))

    def numbers(self) -> dict[str, int]:
        """The numbers of the records, by the ids of their rows."""
        return {name: number for number, name in self._numbers.items()}

    def ranking(self, *, fusion: bool = False, benchmark: bool = True) -> Search:
        """The ranking of a search, in a benchmark without what depends on the past."""

        def search(question: str, k: int) -> list[str]:
            hits = self.brain.search(question, k, fusion=fusion, benchmark=benchmark)
            return [self._rows.get(hit.id, "") for hit in hits]

        return search

    def words_alone(self) -> Search:
        """FTS5's bm25, with stop words left out and names left in."""

        def search(question: str, k: int) -> list[str]:
            asked, _ = self.brain.searcher.candidates(question, self.brain.writer.places())
            expression = match_expression(asked.terms(spoken=False), self.brain.writer.places())
            found = self.space.words.best(expression, k) if expression else []
            return [self._numbers[number] for number, _ in found]

        return search

    def asked(self, question: Question, features: Sequence[str]) -> Asked:
        """A question with the features of its candidates, once for each column of weights."""
        query, candidates = self.brain.searcher.candidates(question.text, self.brain.writer.places())
        named = [self._numbers[number] for number in candidates.rows.ids.tolist()]
        evidence = np.array([name in question.evidence for name in named], np.bool_)
        if not named:
            return Asked(np.zeros((0, 3 * len(features))), evidence)
        space = self.space
        counted = Counted(query, candidates, space.statistics, space.lexicon, space.words.texts)
        values: Array = feature_values(counted, features)
        return Asked(np.hstack([values * share[:, None] for share in shares(counted).T]), evidence)


def _record(row: Row) -> Event | Fact:
    when = datetime.fromtimestamp(row.happened_at, UTC)
    if row.speaker:
        return Event(row.text, speaker=row.speaker, happened_at=when)
    return Fact(row.text, happened_at=when)
