"""Time of a stack, compared with the implementation that its protocol describes, and with bare tables.

Where kernle 0.13.12 can be imported (it is nobody's dependency: `pip install --no-deps kernle==0.13.12 python-dotenv`), it keeps
and is asked the same, with the same SQLite build, so that its vectors are in use as well. `python -m evals.bench.stack 5000 50000`
says which sizes; `make bench` takes the first.
"""

from __future__ import annotations

import importlib
import itertools
import os
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from operator import methodcaller
from pathlib import Path
from typing import Any

from evals.bench.memory import Texts
from evals.bench.timing import Comparison, compare
from evals.retrieval.agent_records import load_questions
from sb.protocols import types
from sb.stack import SQLiteStack
from sb.store import driver

SIZES = (5_000,)
BATCH = 1_000
KINDS = ("Note", "Episode", "Belief")
PEER = "kernle"
# Of kernle's time.
SAVE, BATCH_SAVE, SEARCH, LOAD = 1 / 3, 1 / 10, 1 / 3, 1 / 4


class Side:
    """One implementation with its own records, which makes and keeps them in the same way as the other."""

    def __init__(self, stack: Any, kinds: Any, text: Callable[[], str]) -> None:
        self.stack = stack
        self._kinds = kinds
        self._text = text

    def _made(self, kind: str) -> Any:
        more = {"created_at": datetime.now(UTC)}
        uid, text = str(uuid.uuid4()), self._text()
        if kind == "Episode":
            return self._kinds.Episode(uid, "bench", text, "done", lessons=["small steps"], **more)
        return getattr(self._kinds, kind)(uid, "bench", text, **more)

    def save_note(self) -> None:
        self.stack.save_note(self._made("Note"))

    def save_episode(self) -> None:
        self.stack.save_episode(self._made("Episode"))

    def save_batch(self, kind: str) -> None:
        getattr(self.stack, f"save_{kind.lower()}s_batch")([self._made(kind) for _ in range(BATCH)])

    def fill(self, size: int) -> None:
        for _, kind in zip(range(0, size, BATCH), itertools.cycle(KINDS)):
            self.save_batch(kind)


class Floor:
    """The same texts in bare tables of one file, without vectors: what keeping and finding words takes at least."""

    def __init__(self, folder: Path, text: Callable[[], str]) -> None:
        (folder / "floor.db").touch()
        self._connection = driver.connect(folder / "floor.db")
        self._text = text
        self._execute = self._connection.execute
        self._execute("PRAGMA journal_mode = WAL")
        self._execute("PRAGMA synchronous = NORMAL")
        self._execute("CREATE TABLE r (id INTEGER PRIMARY KEY, uid TEXT UNIQUE, text TEXT)")
        self._execute("CREATE VIRTUAL TABLE f USING fts5 (body, tokenize = 'porter unicode61')")

    def save(self, many: int = 1) -> None:
        self._execute("BEGIN IMMEDIATE")
        for _ in range(many):
            text = self._text()
            number = self._execute(
                "INSERT INTO r (uid, text) VALUES (?, ?)", (str(uuid.uuid4()), text)
            ).lastrowid
            self._execute("INSERT INTO f (rowid, body) VALUES (?, ?)", (number, text))
        self._execute("COMMIT")

    def search(self, question: str) -> None:
        words = " OR ".join(f'"{word}"' for word in question.replace('"', " ").split())
        self._execute(
            "SELECT text FROM r WHERE id IN (SELECT rowid FROM f WHERE f MATCH ? ORDER BY rank LIMIT 10)",
            (words,),
        ).fetchall()

    def load(self) -> None:
        self._execute("SELECT * FROM r ORDER BY id DESC LIMIT 200").fetchall()


def report(sizes: tuple[int, ...] = SIZES) -> Iterator[str]:
    """One line a comparison, for each size."""
    kernle = _kernle()
    if kernle is None:
        yield f"{PEER} cannot be imported here: stacks are compared with bare tables alone"
    for size in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            text = Texts()
            with SQLiteStack("bench", folder / "sb.db", enforce_provenance=False) as stack:
                ours, floor = Side(stack, types, text), Floor(folder, text)
                ours.fill(size)
                floor.save(size)
                theirs = _peer(kernle, folder, text) if kernle else None
                if theirs:
                    theirs.fill(size)
                yield from (
                    comparison.line() for comparison in _comparisons(ours, theirs, floor, f"{size} records")
                )


def _comparisons(ours: Side, theirs: Side | None, floor: Floor, of: str) -> Iterator[Comparison]:
    questions = itertools.cycle([question.question for question in load_questions()])

    def both(
        name: str,
        action: Callable[[Any], object],
        bare: Callable[[], object],
        bar: float,
        calls: int,
        rounds: int,
    ) -> Iterator[Comparison]:
        def mine() -> None:
            action(ours)

        yield compare(f"stack: {name}, {of}", mine, "bare tables", bare, calls=calls, bar=None, rounds=rounds)
        if theirs is not None:
            peer = lambda: action(theirs)
            yield compare(f"stack: {name}, {of}", mine, PEER, peer, calls=calls, bar=bar, rounds=rounds)

    yield from both("search", lambda side: side.stack.search(next(questions)),
                    lambda: floor.search(next(questions)), SEARCH, 10, 9)  # fmt: skip
    yield from both("load", lambda side: side.stack.load(), floor.load, LOAD, 2, 7)
    yield from both("save_note", Side.save_note, floor.save, SAVE, 20, 9)
    yield from both("save_episode", Side.save_episode, floor.save, SAVE, 20, 9)
    for kind in KINDS:
        yield from both(f"{BATCH} {kind.lower()}s", methodcaller("save_batch", kind),
                        lambda: floor.save(BATCH), BATCH_SAVE, 1, 3)  # fmt: skip


def _kernle() -> Any | None:
    """The other implementation, with the SQLite build that ours uses; None if it is not installed."""
    former = importlib.import_module("sqlite3")
    sys.modules["sqlite3"] = importlib.import_module(driver.Error.__module__.partition(".")[0])
    try:
        importlib.import_module(f"{PEER}.stack")
        return importlib.import_module(f"{PEER}.types")
    except ImportError:
        return None
    finally:
        sys.modules["sqlite3"] = former


def _peer(kinds: Any, folder: Path, text: Callable[[], str]) -> Side:
    os.environ["KERNLE_DATA_DIR"] = str(folder / PEER)
    stack = importlib.import_module(f"{PEER}.stack").SQLiteStack
    return Side(stack("bench", folder / f"{PEER}.db", enforce_provenance=False), kinds, text)


if __name__ == "__main__":
    for line in report(tuple(map(int, sys.argv[1:])) or SIZES):
        print(line, flush=True)
