"""What would a store name as candidates? A full-text table and vectors in memory, as the recipe has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from evals.retrieval.locomo import Turn
from evals.retrieval.vectors import Embedding, unit
from sb.memory.ranking import terms
from sb.memory.ranking.features import Candidate
from sb.memory.ranking.questions import Query, understand
from sb.memory.ranking.statistics import information
from sb.store import driver

PER_SEARCH = 100
_MIX = (1.0, 0.5, 0.25)


class Collection:
    """Turns in the order in which they were said, and how to find them.

    Also the `Statistics` of these turns.
    """

    def __init__(self, turns: Sequence[Turn], *, vectors: bool = True) -> None:
        self.turns = turns
        self.speakers = sorted({turn.speaker for turn in turns if turn.speaker})
        self.before = [self._before(number) for number in range(len(turns))]
        self._count()
        self._index()
        self._vectors = vectors
        if vectors:
            self._embed()

    def _before(self, number: int) -> list[int]:
        """The two turns before this one in its session, the nearest first."""
        session = self.turns[number].session
        earlier = [at for at in (number - 1, number - 2) if at >= 0]
        return [at for at in earlier if session and self.turns[at].session == session]

    def _count(self) -> None:
        counted = [terms.words(turn.text) for turn in self.turns]
        lengths = [len(found) for found in counted]
        self.records = len(self.turns)
        self.mean_length = sum(lengths) / max(len(lengths), 1)
        windows = [sum(lengths[at] for at in (row, *self.before[row])) for row in range(len(lengths))]
        self.mean_window = sum(windows) / max(len(windows), 1)
        self._frequencies = Counter(
            stem for found in counted for stem in {terms.stem(word) for word in found}
        )
        self.information = [
            information({terms.stem(word) for word in found if word not in terms.STOP_WORDS}, self)
            for found in counted
        ]

    def document_frequency(self, stem: str) -> int:
        return self._frequencies[stem]

    def _index(self) -> None:
        self._connection = driver.connect(":memory:")
        self._connection.execute(
            "CREATE VIRTUAL TABLE f USING fts5 (body, prev, place, tokenize = 'porter unicode61')"
        )
        rows = [
            (row, self.turns[row].text, " ".join(self.turns[at].text for at in self.before[row]), "p1")
            for row in range(len(self.turns))
        ]
        self._connection.executemany("INSERT INTO f (rowid, body, prev, place) VALUES (?, ?, ?, ?)", rows)
        self._connection.execute("INSERT INTO f (f) VALUES ('optimize')")

    def _embed(self) -> None:
        self.embedding = Embedding([turn.text for turn in self.turns])
        self.own = np.array([self.embedding.embed(turn.text) for turn in self.turns])
        mixed = np.zeros_like(self.own)
        for row in range(len(self.turns)):
            for share, at in zip(_MIX, (row, *self.before[row]), strict=False):
                mixed[row] += share * self.own[at]
        self.mixed = unit(mixed)

    def understand(self, question: str) -> Query:
        return understand(question, self.speakers)

    def candidates(self, query: Query) -> list[Candidate]:
        """The best by words and the nearest by vector."""
        ranks: dict[int, dict[str, int]] = {}
        for place, row in enumerate(self._by_words(query), 1):
            ranks.setdefault(row, {})["words"] = place
        near = np.zeros(0, np.float32)
        if self._vectors:
            near = self.mixed @ self.embedding.embed(" ".join(query.terms(spoken=bool(self.speakers))))
            for place, row in enumerate(np.argsort(-near, kind="stable")[:PER_SEARCH].tolist(), 1):
                ranks.setdefault(row, {})["vectors"] = place
        return [self._candidate(row, ranks[row], near) for row in sorted(ranks)]

    def _by_words(self, query: Query) -> list[int]:
        expression = terms.match_expression(query.terms(spoken=bool(self.speakers)), [1])
        if not expression:
            return []
        found = self._connection.execute(
            "SELECT rowid FROM f WHERE f MATCH ? ORDER BY bm25(f, 1.0, 0.4, 0.0), rowid LIMIT ?",
            (expression, PER_SEARCH),
        )
        return [row[0] for row in found]

    def _candidate(self, row: int, ranks: dict[str, int], near: np.typing.NDArray[np.float32]) -> Candidate:
        turn = self.turns[row]
        return Candidate(
            id=row,
            text=turn.text,
            previous=[self.turns[at].text for at in self.before[row]],
            speaker=turn.speaker or None,
            session=turn.session or None,
            happened_at=turn.happened_at,
            information=self.information[row],
            similarity=float(near[row]) if self._vectors else None,
            ranks=ranks,
        )
