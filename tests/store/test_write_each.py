"""Write transactions: many rows by one statement, and what survives power loss."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from sb.store import driver
from sb.store.database import Database

INSERT = "INSERT INTO t (a) VALUES (?)"


@pytest.fixture
def database(tmp_path: Path) -> Database:
    path = tmp_path / "t.db"
    path.touch()
    database = Database(path)
    with database.write() as execute:
        execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
    return database


@pytest.mark.parametrize("power", [False, True])
def test_either_all_of_a_transaction_is_kept_or_nothing(database: Database, power: bool) -> None:
    with database.write(power=power) as execute:
        execute(INSERT, (1,))
        database.write_each(INSERT, [(2,), (3,)])

    def write_twice() -> None:
        with database.write(power=power):
            database.write_each(INSERT, [(4,), (2,)])

    with pytest.raises(driver.IntegrityError):
        write_twice()
    assert database.query("SELECT a FROM t") == [(1,), (2,), (3,)]


def test_without_a_transaction_of_this_thread_nothing_is_written(database: Database) -> None:
    refused: list[RuntimeError] = []

    def write() -> None:
        with pytest.raises(RuntimeError, match="no write transaction") as caught:
            database.write_each(INSERT, [(1,)])
        refused.append(caught.value)

    write()
    with database.write():
        other = threading.Thread(target=write)
        other.start()
        other.join()
    write()
    assert len(refused) == 3
    assert database.query("SELECT a FROM t") == []


def test_only_what_asks_for_it_survives_power_loss(database: Database) -> None:
    def level(*, power: bool) -> int:
        with database.write(power=power) as execute:
            return int(execute("PRAGMA synchronous").fetchone()[0])

    normal, full = 1, 2
    assert [level(power=power) for power in (True, False, True, True, False)] == [
        full,
        normal,
        full,
        full,
        normal,
    ]
    with pytest.raises(RuntimeError), database.write(power=True):
        raise RuntimeError
    assert level(power=False) == normal


def test_an_interrupt_while_the_level_changes_costs_no_commit_its_power(database: Database) -> None:
    def interrupt_behind_the_pragma(frame: FrameType, event: str, value: object) -> Any:
        if frame.f_code is not Database.synchronise.__code__:
            return None
        if event == "line" and database._normal.execute("PRAGMA synchronous").fetchone() == (1,):
            raise KeyboardInterrupt
        return interrupt_behind_the_pragma

    with database.write(power=True):
        pass
    before = sys.gettrace()
    sys.settrace(interrupt_behind_the_pragma)
    try:
        with pytest.raises(KeyboardInterrupt), database.write():
            pass
    finally:
        sys.settrace(before)
    with database.write(power=True) as execute:
        assert execute("PRAGMA synchronous").fetchone() == (2,)
