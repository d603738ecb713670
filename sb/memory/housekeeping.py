"""Housekeeping: refresh index statistics, token counts and missing or outdated vectors; retire triggers that lapsed.

How specific a text is, and how much each of its tokens tells, depends on all that is kept; an embedder that is a server,
or was not there, leaves records without vectors. Records are gone through in short transactions, so that nobody waits;
a pass that is left off goes on where it was.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from math import inf

from sb.base.values.frozen import frozen
from sb.errors import EmbedderError, StoreError
from sb.memory.ranking.roles import Spoken, roles
from sb.memory.space import Space
from sb.memory.triggers.lapsing import retire_lapsed
from sb.memory.views import View
from sb.store.embedding.context import ContextEmbedder
from sb.store.embedding.static import StaticEmbedder
from sb.store.index.statistics import correct_counters
from sb.store.index.vectors import Source, VectorRow
from sb.store.records.columns import ACTIVE, ERASED, Row
from sb.store.records.places import Execute
from sb.store.records.reads import FOLD_AFTER

FEWEST = 50  # records: fewer say nothing of what is common
_GROWTH = 2  # times the records of the last time: then what was counted is too old
_SAMPLE = 20_000  # texts that tokens are counted in
_AT_ONCE = 100  # records in a transaction, some 10 ms
_MOST_CHANGE = 0.01  # of information that makes no difference
# In index_state: how many records there were when the last pass ended, and when tokens were last counted; how far the
# pass that goes on has come, and whether it makes all vectors anew.
_TIDIED, _COUNTED, _AFTER, _ANEW = "tidied_records", "tidied_counted", "tidied_up_to", "tidied_anew"
_PARTLY, _PARTLY_TO = (
    "tokens_partly",
    "tokens_partly_to",
)  # counts that are not complete, and the last record in them
AT_ONCE_S = 0.05  # that anybody waits for
_SMALL = 20_000  # records: fewer are read as a whole within that
_FEW = 1_000  # texts that tokens are counted in within that
_FEW_AT_ONCE = 10  # records in a transaction then: the words of each are looked up for the first time
_SLICE = 200  # reads that are folded in a transaction

Progress = Callable[[int, int], object]


@frozen
class Tidied(View):
    """The result of a housekeeping pass.

    Args:
        records: that were looked at; embedded: that got a new vector.
        left: records that are left for the next time. words_alone: why no vectors were made, or "".
    """

    records: int
    embedded: int
    left: int
    words_alone: str


def is_due(space: Space) -> bool:
    """True if there are twice as many records as the last time, a pass was left off, or reads are old; costs two look-ups."""
    return _is_pass_due(_state(space)) or space.reads.oldest < space.clock.now() - FOLD_AFTER


def tidy_a_little(space: Space) -> bool:
    """Do a step of what is due, at most some `AT_ONCE_S`; True if there is more to do."""
    try:
        retire_lapsed(space)
        if not is_due(space):
            return False
        tidy(space, seconds=AT_ONCE_S)
        return is_due(space)
    except StoreError:  # another process is at it, or nothing can be written now
        return False


def _is_pass_due(state: Mapping[str, float]) -> bool:
    return _AFTER in state or state.get("records", 0) >= max(FEWEST, _GROWTH * state.get(_TIDIED, 0))


def tidy(
    space: Space, *, most: int | None = None, seconds: float = inf, progress: Progress | None = None
) -> Tidied:
    """Go through the records, from where the last pass was left off or else from the first.

    Args:
        most: records that are looked at; None for all. seconds: after which it is left off; at least one step is made. With
            them nothing is done that is not due, nor what reads all of a large memory at once.
        progress: called with the records that were looked at in this pass, and those there are.

    Raises:
        StoreError: the database cannot be written; what was done so far is kept.
    """
    retire_lapsed(space)
    until = time.monotonic() + seconds
    _fold_old(space, until)
    state, last = _state(space), space.records.last()
    if _AFTER not in state:
        if seconds < inf and not _is_pass_due(state):
            return Tidied(0, 0, 0, "")
        state = _begin(space, until)
        if time.monotonic() >= until:
            return Tidied(0, 0, last, "")
    after = int(state[_AFTER])
    vectors = _Vectors(space, bool(state.get(_ANEW)))  # an earlier version could leave _AFTER alone
    looked_at = embedded = 0
    while after < last and (most is None or looked_at < most) and (not looked_at or time.monotonic() < until):
        rows = list(
            space.records.select("r.id > ?", (after,), limit=_AT_ONCE if seconds == inf else _FEW_AT_ONCE)
        )
        embedded += _refresh(space, rows, vectors, after)
        after = rows[-1]["id"]
        looked_at += len(rows)
        if progress:
            progress(after, last)
    if after >= last:
        information = space.records.mean_information()
        with space.database.write() as execute:
            _keep(execute, {_TIDIED: int(state.get("records", 0)), "information": information})
            execute("DELETE FROM index_state WHERE name IN (?, ?)", (_AFTER, _ANEW))
    return Tidied(looked_at, embedded, max(0, last - after), vectors.missing)


def _fold_old(space: Space, until: float) -> None:
    """Fold reads and restatements that are old, step by step."""
    before = space.clock.now() - FOLD_AFTER
    more = space.reads.oldest < before
    while more:
        with space.database.write() as execute:
            space.reads.fold(execute)
            folded = space.reads.fold_old(execute, before, _SLICE)
            looked_at = space.records.fold_history(execute, before, _SLICE)
        more = bool(folded or looked_at) and time.monotonic() < until


def _state(space: Space) -> dict[str, float]:
    """Housekeeping's own numbers, and how many records there are."""
    return dict(
        space.database.query(
            "SELECT name, value FROM index_state WHERE name IN ('records', ?, ?, ?, ?)",
            (_TIDIED, _COUNTED, _AFTER, _ANEW),
        )
    )


def _keep(execute: Execute, numbers: Mapping[str, float]) -> None:
    for name, number in numbers.items():
        execute("INSERT OR REPLACE INTO index_state (name, value) VALUES (?, ?)", (name, number))


def _begin(space: Space, until: float) -> dict[str, float]:
    """Does what is due once a pass; returns the numbers that the pass begins with."""
    state, embedder = _state(space), space.usable_embedder
    records = int(state.get("records", 0))
    numbers = {_AFTER: 0, _ANEW: 0}
    if isinstance(embedder, StaticEmbedder) and records >= max(FEWEST, _GROWTH * state.get(_COUNTED, 0)):
        sample = _SAMPLE if until == inf else _FEW
        texts = (row["text"] for row in space.records.spread(sample) if row["state"] == ACTIVE)
        space.count_tokens(embedder, texts)
        numbers = {_AFTER: 0, _ANEW: 1, _COUNTED: records}
    if until == inf or records < _SMALL:
        correct_counters(space.database)
        _tell_roles(space)
        with space.database.write() as execute:
            space.edges.drop_orphans(execute)
    with space.database.write() as execute:
        space.reads.fold(execute)
        _keep(execute, numbers)
    return {**_state(space), **numbers}


def _tell_roles(space: Space) -> None:
    """Stores who of the speakers is a user and who an assistant, where it changed."""
    speakers = roles(Spoken(*row) for row in space.records.spoken())
    with space.database.write() as execute:
        space.places.keep_roles(execute, speakers)


class _Vectors:
    """Makes the vectors that are missing, of former texts, or made by counts that are too old.

    Args:
        anew: whether all were.
    """

    def __init__(self, space: Space, anew: bool) -> None:
        self._space, self._anew = space, anew
        self.missing = "" if space.usable_embedder else str(space.embedder)

    def made(self, records: Sequence[int]) -> list[tuple[Source, VectorRow]]:
        """A vector for each of these records that needs one; nobody waits for the model."""
        embedder = self._space.usable_embedder
        if embedder is None or self.missing:
            return []
        vectors = self._space.vectors
        needed = vectors.sources(records) if self._anew else vectors.stale_among(embedder.model, records)
        try:
            found = ContextEmbedder(embedder).embed([(source.text, source.previous) for source in needed])
        except EmbedderError as error:
            self.missing = error.message
            return []
        return [
            (source, VectorRow(source.record, source.place, embedder.model, source.digest, vector))
            for source, vector in zip(needed, found, strict=True)
        ]

    def keep(self, execute: Execute, made: Sequence[tuple[Source, VectorRow]]) -> int:
        """Stores the vectors whose source texts are unchanged; returns how many."""
        now = set(self._space.vectors.sources([source.record for source, _ in made]))
        rows = [row for source, row in made if source in now]
        self._space.vectors.put_many(execute, rows)
        return len(rows)


def _refresh(space: Space, rows: Sequence[Row], vectors: _Vectors, after: int) -> int:
    """Make some records good, and keep how far that went; returns how many got a new vector.

    Args:
        after: how far the pass had come. Another process may have ended it meanwhile, or gone further: that stays.
    """
    space.statistics.refresh()
    made = vectors.made([row["id"] for row in rows])
    found = {row["id"]: space.information(row["text"]) for row in rows if row["state"] != ERASED}
    with space.database.write() as execute:
        stored = {row["id"]: row["info"] for row in rows}
        changed = {item: value for item, value in found.items() if abs(value - stored[item]) > _MOST_CHANGE}
        space.records.inform(execute, changed)
        embedded = vectors.keep(execute, made)
        execute(
            "UPDATE index_state SET value = ? WHERE name = ? AND value = ?", (rows[-1]["id"], _AFTER, after)
        )
    return embedded
