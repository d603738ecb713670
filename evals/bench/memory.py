"""Time that memory takes an agent, compared with what SQLite itself takes for the same words and vectors.

The texts are made of the words of this project's own records (`evals/retrieval/records`), the questions are those
that people asked about them. `python -m evals.bench.memory 5000 50000 500000` says which sizes; `make bench` takes the
first.
"""

from __future__ import annotations

import itertools
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from statistics import median

from evals.bench.timing import block, compare
from evals.retrieval.agent_records import load_questions, load_records
from sb.config import Config, load_config
from sb.memory import Brain
from sb.memory.housekeeping import AT_ONCE_S, tidy
from sb.memory.ranking.questions import understand
from sb.memory.ranking.terms import match_expression
from sb.memory.search import LEG
from sb.protocols.types import Event, Fact
from sb.store import driver
from sb.store.index.vectors import proposals
from sb.store.records.places import Place

SIZES = (5_000,)
SMALL_SCOPE = 10_000  # records of one project among many others
BATCH = 1_000
WRITES = 3  # of a session that is wrapped up


class Texts:
    """Texts as long as people's, made of the words of real ones: no two alike."""

    def __init__(self) -> None:
        self._chosen = random.Random(1)
        self._words = [word for record in load_records() for word in record["text"].split()]

    def __call__(self) -> str:
        return " ".join(self._chosen.choices(self._words, k=self._chosen.randint(10, 40)))


def fill(brain: Brain, size: int, text: Texts, scope: str) -> float:
    """Write so many events in sessions of their own; returns seconds."""
    started = time.perf_counter()
    for at in range(0, size, BATCH):
        brain.writer.begin(scope)
        events = [Event(text(), speaker="ab"[number % 2]) for number in range(min(BATCH, size - at))]
        brain.writer.keep_all(events, Place(brain.stack, scope))
    return time.perf_counter() - started


class Floor:
    """The same words and bits in bare tables of one file, asked for as many: what a search cannot be faster than.

    Args:
        brain: the memory whose places and vectors it copies.
    """

    def __init__(self, brain: Brain, folder: Path) -> None:
        self._brain = brain
        self._connection = driver.connect(_touched(folder / "floor.db"))
        driver.load_vectors(self._connection)
        execute = self._connection.execute
        execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = NORMAL")
        execute("CREATE VIRTUAL TABLE f USING fts5 (body, prev, place, tokenize = 'porter unicode61')")
        execute(
            "CREATE VIRTUAL TABLE b USING vec0"
            " (record INTEGER PRIMARY KEY, place INTEGER PARTITION KEY, bits bit[256], chunk_size=512)"
        )
        execute("CREATE TABLE c (id INTEGER PRIMARY KEY, said TEXT)")
        execute("BEGIN")
        for row in brain.database.query("SELECT id, body, prev, place FROM searchable"):
            execute("INSERT INTO f (rowid, body, prev, place) VALUES (?, ?, ?, ?)", row)
        for number, place, bits in brain.database.query("SELECT record, place, bits FROM record_bits"):
            execute("INSERT INTO b (record, place, bits) VALUES (?, ?, vec_bit(?))", (number, place, bits))
        execute("COMMIT")
        self._numbers = itertools.count(1 << 40)

    def search(self, expression: str, bits: bytes, place: int) -> None:
        self._connection.execute(
            "SELECT rowid FROM f WHERE f MATCH ? ORDER BY bm25(f, 1.0, 0.4, 0.0) LIMIT ?", (expression, LEG)
        ).fetchall()
        self.scan(bits, place)

    def scan(self, bits: bytes, place: int) -> None:
        self._connection.execute(
            "SELECT record FROM b WHERE bits MATCH vec_bit(?) AND k = ? AND place = ?",
            (bits, proposals(LEG), place),
        ).fetchall()

    def insert(self, text: str) -> None:
        self._connection.execute("INSERT INTO f (rowid, body) VALUES (?, ?)", (next(self._numbers), text))

    def commit(self, text: str) -> None:
        self._connection.execute("INSERT INTO c (said) VALUES (?)", (text,))

    def commit_found(self, texts: Iterable[str], bits: bytes, place: int) -> None:
        """One commit of records that words and bits find."""
        execute = self._connection.execute
        execute("BEGIN IMMEDIATE")
        for text in texts:
            number = next(self._numbers)
            execute("INSERT INTO c (id, said) VALUES (?, ?)", (number, text))
            execute("INSERT INTO f (rowid, body) VALUES (?, ?)", (number, text))
            execute("INSERT INTO b (record, place, bits) VALUES (?, ?, vec_bit(?))", (number, place, bits))
        execute("COMMIT")


def _touched(path: Path) -> Path:
    path.touch()
    return path


def report(sizes: tuple[int, ...] = SIZES) -> Iterator[str]:
    """One line a comparison, for each size."""
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            yield from _of_size(size, Path(folder))
    yield from _imports()


def _of_size(size: int, folder: Path) -> Iterator[str]:
    text = Texts()
    with Brain("bench", config=configured(folder), scope="project:bench") as brain:
        small = min(size, SMALL_SCOPE)
        seconds = fill(brain, size - small, text, "project:others") + fill(
            brain, small, text, "project:bench"
        )
        brain.writer.begin("project:bench")
        pages, page = (brain.database.query(f"PRAGMA {name}")[0][0] for name in ("page_count", "page_size"))
        growth = pages * page / size
        rate = size / seconds
        yield f"memory of {size} records, {small} of them in scope: {rate:.0f} records/s with vectors, {growth:.0f} bytes each"
        yield from _comparisons(brain, Floor(brain, folder), text, f"{size} records")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    yield f"  the process took at most {peak:.0f} MiB, that of the floor included"


def _comparisons(brain: Brain, floor: Floor, text: Texts, of: str) -> Iterator[str]:
    import numpy as np

    embedder = brain.space.usable_embedder
    assert embedder is not None
    place = brain.writer.places()[-1]
    questions = [question.question for question in load_questions()]
    asked = [understand(question, "ab") for question in questions]
    expressions = [match_expression(query.terms(spoken=True), [place]) for query in asked]
    bits = [
        np.packbits(embedder.embed_query(query.text, query.terms(spoken=True)) > 0).tobytes()
        for query in asked
    ]
    turn = itertools.cycle(range(len(questions)))

    def search() -> None:
        brain.search(questions[next(turn)])

    def bare_search() -> None:
        at = next(turn)
        floor.search(expressions[at], bits[at], place)

    def bare_remember() -> None:
        floor.insert(text())
        floor.scan(bits[next(turn)], place)

    def remember() -> None:
        brain.remember(text())

    both = "FTS5 query + bit scan"
    yield compare(f"search, {of}", search, both, bare_search, calls=40, bar=3.0).line()
    waited = median(block(search, 1) for _ in range(100)) / 1000
    yield f"  search p50 {waited:.1f} ms  bar 25 ms  {'ok' if waited <= 25 else 'OVER'}"
    yield compare(
        f"remember, {of}", remember, "FTS5 insert + bit scan", bare_remember, calls=40, bar=2.0
    ).line()
    yield compare(
        f"remember with the gate, {of}",
        remember,
        "remember without",
        lambda: brain.remember(text(), force=True),
        calls=40,
        bar=2.5,
    ).line()
    yield compare(
        f"orient, {of}", lambda: brain.orient(scope="project:bench"), "one search", search, calls=20, bar=4.0
    ).line()
    yield compare(
        f"knows, {of}",
        lambda: brain.knows("bench", questions[next(turn)]),
        "one search",
        search,
        calls=20,
        bar=3.0,
    ).line()
    yield from _corrections(brain, search, text, of)
    with brain.database.write() as execute:  # so that a pass over all is due
        execute("DELETE FROM index_state WHERE name = 'tidied_records'")
    waited = max(block(lambda: tidy(brain.space, seconds=AT_ONCE_S), 1) for _ in range(20)) / 1000
    yield f"  longest step of housekeeping {waited:.1f} ms  bar 250 ms  {'ok' if waited <= 250 else 'OVER'}"
    waited = median(block(lambda: brain.orient(scope="project:bench"), 1) for _ in range(100)) / 1000
    yield f"  orient p50 {waited:.1f} ms  bar 2 ms  {'ok' if waited <= 2 else 'OVER'}"
    yield from _ends(brain, floor, text, bits[0], place)


def _corrections(brain: Brain, search: Callable[[], None], text: Texts, of: str) -> Iterator[str]:
    calls, rounds = 10, 15
    olds = [brain.remember(text(), force=True) for _ in range(calls // 5 + 1 + calls * rounds)]
    yield compare(
        f"correct, {of}",
        lambda: brain.correct(olds.pop(), text(), "why"),
        "one search",
        search,
        calls=calls,
        bar=5.0,
        rounds=rounds,
    ).line()
    bearing = [brain.remember(text(), force=True) for _ in range(calls // 5 + 1 + calls * rounds)]
    for old in bearing:
        for _ in range(3):
            brain.remember(text(), force=True, derived_from=[old])
    yield compare(
        f"correct what three rest on, {of}",
        lambda: brain.correct(bearing.pop(), text(), "why"),
        "one search",
        search,
        calls=calls,
        bar=5.0,
        rounds=rounds,
    ).line()


def _ends(brain: Brain, floor: Floor, text: Texts, bits: bytes, place: int) -> Iterator[str]:
    """The time of a session's end, for sessions that wrote something before."""
    calls, rounds = 10, 15
    for floor_name, bare, bar in (
        ("one bare commit of such a text", lambda: floor.commit(text()), 10.0),
        (
            "one commit of two, with words and bits",
            lambda: floor.commit_found([text(), text()], bits, place),
            None,
        ),
    ):
        names = [f"{floor_name} {number}" for number in range(calls // 5 + 1 + calls * rounds)]
        for name in names:
            brain.writer.begin("project:bench", name)
            for _ in range(WRITES):
                brain.log(text(), "task_update")

        def wrap_up(names: list[str] = names) -> None:
            brain.writer.begin("project:bench", names.pop())
            brain.wrap_up(text())

        yield compare("wrap_up", wrap_up, floor_name, bare, calls=calls, bar=bar, rounds=rounds).line()


def _imports() -> Iterator[str]:
    """Records a second, in one process that does nothing else."""
    text = Texts()
    for embedder, bar in (("none", 20_000), ("static", 5_000)):
        with tempfile.TemporaryDirectory() as folder:
            facts = [Fact(text()) for _ in range(10_000)]
            rate = _imported(configured(Path(folder), embedder), facts)
            verdict = "ok" if rate >= bar else "UNDER"
            yield f"bulk write, embedder {embedder:<8} {rate:>9.0f} records/s   bar {bar}   {verdict}"


def configured(folder: Path, embedder: str = "static") -> Config:
    (folder / "config.yaml").write_text(f"memory:\n  embedder: {embedder}\n", encoding="utf-8")
    return load_config(env={"SB_HOME": str(folder), "HOME": str(folder)}, cwd=folder, flags={})


def _imported(config: Config, facts: list[Fact]) -> float:
    with Brain("bench", config=config) as brain:
        started = time.perf_counter()
        for at in range(0, len(facts), BATCH):
            brain.writer.keep_all(facts[at : at + BATCH], Place(brain.stack))
        return len(facts) / (time.perf_counter() - started)


if __name__ == "__main__":
    for line in report(tuple(map(int, sys.argv[1:])) or SIZES):
        print(line, flush=True)
