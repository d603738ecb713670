"""Time of keeping a stack in two databases, compared with copying the same rows by bare SQL.

CPU time of this process, since what else the machine does would be in the clock's. `python -m evals.bench.sync 5000 50000` says
which sizes; `make bench` takes the first.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from statistics import median

from evals.bench.memory import Texts
from evals.bench.timing import Comparison
from sb.protocols.types import Note
from sb.stack import SQLiteStack
from sb.store import driver
from sb.store.database import open_database

SIZES = (5_000,)
CHANGED = 10
ROUNDS = 15
_NAME = "bench"
_COPIED = ("places", "memory_sessions", "records", "record_history", "edges")


class Pair:
    """A stack, and two files to copy it to: by synchronising it, and by bare SQL.

    Args:
        full: a file with records. blank: a database without any.
    """

    def __init__(self, folder: Path, full: Path, blank: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self._source, self._floor = folder / "source.db", folder / "floor.db"
        for source, target in (
            (full, self._source),
            (blank, folder / "remote.db"),
            (blank, self._floor),
        ):
            shutil.copyfile(source, target)
        self.stack = SQLiteStack(
            _NAME, self._source, remote=folder / "remote.db", components=[], enforce_provenance=False
        )
        self._copied = 0

    def sync(self) -> None:
        assert not self.stack.sync().errors

    def copy(self) -> None:
        """Let the other file have the rows that are new, with the words that they are found by."""
        with closing(driver.connect(self._floor)) as connection:
            connection.execute("ATTACH ? AS source", (str(self._source),))
            connection.execute("BEGIN IMMEDIATE")
            if not self._copied:
                for table in _COPIED:
                    connection.execute(f"INSERT INTO main.{table} SELECT * FROM source.{table}")
                connection.execute(
                    "INSERT INTO record_index (rowid, body, prev, place) SELECT id, body, prev, place FROM main.searchable"
                )
            else:
                self._copy_changed(connection)
            (found,) = connection.execute("SELECT coalesce(max(id), 0) FROM source.record_history").fetchall()
            self._copied = int(found[0]) + 1
            connection.execute("COMMIT")

    def _copy_changed(self, connection: driver.Connection) -> None:
        changes = "SELECT * FROM source.record_history WHERE id >= ?"
        connection.execute(f"INSERT INTO main.record_history {changes}", (self._copied,))
        connection.execute(
            "UPDATE main.records AS r SET text = s.text, fields = s.fields, terms = s.terms, length = s.length,"
            " version = s.version, updated_at = s.updated_at FROM source.records AS s WHERE s.id = r.id"
            " AND r.id IN (SELECT record FROM source.record_history WHERE id >= ?)",
            (self._copied,),
        )

    def change(self, text: Callable[[], str]) -> None:
        for note in self.stack.get_notes(limit=CHANGED):
            note.content = text()
            self.stack.save_note(note)

    def close(self) -> None:
        self.stack.close()


def report(sizes: tuple[int, ...] = SIZES) -> Iterator[str]:
    """One line a comparison, for each size."""
    for size in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            text = Texts()
            full, blank = _prepared(folder, size, text)
            first, pairs = _first(folder, full, blank)
            yield _line(f"sync: the first, {size} records", first)
            with closing(pairs) as pair:
                yield _line(f"sync: nothing to do, {size} records", _measured(pair, lambda: None))
                changing = partial(pair.change, text)
                yield _line(f"sync: {CHANGED} changes, {size} records", _measured(pair, changing))


def _prepared(folder: Path, size: int, text: Callable[[], str]) -> tuple[Path, Path]:
    """A file with so many records, and one without any."""
    full, blank = folder / "full.db", folder / "blank.db"
    with SQLiteStack(_NAME, full, components=[], enforce_provenance=False) as stack:
        for start in range(0, size, 1_000):
            stack.save_notes_batch([Note("", _NAME, text()) for _ in range(min(1_000, size - start))])
    open_database(blank).close()
    return full, blank


def _first(folder: Path, full: Path, blank: Path) -> tuple[list[tuple[float, float]], Pair]:
    """The times of the first synchronisation, and a pair that has had it."""
    times = []
    for number in range(4):
        pair = Pair(folder / "pair", full, blank)
        times.append((_cpu(pair.sync), _cpu(pair.copy)))
        if number == 3:
            return times[1:], pair
        pair.close()
    raise AssertionError


def _measured(pair: Pair, prepare: Callable[[], None]) -> list[tuple[float, float]]:
    times = []
    for _ in range(ROUNDS + 1):
        prepare()
        times.append((_cpu(pair.sync), _cpu(pair.copy)))
    return times[1:]


def _cpu(action: Callable[[], object]) -> float:
    """Microseconds of this process."""
    started = time.process_time()
    action()
    return (time.process_time() - started) * 1e6


def _line(name: str, times: list[tuple[float, float]]) -> str:
    ours, floors = zip(*times, strict=True)
    ratio = median(item / floor for item, floor in times)
    return Comparison(name, "bare SQL", median(ours), median(floors), ratio, None).line()


if __name__ == "__main__":
    for line in report(tuple(map(int, sys.argv[1:])) or SIZES):
        print(line, flush=True)
