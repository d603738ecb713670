"""Cost of the kill check before each call."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from evals.bench.timing import Comparison, compare
from sb.kernel import KillSwitch, SafetyClass
from sb.kernel.authority.signing import Label
from sb.log.event_log import EventLog
from sb.store import driver
from sb.store.anchor import Anchor
from sb.store.database import open_database

_BY = Label("ada")


def comparisons(folder: Path) -> Iterator[Comparison]:
    log = EventLog(open_database(folder / "brain.db"), anchor=Anchor(folder / "anchors.jsonl"))
    switch = KillSwitch(log)
    switch.adopt()
    bare = driver.connect(folder / "brain.db")

    def check() -> object:
        return switch.check("clerk", "bench.write", SafetyClass.LOCAL_WRITE, "run_1")

    def select() -> object:
        return bare.execute("SELECT value FROM meta WHERE key = ?", ("database_id",)).fetchall()

    for thrown, name in ((0, "kill check, none was ever thrown"), (100, "kill check, 100 kills in force")):
        for number in range(thrown):
            switch.throw("run", f"other_{number}", _BY, "bench", wait_s=0)
        yield compare(name, check, "a bare one-row SELECT", select, calls=3000, bar=2.0)


def report() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        for comparison in comparisons(Path(folder)):
            yield comparison.line()
