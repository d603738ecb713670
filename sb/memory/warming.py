"""Warming: load in the background what the first search needs.

The first search of a process takes a quarter of a second otherwise: importing numpy, the model that makes vectors, and
the vectors of the words that the candidates' texts have. The next ones would meet most records for the first time. None
of it changes what is found.
"""

from __future__ import annotations

import atexit
import importlib
import os
from collections.abc import Iterator
from contextlib import suppress
from threading import Event, Thread, current_thread, main_thread
from types import TracebackType
from typing import Any
from weakref import ref

from sb.memory.ranking.rank import rank
from sb.memory.ranking.weights import weights
from sb.memory.search import Searcher
from sb.memory.space import Space
from sb.store.database import Database
from sb.store.embedding import native
from sb.store.embedding.selection import NoEmbedder, choose
from sb.store.index.statistics import TextStatistics, counted

_PATIENCE_S = 5.0  # that the end of a memory waits for a step, at most; no step takes as long
_LOOK_S = 0.05  # how often a thread that waits for the database looks whether to stop
DELAY_S = 0.05  # a process that is done by then loads nothing
# The newest records, which are read in advance, and how many of them between two looks at whether to stop.
_TEXTS, _AT_ONCE = 5_000, 100
_WARMED = ("static", "none")  # settings of the embedder: others ask a server, or load for seconds
_READ = 2_000  # characters of each: searches that come meanwhile wait until the words of so many texts are learned
_RANKED = 5  # of what that finds
_ASKED = 60  # characters of a text that is asked for, so that the statements of a search are ready


class _Stopped(Exception):
    """The thread is to end."""


class _Lock:
    """The lock of a database, waited for no longer than the thread is to run."""

    def __init__(self, lock: Any, stopped: Event) -> None:
        self._lock, self._stopped = lock, stopped

    def __enter__(self) -> None:
        while not self._stopped.is_set():
            if self._lock.acquire(timeout=_LOOK_S):
                return
        raise _Stopped

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()


class _Reader(Database):
    """The same database, connection and all, read by a thread that gives up once it is stopped.

    Another thread may have the database for as long as it likes, also the one that waits for the end of this one.
    """

    __slots__ = ("lock",)  # found before the shared attribute of that name
    lock: Any

    def __init__(self, database: Database, stopped: Event) -> None:
        self.__dict__ = vars(database)
        self.lock = _Lock(database.lock, stopped)


class Warming:
    """Loads what searches of a memory need, in a thread of its own that ends with it."""

    def __init__(self, space: Space) -> None:
        if space.settings.embedder == "static" and current_thread() is main_thread():
            with suppress(ImportError):  # a search meets the same error, and says it
                native.load()
        self._stopped = Event()
        self._thread = Thread(target=self._load, args=(ref(space),), name="sb-warming", daemon=True)
        _RUNNING.add(self)
        self._thread.start()

    def stop(self) -> None:
        """End the thread, after the step that it is at: at most the import of numpy, a tenth of a second."""
        self.end()
        self._thread.join(_PATIENCE_S)

    def end(self) -> None:
        """Tell the thread to end, without waiting for it."""
        self._stopped.set()

    def wait(self) -> None:
        """Wait until everything is loaded."""
        self._thread.join()

    def _load(self, reference: ref[Space]) -> None:
        try:
            if not self._stopped.wait(DELAY_S):
                for _ in _steps(reference, self._stopped):
                    if self._stopped.is_set():
                        return
        except Exception:  # noqa: BLE001 -- a search meets the same error, and says it; the database may just have been closed
            return
        finally:
            _RUNNING.discard(self)


_RUNNING: set[Warming] = set()


@atexit.register  # a thread must not be importing while the interpreter is taken down
def _stop_all() -> None:
    running = list(_RUNNING)
    for warming in running:
        warming.end()
    for warming in running:
        warming.stop()


if hasattr(os, "register_at_fork"):  # a child would wait for ever for the locks of a thread that it has not
    os.register_at_fork(before=_stop_all)


def _steps(reference: ref[Space], stopped: Event) -> Iterator[str]:
    """Each step names what it loaded; the memory is let go of in between."""
    space = reference()
    if space is None or space.settings.embedder not in _WARMED:
        return
    del space
    importlib.import_module("numpy")
    yield "numpy"
    space = reference()
    if space is None:
        return
    reader = _Reader(space.database, stopped)
    _load_embedder(space, reader)
    yield "embedder"
    _search(space, reader)
    del space
    yield "search"
    yield from _records(reference, reader)


def _load_embedder(space: Space, reader: Database) -> None:
    """Compute `space.embedder`; a reader at the same time computes it as well, and the first result stays."""
    chosen = choose(space.settings)
    vars(space).setdefault("embedder", chosen if isinstance(chosen, NoEmbedder) else counted(chosen, reader))


def _search(space: Space, reader: Database) -> None:
    """Rank a few of what a text finds, so that statements are prepared and expressions compiled.

    All but the database and the model is its own: other threads may be using what the memory has. Above all, who holds
    the lock of its lexicon must not wait for the database, which another thread may have while it waits for that lock.
    """
    own = Space(reader, space.settings)
    own.embedder = space.embedder
    sql = "SELECT substr(text, 1, ?) FROM records WHERE state = 'active' ORDER BY id DESC LIMIT 1"
    if rows := reader.query(sql, (_ASKED,)):
        asked, found = Searcher(own).candidates(rows[0][0], tuple(own.places.all()))
        rank(asked, found.first(_RANKED), own.statistics, weights(vectors=True), own.lexicon, own.words.texts)


def _records(reference: ref[Space], reader: Database) -> Iterator[str]:
    """Learn the words of the newest texts, and read what ranking compares of their records."""
    after, changes = 1 << 62, TextStatistics(reader).refresh()
    for _ in range(0, _TEXTS, _AT_ONCE):
        space = reference()
        if space is None:
            return
        rows = reader.query(
            "SELECT id, substr(text, 1, ?) FROM records WHERE state = 'active' AND id < ? ORDER BY id DESC LIMIT +?",
            (_READ, after, _AT_ONCE),
        )
        if not rows:
            return
        numbers, texts = zip(*rows, strict=True)
        after = numbers[-1]
        space.lexicon.learn(texts)
        space.words.through(reader).ranked_by(numbers, changes)
        if (embedder := space.usable_embedder) is not None:
            space.vectors.through(reader).remember(embedder.model, embedder.dimensions, numbers, changes)
        del space, embedder
        yield "records"
