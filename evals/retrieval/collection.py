"""What would a store name as candidates? A full-text table and vectors in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from evals.retrieval.corpora import Row
from evals.retrieval.vectors import Embedding, Vectors, unit
from sb.memory.ranking import terms
from sb.memory.ranking.candidate import Candidate
from sb.memory.ranking.encoding import encoded
from sb.memory.ranking.questions import Query, understand
from sb.memory.ranking.statistics import information
from sb.store import driver

PER_SEARCH = 100
_MIX = (1.0, 0.5, 0.25)


class WordCounts:
    """The `Statistics` of the texts that were learned."""

    def __init__(self) -> None:
        self.records = 0
        self.mean_window = 0.0
        self._frequencies: Counter[str] = Counter()

    def learn(self, text: str) -> None:
        self.records += 1
        self._frequencies.update(set(terms.stems(text)))

    def document_frequency(self, stem: str) -> int:
        return self._frequencies[stem]

    def information(self, text: str) -> float:
        kept = [word for word in terms.words(text) if word not in terms.STOP_WORDS]
        return information([terms.stem(word) for word in kept], self)


class Collection:
    """Rows in the order in which they were made, and how to find them.

    Args:
        vectors: whether there is an embedder.
        frozen: whether what a row says is judged by what was there when it was written, and never again.
    """

    def __init__(self, rows: Sequence[Row], *, vectors: bool = True, frozen: bool = False) -> None:
        self.rows = rows
        self.speakers = sorted({row.speaker for row in rows if row.speaker})
        self.before = [self._before(number) for number in range(len(rows))]
        self.counts, self.embedding = WordCounts(), Embedding() if vectors else None
        if not frozen:
            self._learn([row.text for row in rows])
        self.information: list[float] = []
        own: list[Vectors] = []
        for row in rows:
            if frozen:
                self._learn([row.text])
            self.information.append(self.counts.information(row.text))
            if self.embedding:
                own.append(self.embedding.embed(row.text))
        self.stored = [(number, encoded(row.text)) for number, row in enumerate(rows)]
        self._measure()
        self._index()
        self._mix(np.array(own, np.float32))

    def _before(self, number: int) -> list[int]:
        """The two rows before this one in its session, the nearest first."""
        session = self.rows[number].session
        earlier = [at for at in (number - 1, number - 2) if at >= 0]
        return [at for at in earlier if session and self.rows[at].session == session]

    def _learn(self, texts: list[str]) -> None:
        for text in texts:
            self.counts.learn(text)
        if self.embedding:
            self.embedding.learn(texts)

    def _measure(self) -> None:
        lengths = [len(terms.words(row.text)) for row in self.rows]
        windows = [sum(lengths[at] for at in (row, *self.before[row])) for row in range(len(lengths))]
        self.counts.mean_window = sum(windows) / max(len(windows), 1)

    def _index(self) -> None:
        self._connection = driver.connect(":memory:")
        self._connection.execute(
            "CREATE VIRTUAL TABLE f USING fts5 (body, prev, place, tokenize = 'porter unicode61')"
        )
        indexed = [
            (row, self.rows[row].text, " ".join(self.rows[at].text for at in self.before[row]), "p1")
            for row in range(len(self.rows))
        ]
        self._connection.executemany("INSERT INTO f (rowid, body, prev, place) VALUES (?, ?, ?, ?)", indexed)
        self._connection.execute("INSERT INTO f (f) VALUES ('optimize')")

    def _mix(self, own: Vectors) -> None:
        self._mixed = np.zeros_like(own)
        for row in range(len(own)):
            for share, at in zip(_MIX, (row, *self.before[row]), strict=False):
                self._mixed[row] += share * own[at]
        if self.embedding:
            self._mixed = unit(self._mixed)

    def read(self, numbers: Sequence[int]) -> list[str]:
        return [self.rows[number].text for number in numbers]

    def understand(self, question: str) -> Query:
        return understand(question, self.speakers)

    def candidates(self, query: Query) -> list[Candidate]:
        """The best by words and the nearest by vector."""
        wanted = query.terms(spoken=bool(self.speakers))
        ranks: dict[int, dict[str, int]] = {}
        for place, row in enumerate(self.by_words(wanted), 1):
            ranks.setdefault(row, {})["words"] = place
        near: Vectors | None = None
        if self.embedding:
            near = self._mixed @ self.embedding.embed(" ".join(wanted))
            for place, row in enumerate(np.argsort(-near, kind="stable")[:PER_SEARCH].tolist(), 1):
                ranks.setdefault(row, {})["vectors"] = place
        return [self._candidate(row, ranks[row], near) for row in sorted(ranks)]

    def by_words(self, wanted: Sequence[str]) -> list[int]:
        """The best rows by FTS5's bm25."""
        expression = terms.match_expression(wanted, [1])
        if not expression:
            return []
        found = self._connection.execute(
            "SELECT rowid FROM f WHERE f MATCH ? ORDER BY bm25(f, 1.0, 0.4, 0.0), rowid LIMIT ?",
            (expression, PER_SEARCH),
        )
        return [row[0] for row in found]

    def _candidate(self, at: int, ranks: dict[str, int], near: Vectors | None) -> Candidate:
        row, before = self.rows[at], self.before[at]
        return Candidate(
            id=at,
            text=self.stored[at],
            previous=[self.stored[number] for number in before],
            speaker=row.speaker or None,
            previous_speaker=self.rows[before[0]].speaker if before else None,
            session=row.session or None,
            happened_at=row.happened_at,
            information=self.information[at],
            similarity=None if near is None else float(near[at]),
            ranks=ranks,
        )
