"""Warming: load in the background what the first search needs.

The first search of a process takes a quarter of a second otherwise: importing numpy, the model that makes vectors, and
the vectors of the words that the candidates' texts have. None of it changes what is found.
"""

from __future__ import annotations

import atexit
import importlib
from collections.abc import Iterator
from threading import Event, Thread
from weakref import ref

from sb.memory.ranking.rank import rank
from sb.memory.ranking.weights import weights
from sb.memory.search import Searcher
from sb.memory.space import Space

_PATIENCE_S = 5.0  # that the end of a memory waits for a step; another thread may hold the database
DELAY_S = 0.05  # a process that is done by then loads nothing
_TEXTS, _AT_ONCE = (
    3_000,
    100,
)  # the newest, whose words are learned; so many between two looks at whether to stop
_WARMED = ("static", "none")  # settings of the embedder: others ask a server, or load for seconds
_RANKED = 5  # of what that finds
_ASKED = 60  # characters of a text that is asked for, so that the statements of a search are ready


class Warming:
    """Loads what searches of a memory need, in a thread of its own that ends with it."""

    def __init__(self, space: Space) -> None:
        self._stopped = Event()
        self._thread = Thread(target=self._load, args=(ref(space),), name="sb-warming", daemon=True)
        _RUNNING.add(self)
        self._thread.start()

    def stop(self) -> None:
        """End the thread, after the step that it is at: at most the import of numpy, a tenth of a second."""
        self._stopped.set()
        self._thread.join(_PATIENCE_S)

    def wait(self) -> None:
        """Wait until everything is loaded."""
        self._thread.join()

    def _load(self, reference: ref[Space]) -> None:
        try:
            if not self._stopped.wait(DELAY_S):
                for _ in _steps(reference):
                    if self._stopped.is_set():
                        return
        except Exception:  # noqa: BLE001 -- a search meets the same error, and says it; the database may just have been closed
            return
        finally:
            _RUNNING.discard(self)


_RUNNING: set[Warming] = set()


@atexit.register  # a thread must not be importing while the interpreter is taken down
def _stop_all() -> None:
    for one in list(_RUNNING):
        one.stop()


def _steps(reference: ref[Space]) -> Iterator[str]:
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
    _ = space.embedder
    yield "embedder"
    _search(space)
    del space
    yield "search"
    yield from _words(reference)


def _search(space: Space) -> None:
    """Rank a few of what a text finds, so that statements are prepared and expressions compiled.

    All but the database and the model is its own: other threads may be using what the memory has. Above all, who holds
    the lock of its lexicon must not wait for the database, which another thread may have while it waits for that lock.
    """
    own = Space(space.database, space.settings)
    own.embedder = space.embedder
    rows = own.database.query("SELECT text FROM records WHERE state = 'active' ORDER BY id DESC LIMIT 1")
    if rows:
        asked, found = Searcher(own).candidates(rows[0][0][:_ASKED], tuple(own.places.all()))
        rank(asked, found[:_RANKED], own.statistics, weights(vectors=True), own.lexicon, own.words.texts)


def _words(reference: ref[Space]) -> Iterator[str]:
    """Learn the words of the newest texts."""
    after = 1 << 62
    for _ in range(0, _TEXTS, _AT_ONCE):
        space = reference()
        if space is None:
            return
        rows = space.database.query(
            "SELECT id, text FROM records WHERE state = 'active' AND id < ? ORDER BY id DESC LIMIT +?",
            (after, _AT_ONCE),
        )
        if not rows:
            return
        after = rows[-1][0]
        space.lexicon.learn(text for _, text in rows)
        del space
        yield "words"
