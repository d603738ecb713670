"""Cost of a durable workflow and its steps, compared with bare commits and with DBOS.

A step is two commits and a workflow of no steps another two: both are compared with one bare commit of a row of the
same size. DBOS is compared with where it is installed (extra `bench`), on SQLite in WAL mode like ours.
"""

from __future__ import annotations

import importlib.util
import itertools
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from evals.bench.timing import block
from sb.kernel import KillSwitch, WorkflowJournal
from sb.log.event_log import EventLog
from sb.store import driver
from sb.store.anchor import Anchor
from sb.store.database import open_database

_STEPS = 200  # in one workflow
_WORKFLOWS = 60  # in one block
_STEP_BYTES, _WORKFLOW_BYTES = 110, 105  # of a row of the journal below
_ROUNDS = 15


def reserve(item: str, amount: int) -> dict[str, Any]:
    return {"item": item, "left": amount}


class Journal:
    """Ours."""

    def __init__(self, folder: Path) -> None:
        database = open_database(folder / "brain.db")
        log = EventLog(database, anchor=Anchor(folder / "anchors.jsonl"), digest_key=b"k" * 32)
        kill_switch = KillSwitch(log)
        kill_switch.adopt()
        self._journal = WorkflowJournal(log, kill_switch=kill_switch)
        self._numbers = itertools.count()

    def empty(self) -> None:
        self._journal.run("order", f"order-{next(self._numbers)}", lambda workflow: None)

    def step_us(self) -> float:
        """Microseconds of one step inside a workflow."""

        def order(workflow: Any) -> float:
            started = time.perf_counter()
            for number in range(_STEPS):
                workflow.step("reserve", reserve, f"item-{number}", 12)
            return (time.perf_counter() - started) / _STEPS * 1e6

        return float(self._journal.run("order", f"order-{next(self._numbers)}", order))


class Dbos:
    """The same with DBOS."""

    def __init__(self, folder: Path) -> None:
        import sqlalchemy
        from dbos import DBOS

        def prepare(connection: Any, record: object) -> None:
            self.mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            connection.execute("PRAGMA synchronous = NORMAL")

        self.mode = (
            ""  # read on its own connections: two SQLite libraries must not open one file in one process
        )
        sqlalchemy.event.listen(sqlalchemy.Engine, "connect", prepare)
        url = f"sqlite:///{folder / 'dbos.db'}"
        DBOS(config={"name": "bench", "system_database_url": url, "console_log_level": "ERROR"})
        step = DBOS.step()(reserve)

        def empty() -> None: ...

        def order() -> float:
            started = time.perf_counter()
            for number in range(_STEPS):
                step(f"item-{number}", 12)
            return (time.perf_counter() - started) / _STEPS * 1e6

        self.empty: Callable[[], None] = DBOS.workflow()(empty)
        self.step_us: Callable[[], float] = DBOS.workflow()(order)
        DBOS.launch()
        self.close: Callable[[], None] = DBOS.destroy


def bare_commit(path: Path, size: int) -> Callable[[], None]:
    """One row of so many bytes, committed."""
    path.touch()
    connection = driver.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("CREATE TABLE steps (id INTEGER PRIMARY KEY, body TEXT)")
    body = "x" * size

    def commit() -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO steps (body) VALUES (?)", (body,))
        connection.execute("COMMIT")

    return commit


def _line(what: str, bar: float, rounds: list[tuple[float, float]]) -> str:
    ours, floor = (median(column) for column in zip(*rounds, strict=True))
    ratio = median(item / bare for item, bare in rounds)
    return (
        f"{what}: {ours:.0f} us; one bare WAL commit of such a row {floor:.1f} us"
        f"  {ratio:.2f}x  bar {bar:g}x  {'ok' if ratio <= bar else 'OVER'}"
    )


def _floor_lines(folder: Path) -> Iterator[str]:
    journal = Journal(folder)
    step_commit = bare_commit(folder / "steps.db", _STEP_BYTES)
    start_commit = bare_commit(folder / "workflows.db", _WORKFLOW_BYTES)
    steps, starts = [], []
    for _ in range(_ROUNDS):
        steps.append((journal.step_us(), block(step_commit, _STEPS)))
        starts.append((block(journal.empty, _WORKFLOWS), block(start_commit, _STEPS)))
    yield _line("journal step, announced and recorded", 4, steps)
    yield _line("workflow begun and finished", 8, starts)


def _dbos_lines(folder: Path) -> Iterator[str]:
    if importlib.util.find_spec("dbos") is None:
        yield "dbos not installed: pip install '.[bench]' to compare with it"
        return
    journal, other = Journal(folder), Dbos(folder)
    try:
        pairs = [
            (
                journal.step_us(),
                other.step_us(),
                block(journal.empty, _WORKFLOWS),
                block(other.empty, _WORKFLOWS),
            )
            for _ in range(5)
        ]
    finally:
        other.close()
    for what, place in (("journal step", 0), ("workflow begun and finished", 2)):
        ours, theirs = (median(pair[place + column] for pair in pairs) for column in (0, 1))
        times = median(pair[place + 1] / pair[place] for pair in pairs)
        yield (
            f"{what}: {ours:.0f} us; DBOS on SQLite, {other.mode} mode: {theirs:.0f} us"
            f"  {times:.1f} times as fast  bar 5  {'ok' if times >= 5 else 'UNDER'}"
        )


def report() -> Iterator[str]:
    for lines in (_floor_lines, _dbos_lines):
        with tempfile.TemporaryDirectory() as folder:
            yield from lines(Path(folder))
