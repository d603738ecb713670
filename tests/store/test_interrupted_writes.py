"""Interrupts within a write transaction leave nothing open, wherever they come."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from sb.store.database import Database, open_database

ADD = "INSERT INTO meta (key, value) VALUES (?, '')"


@contextmanager
def interrupted_in(function: str) -> Iterator[None]:
    """An interrupt before the first line of this function, as a signal may come, but surely."""

    def trace(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_qualname == function:
            sys.settrace(None)
            raise KeyboardInterrupt

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def add(database: Database, key: str) -> None:
    with database.write() as execute:
        execute(ADD, (key,))


@pytest.mark.parametrize(
    ("function", "written"), [("_Write._begin", []), ("_Write.__exit__", []), ("_Write._end", ["first"])]
)
def test_after_an_interrupt_at_the_edge_of_a_write_the_next_one_works(
    tmp_path: Path, function: str, written: list[str]
) -> None:
    database = open_database(tmp_path / "brain.db")
    with pytest.raises(KeyboardInterrupt), interrupted_in(function):
        add(database, "first")
    add(database, "second")
    other = threading.Thread(target=add, args=(database, "third"), daemon=True)
    other.start()
    other.join(60)
    keys = [key for (key,) in database.query("SELECT key FROM meta") if key in ("first", "second", "third")]
    database.close()
    assert sorted(keys) == [*written, "second", "third"]


def test_a_write_within_a_write_is_refused_and_the_outer_one_stands(tmp_path: Path) -> None:
    database = open_database(tmp_path / "brain.db")
    with database.write() as execute:
        execute(ADD, ("outer",))
        with pytest.raises(RuntimeError, match="open in this thread already"):
            add(database, "inner")
    keys = {key for (key,) in database.query("SELECT key FROM meta")}
    database.close()
    assert ("outer" in keys, "inner" in keys) == (True, False)
