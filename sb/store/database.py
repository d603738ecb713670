"""The one database, opened, read and written by many threads and processes at once.

A file in WAL mode has one connection, which is NORMAL for everything (a commit survives `kill -9`) and FULL for what
must survive power loss too: a second one would make each forget the pages that it has read. Writes are BEGIN IMMEDIATE
under a process-wide lock, and wait for other processes with jitter, so that no lock error reaches a caller before
`patience_s` is over.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from sb.base.sources import SYSTEM_CLOCK, SYSTEM_IDS, Clock, Ids
from sb.errors import SchemaMismatch, StoreError, StoreReadOnly
from sb.store import driver, migrate

MEMORY = ":memory:"
LONGEST_BUSY_MS = 5_000  # that SQLite itself waits for another writer
CHECKPOINT_PAGES = 4000  # 16 MiB: four times SQLite's default, for a tenth off the cost of a durable call
Row = tuple[Any, ...]


class _Write:
    """A write transaction; yields the connection's `execute`.

    Args:
        synchronous: NORMAL, or FULL for a commit that survives power loss.
    """

    def __init__(self, database: Database, connection: driver.Connection, synchronous: str) -> None:
        self._database = database
        self._connection = connection
        self._synchronous = synchronous

    def __enter__(self) -> Callable[..., driver.Cursor]:
        database = self._database
        database.check_process()
        if database.writer == threading.get_ident():
            self._end_interrupted()
        try:
            database.lock.acquire()
            database.block = sys._getframe(1)
            database.writer = threading.get_ident()
            self._begin()
        except BaseException:  # an interrupt may come at any of these lines
            self._end()
            raise
        return self._connection.execute

    def _begin(self) -> None:
        try:
            self._database.synchronise(self._synchronous)
            self._connection.execute("BEGIN IMMEDIATE")
        except driver.Error as error:
            if not driver.is_busy(error):
                raise driver.explain(error, self._database.path) from error
            self._database.patiently(lambda: self._connection.execute("BEGIN IMMEDIATE"))
        self._database.writing = self._connection

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._connection.execute("COMMIT")
        except driver.Error as failed:
            raise driver.explain(failed, self._database.path) from failed
        finally:
            self._end()
        if isinstance(error, driver.Error) and not isinstance(error, driver.IntegrityError):
            raise driver.explain(error, self._database.path) from error

    def _end_interrupted(self) -> None:
        """End a write whose block is over: an interrupt came before the first line of `__exit__` or `_end`.

        Raises:
            RuntimeError: its block still runs, so that this write stands within it.
        """
        block = self._database.block
        try:
            if block is not None:
                block.clear()
        except RuntimeError:
            raise RuntimeError("a write transaction is open in this thread already") from None
        self._end()

    def _end(self) -> None:
        """Leave nothing open: neither a transaction that was not committed nor the lock."""
        database = self._database
        if database.writer != threading.get_ident():
            return
        try:
            if self._connection.in_transaction:  # SQLite rolls back by itself when the disk is full
                self._connection.execute("ROLLBACK")
        finally:
            database.writer, database.writing, database.block = 0, None, None
            database.lock.release()


class Database:
    """An open database; `open_database` makes one and checks its schema.

    Args:
        path: a file that exists, or ":memory:".
        patience_s: how long a write waits for other processes, in seconds.
        read_only: refuse every write, and leave the file and its folder as they are.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        patience_s: float = 30.0,
        read_only: bool = False,
        clock: Clock = SYSTEM_CLOCK,
        ids: Ids = SYSTEM_IDS,
    ) -> None:
        self.path = str(path)
        self.read_only = read_only
        self.in_memory = self.path == MEMORY
        self.pid = os.getpid()
        self.lock = threading.RLock()
        self.writer = 0  # the thread that has a write transaction open
        self.writing: driver.Connection | None = None  # and the connection that it is open on
        self.block: FrameType | None = None  # and whose block it is
        self._patience_s = patience_s
        self._clock = clock
        self._ids = ids
        self._vectors = False
        self._synchronous = "NORMAL"
        # Of the data, as it was last asked for: it changes when another connection has written.
        self._version = 0
        self._normal = self._connect()
        self._process_write = _Write(self, self._normal, "NORMAL")
        self._power_write = _Write(self, self._normal, "FULL")

    def _connect(self) -> driver.Connection:
        busy_ms = min(LONGEST_BUSY_MS, int(1000 * self._patience_s))
        connection = driver.connect(self.path, read_only=self.read_only, busy_ms=busy_ms)
        try:
            self.patiently(lambda: self._prepare(connection))
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: driver.Connection) -> None:
        if self.read_only:
            return
        mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
        if mode != "wal" and not self.in_memory:
            mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            if mode != "wal":
                raise StoreError(
                    f"database {self.path} cannot use a write-ahead log here (it stays in {mode} mode)",
                    "move it to a local disk with --db or SB_DB",
                )
        connection.execute(f"PRAGMA synchronous = {self._synchronous}")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")

    def patiently(self, action: Callable[[], object]) -> None:
        """Repeat `action` with jitter while other processes hold the database.

        Raises:
            StoreLocked: they held it for longer than `patience_s`.
            StoreError: anything else the driver reports.
        """
        deadline = self._clock.monotonic() + self._patience_s
        while True:
            try:
                action()
                return
            except driver.Failures as error:
                if not driver.is_busy(error) or self._clock.monotonic() >= deadline:
                    raise driver.explain(error, self.path) from error
            self._clock.sleep(0.001 + 0.02 * self._ids.random())

    def write(self, *, power: bool = False) -> _Write:
        """A write transaction: committed at the end of the block, rolled back by an exception.

        Args:
            power: the commit also survives power loss (one fsync, about 0.1 ms on a quiet disk).

        Raises:
            StoreError: the database cannot be written; nothing was.
        """
        if self.read_only:
            raise StoreReadOnly(f"database {self.path} was opened for reading only")
        return self._power_write if power and not self.in_memory else self._process_write

    def synchronise(self, level: str) -> None:
        """Have the commits from now on survive as `level` says; who calls holds the lock, and has nothing open."""
        if level != self._synchronous:
            self._synchronous = ""  # not known, should an interrupt come between the two
            self._normal.execute(f"PRAGMA synchronous = {level}")
            self._synchronous = level

    def write_each(self, sql: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Run a statement for each of these rows within the write transaction that this thread has open.

        Raises:
            RuntimeError: it has none open.
        """
        if self.writing is None or self.writer != threading.get_ident():
            raise RuntimeError("no write transaction is open in this thread")
        self.writing.executemany(sql, rows)

    def sync(self) -> None:
        """Make every commit so far survive power loss: one fsync of the write-ahead log.

        Raises:
            StoreError: the disk refused.
        """
        if self.in_memory:
            return
        try:
            fd = os.open(f"{self.path}-wal", os.O_RDONLY)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)
        except FileNotFoundError:
            return  # everything was checkpointed into the database, and synced with it
        except OSError as error:
            raise StoreError(f"cannot sync {self.path}: {error.strerror}", "check the disk") from error

    def rewrite(self) -> bool:
        """Write the whole file anew and empty the write-ahead log, so that nothing of what was removed is in either.

        `secure_delete` alone does not do: where SQLite moved rows between pages, former copies stand in their gaps.

        Returns:
            Whether the log was emptied; a reader of an older state prevents it.

        Raises:
            StoreError: there is no room for a second copy, or others did not stop writing.
        """
        self.check_process()
        with self.lock:
            self.patiently(lambda: self._normal.execute("VACUUM"))
            return not self._normal.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]

    def use_vectors(self) -> None:
        """Load sqlite-vec into the connection, and those of snapshots to come.

        Raises:
            StoreError: it cannot be loaded; nothing else of the database is affected.
        """
        with self.lock:
            if not self._vectors:
                driver.load_vectors(self._normal)
                self._vectors = True

    def check_process(self) -> None:
        """Raise StoreError in a forked child: locks and connections are its parent's."""
        if os.getpid() != self.pid:
            raise StoreError("the database was opened before a fork", "open it again in the child process")

    def query(self, sql: str, parameters: tuple[Any, ...] = ()) -> list[Row]:
        """All rows of one SELECT."""
        self.check_process()
        with self.lock:
            try:
                return self._normal.execute(sql, parameters).fetchall()
            except driver.Failures as error:
                raise driver.explain(error, self.path) from error

    def mark(self) -> tuple[int, int]:
        """A mark for `changed_since`, taken without reading anything."""
        return self._version, self._normal.total_changes

    def changed_since(self, mark: tuple[int, int]) -> bool:
        """True if anybody wrote since a mark: another connection, or this one, also in its open transaction.

        What another connection wrote before the mark counts too, if nobody has asked since.
        """
        with self.lock:
            ((self._version,),) = self.query("PRAGMA data_version")
            return self.mark() != mark

    @contextmanager
    def snapshot(self) -> Iterator[driver.Connection]:
        """A connection that sees one unchanging state, for long reads; writers are not held up."""
        self.check_process()
        if self.in_memory:
            with self.lock:
                yield self._normal
            return
        connection = driver.connect(self.path, read_only=True)
        connection.text_factory = _lenient_text
        try:
            if self._vectors:
                driver.load_vectors(connection)
            connection.execute("BEGIN")
            yield connection
        except driver.Error as error:
            raise driver.explain(error, self.path) from error
        finally:
            connection.close()

    @property
    def encrypted(self) -> bool:
        """True if its file is encrypted."""
        with self.lock:
            return driver.is_encrypted(self._normal)

    def close(self) -> None:
        with self.lock:
            self._normal.close()


def _lenient_text(data: bytes) -> str:
    """Damaged text is read with marks in it, so that whoever checks the file can go on and name the row."""
    return data.decode("utf-8", "replace")


def database_files(path: Path) -> list[Path]:
    """The database and the files that SQLite keeps beside it."""
    return [path, *(path.with_name(path.name + suffix) for suffix in ("-wal", "-shm", "-journal"))]


def open_database(
    path: str | Path,
    *,
    create: bool = True,
    read_only: bool | None = False,
    patience_s: float = 30.0,
    clock: Clock = SYSTEM_CLOCK,
    ids: Ids = SYSTEM_IDS,
) -> Database:
    """Open the database, creating file and schema when there is none.

    Args:
        path: a file, or ":memory:" for one that dies with its process.
        create: whether a missing or empty file is made into a database; safe in many processes at once.
        read_only: refuse every write; None where the file cannot be written anyway.

    Raises:
        SchemaMismatch: the schema is older (`sb migrate`), newer, or has been altered.
        StoreError: the file cannot be used.
    """
    if read_only is None:
        read_only = os.path.exists(path) and not os.access(path, os.W_OK)
    if str(path) != MEMORY:
        _ensure_file(Path(path), create and not read_only)
    database = Database(path, patience_s=patience_s, read_only=read_only, clock=clock, ids=ids)
    try:
        if create and not read_only and migrate.is_empty(database.query):
            with database.write(power=True) as execute:
                migrate.create(execute, now=clock.now(), database_id=ids.token(16))
        migrate.require_current(database.query, database.path)
    except BaseException:
        database.close()
        raise
    return database


def _ensure_file(path: Path, create: bool) -> None:
    if path.is_dir():
        raise StoreError(f"{path} is a folder, not a database", "point --db or SB_DB at a file")
    if path.exists():
        if (
            path.is_file() and path.stat().st_size == 0 and not create
        ):  # to open it for writing would make it longer
            raise SchemaMismatch(f"database {path} is empty", "make it with `sb init`")
        return
    if not create:
        raise StoreError(f"no database at {path}", "make one with `sb init`")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise StoreError(
            f"cannot create {path}: {error.strerror}", "point --db or SB_DB elsewhere"
        ) from error
