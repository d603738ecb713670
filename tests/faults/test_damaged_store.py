"""A database that is read-only, full, damaged, locked, foreign or newer: one clear line, and no effect."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sb.errors import SchemaMismatch, StoreCorrupt, StoreError, StoreFull, StoreLocked, StoreReadOnly
from sb.kernel import RunContext, SafetyClass
from sb.kernel.execution.executor import ToolExecutor
from sb.kernel.registry.registry import ToolRegistry
from sb.log.event_log import EventLog
from sb.store import driver
from sb.store.database import Database, open_database


def make(path: Path) -> Path:
    open_database(path).close()
    return path


def attempt(database: Database) -> list[str]:
    """Make one call with a side effect; the effects that happened."""
    effects: list[str] = []
    registry = ToolRegistry()
    registry.register_fn("t.x", "X", lambda: effects.append("effect"), SafetyClass.LOCAL_WRITE)
    result = ToolExecutor(registry, event_log=EventLog(database)).execute(RunContext.create("a"), "t.x", {})
    assert not result.success
    assert "could not be recorded" in result.error_message
    return effects


def test_a_locked_database_is_waited_for_and_then_said(tmp_path: Path) -> None:
    path = make(tmp_path / "brain.db")
    holder = driver.connect(path)
    holder.execute("BEGIN IMMEDIATE")
    database = Database(path, patience_s=0)
    database._normal.execute("PRAGMA busy_timeout = 10")
    with pytest.raises(StoreLocked, match="locked by another process"), database.write():
        pass
    holder.execute("ROLLBACK")
    holder.close()
    EventLog(database)
    holder = driver.connect(path)
    holder.execute("BEGIN IMMEDIATE")
    assert attempt(database) == []
    holder.close()
    database.close()


def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path) -> None:
    database = open_database(tmp_path / "brain.db")
    log = EventLog(database)
    log.append("kernel.tool.dispatch", {"before": True})
    database.query("PRAGMA wal_checkpoint(TRUNCATE)")
    pages = database.query("PRAGMA page_count")[0][0]
    database._normal.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreFull, match="disk is full"):
        log.append("kernel.tool.dispatch", {"text": "x" * 100_000})
    assert attempt_over_limit(database) == []
    assert [event.payload for event in log.events()] == [{"before": True}]
    database._normal.execute("PRAGMA max_page_count = 100000")
    log.append("kernel.tool.dispatch", {"after": True})
    assert log.head().seq == 2


def attempt_over_limit(database: Database) -> list[str]:
    effects: list[str] = []
    registry = ToolRegistry()
    registry.register_fn("t.x", "X", lambda text: effects.append(text + ""), SafetyClass.LOCAL_WRITE)
    executor = ToolExecutor(registry, event_log=EventLog(database))
    result = executor.execute(RunContext.create("a"), "t.x", {"text": "word " * 800})
    assert "disk is full" in result.error_message
    return effects


@pytest.mark.parametrize("content", [b"not a database at all, just text " * 20, b"\x00" * 8192])
def test_a_file_that_is_no_database_is_said(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "brain.db"
    path.write_bytes(content)
    with pytest.raises(StoreCorrupt, match="is not a SQLite database"):
        open_database(path)
    assert path.read_bytes() == content


def test_a_damaged_database_is_said(tmp_path: Path) -> None:
    path = make(tmp_path / "brain.db")
    log = EventLog(open_database(path))
    for number in range(200):
        log.append("kernel.tool.dispatch", {"n": number})
    log.close()
    data = bytearray(path.read_bytes())
    data[4096 * 2 : 4096 * 20] = os.urandom(4096 * 18)
    path.write_bytes(bytes(data))
    with pytest.raises(StoreCorrupt, match="is damaged"):
        list(EventLog(open_database(path)).events())


def test_a_read_only_database_is_said_and_nothing_runs(tmp_path: Path) -> None:
    path = make(tmp_path / "brain.db")
    database = Database(path)
    EventLog(database)
    database._normal.execute("PRAGMA query_only = ON")
    with pytest.raises(StoreReadOnly, match="cannot be written"), database.write() as execute:
        execute("DELETE FROM memory")
    assert attempt(database) == []


@pytest.mark.skipif(os.getuid() != 0, reason="changes to another user")
def test_a_database_of_another_user_is_refused_in_one_line(tmp_path: Path) -> None:
    path = make(tmp_path / "brain.db")
    log = EventLog(open_database(path))
    log.append("kernel.tool.dispatch", {})
    log.close()
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(0o755)
    path.chmod(0o644)
    script = (
        "import os, sys, urllib.parse, urllib.request; from sb.errors import SBError; from sb.log.event_log import EventLog\n"
        "from sb.store.database import open_database\n"
        "os.setgid(65534); os.setuid(65534)\n"
        "try:\n"
        f"    EventLog(open_database({str(path)!r})).append('kernel.tool.dispatch', {{}})\n"
        "except SBError as error:\n"
        "    sys.exit(f'{error.message} ({error.hint})')\n"
    )
    child = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert f"database {path} cannot be" in child.stderr
    assert "Traceback" not in child.stderr


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    path = make(tmp_path / "brain.db")
    connection = driver.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(SchemaMismatch, match="schema 99, newer than") as caught:
        open_database(path)
    assert caught.value.hint == "update secondbrain"


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "brain.db"
    path.touch()
    connection = driver.connect(path)
    connection.execute("CREATE TABLE songs (title TEXT)")
    connection.close()
    with pytest.raises(SchemaMismatch, match="another program's"):
        open_database(path)


def test_a_missing_database_a_folder_and_an_impossible_path_are_said(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no database at"):
        open_database(tmp_path / "none.db", create=False)
    with pytest.raises(StoreError, match="is a folder"):
        open_database(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot create"):
        open_database(tmp_path / "file" / "brain.db")


def test_a_new_database_is_private(tmp_path: Path) -> None:
    path = make(tmp_path / "deep" / "brain.db")
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_failed_transaction_leaves_nothing_behind() -> None:
    log = EventLog()

    def fail_half_way() -> None:
        with log.write() as write:
            write.append("kernel.tool.dispatch", {})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_half_way()
    assert log.head().seq == 0
    log.append("kernel.tool.dispatch", {})
    assert log.head().seq == 1
