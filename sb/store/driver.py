"""The SQLite driver of this process, and its errors.

Vectors need a SQLite that can load extensions, which many CPython builds forbid. In order of preference: `sqlcipher3`
where the home's configuration names a key, the
`pysqlite3` wheel (a current SQLite), then the standard library's module. The latter may be unable to load
extensions; `EXTENSIONS` says so, `sb doctor` reports it, and everything but vectors works. Nothing else in the
project imports a driver.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import time
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING

from sb.config import database_key, encrypting_driver
from sb.errors import StoreCorrupt, StoreError, StoreFull, StoreLocked, StoreReadOnly
from sb.store.keys import read_key, references_for

if TYPE_CHECKING:
    import sqlite3 as sqlite  # noqa: TID251
else:
    sqlite = None
    if encrypting_driver.is_configured(os.environ):  # one SQLite in a process: two lose each other's locks
        with contextlib.suppress(ImportError):
            import sqlcipher3.dbapi2 as sqlite
    if sqlite is None:
        try:
            import pysqlite3.dbapi2 as sqlite  # noqa: TID251
        except ImportError:
            import sqlite3 as sqlite  # noqa: TID251

# Statements that a connection keeps prepared. pysqlite3 drops the newest first once there are too many, however often it is
# run: with the default of 100 a database that was just made prepared each insert into the log anew, for 15 us.
# One that ends in `LIMIT ?` is prepared anew for each value, which takes 20 to 90 us; `LIMIT +?` is not.
_PREPARED = 500
_STEPS_PER_LOOK = 10_000  # of SQLite's machine between looks at the clock: about a millisecond
_REACHES_FILES = ("load_extension", "readfile", "writefile", "edit", "fts3_tokenizer")
complete_statement = sqlite.complete_statement
# A value of any type but four is first offered for adaptation, which takes a microsecond to find that there is none: that is
# more than SQLite takes for it. Told that these stay as they are, it takes a tenth.
sqlite.register_adapter(type(None), lambda nothing: nothing)
sqlite.register_adapter(bytes, bytes)
Connection = sqlite.Connection
Cursor = sqlite.Cursor
Error = sqlite.Error
DatabaseError = sqlite.DatabaseError
IntegrityError = sqlite.IntegrityError
OperationalError = sqlite.OperationalError
SeveralStatements = sqlite.Warning  # the only use of it, before Python 3.12
Failures = (Error, UnicodeDecodeError)  # the latter where SQLite's own message quotes a damaged schema

NAME: str = sqlite.__name__.split(".")[0]
VERSION: str = sqlite.sqlite_version
CAN_ENCRYPT = NAME == "sqlcipher3"
EXTENSIONS: bool = hasattr(Connection, "enable_load_extension")
OLDEST = (3, 37, 0)  # STRICT tables


class Code(IntEnum):
    """SQLite's primary result codes that something is made of (https://sqlite.org/rescode.html)."""

    PERM = 3
    BUSY = 5
    LOCKED = 6
    READONLY = 8
    INTERRUPT = 9
    IOERR = 10
    CORRUPT = 11
    FULL = 13
    CANTOPEN = 14
    TOOBIG = 18
    CONSTRAINT = 19
    MISMATCH = 20
    AUTH = 23
    RANGE = 25
    NOTADB = 26


_ROOM = 65_536  # bytes that an index of a write-ahead log needs, and some

_ADVICE: dict[int, tuple[type[StoreError], str, str]] = {
    Code.BUSY: (
        StoreLocked,
        "is locked by another process",
        "try again when the other process has finished its write",
    ),
    Code.LOCKED: (StoreLocked, "is locked by another connection of this process", "try again"),
    Code.READONLY: (StoreReadOnly, "cannot be written", "check the file's and its folder's permissions"),
    Code.IOERR: (StoreError, "could not be read or written (I/O error)", "check the disk"),
    Code.CORRUPT: (
        StoreCorrupt,
        "is damaged",
        "restore a backup, or see docs/reference/store.md on recovering rows",
    ),
    Code.FULL: (StoreFull, "could not grow: the disk is full", "free some space; nothing was half-written"),
    Code.CANTOPEN: (
        StoreError,
        "cannot be opened",
        "check that the folder exists and that you may enter it and write in it",
    ),
    Code.NOTADB: (
        StoreCorrupt,
        "is not a SQLite database, or is encrypted",
        "point --db or SB_DB at another file, or set database_key",
    ),
}


def connect(path: str | Path, *, read_only: bool = False, busy_ms: int = 5_000) -> Connection:
    """A connection in autocommit mode that any thread may use under a lock.

    Args:
        path: a file, or ":memory:".
        busy_ms: how long SQLite itself waits for another writer, in milliseconds.

    An encrypted file is opened with the key that the configuration names, and a new one is made with it.

    Raises:
        StoreError: this SQLite is too old, the file cannot be opened, or its key does not fit or cannot be read.
    """
    if tuple(int(part) for part in VERSION.split(".")) < OLDEST:
        wanted = ".".join(map(str, OLDEST))
        raise StoreError(f"SQLite {VERSION} is too old: {wanted} is needed", "pip install pysqlite3")
    if CAN_ENCRYPT and str(path) != ":memory:":
        return _connect_any(path, read_only, busy_ms)
    return _open(path, read_only, busy_ms)


def _connect_any(path: str | Path, read_only: bool, busy_ms: int) -> Connection:
    """A connection whether or not the file is encrypted."""
    known = references_for(path)
    if not _is_empty(path):
        with contextlib.suppress(WrongKey):
            return connect_encrypted(path, "", read_only=read_only, busy_ms=busy_ms)
    for at, reference in enumerate(known, 1):
        try:
            return connect_encrypted(path, read_key(reference), read_only=read_only, busy_ms=busy_ms)
        except WrongKey:
            if at == len(known):
                raise
    return connect_encrypted(path, "", read_only=read_only, busy_ms=busy_ms)


def _is_empty(path: str | Path) -> bool:
    try:
        return os.stat(path).st_size == 0
    except OSError:  # opening it says what is wrong
        return False


def _open(path: str | Path, read_only: bool, busy_ms: int) -> Connection:
    target = str(path)
    if target != ":memory:":
        target = Path(path).absolute().as_uri() + (_reading(Path(path)) if read_only else "?mode=rw")
    try:
        connection: Connection = sqlite.connect(
            target,
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            timeout=busy_ms / 1000,
            cached_statements=_PREPARED,
        )
    except Error as error:
        raise explain(error, path) from error
    return connection


class WrongKey(StoreError):
    """A database does not open with a key."""


def connect_encrypted(
    path: str | Path, key: str, *, read_only: bool = False, busy_ms: int = 5_000
) -> Connection:
    """A connection as `connect` makes, with a key.

    Args:
        key: 64 hexadecimal digits; "" for a file that is not encrypted.

    Raises:
        WrongKey: the file does not open with it. StoreError: there is no such driver, or as `connect`.
    """
    if not CAN_ENCRYPT:
        raise StoreError(
            f"database {path} needs a driver that encrypts",
            "set database_key in config.yaml of SB_HOME, and pip install 'secondbrain-sb[sqlcipher]'",
        )
    connection = _open(path, read_only, busy_ms)
    try:
        connection.execute("PRAGMA cipher_log_level = NONE")  # what is wrong is said once, by us
        if key:
            connection.execute(f'PRAGMA key = "{raw_key(key)}"')
        connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1")
    except Error as error:
        if error_code(error) == Code.NOTADB:
            connection.close()
            raise WrongKey(
                f"database {path} does not open with the key that database_key names",
                "name the key that it was encrypted with",
            ) from None
        connection.close()
        raise explain(error, path) from error
    return connection


def raw_key(key: str) -> str:
    """A key as SQLCipher takes it without deriving another one from it; "" for none."""
    return f"x'{key}'" if key else ""


def cipher_version() -> str:
    """The version of SQLCipher; "" where the driver cannot encrypt."""
    if not CAN_ENCRYPT:
        return ""
    connection = sqlite.connect(":memory:")
    try:
        return str(connection.execute("PRAGMA cipher_version").fetchone()[0])
    finally:
        connection.close()


def is_encrypted(connection: Connection) -> bool:
    """True if what a connection writes is encrypted."""
    return CAN_ENCRYPT and bool(connection.execute("PRAGMA cipher_salt").fetchone())


def _reading(path: Path) -> str:
    """The URI for reading a file: immutable where no index of a write-ahead log can be made."""
    log = path.with_name(f"{path.name}-wal")
    nobody_writes = not os.access(path.parent, os.W_OK) and not log.exists()
    return "?immutable=1" if nobody_writes else "?mode=ro"


def error_code(error: BaseException) -> int:
    """SQLite's primary result code of any of `Failures`, 0 when it gives none."""
    if isinstance(error, UnicodeDecodeError):
        return Code.CORRUPT
    return (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF


def is_busy(error: BaseException) -> bool:
    return error_code(error) in (Code.BUSY, Code.LOCKED)


def explain(error: BaseException, path: str | Path) -> StoreError:
    """The driver's error as one that a person can act on."""
    code = error_code(error)
    if code in (Code.IOERR, Code.CANTOPEN) and _is_full(
        path
    ):  # SQLite's names for an index that cannot be made
        code = Code.FULL
    if code == Code.NOTADB and database_key.references() and not CAN_ENCRYPT:
        return StoreError(
            f"database {path} is encrypted, or none; no driver that encrypts is installed",
            "pip install 'secondbrain-sb[sqlcipher]'",
        )
    kind, what, hint = _ADVICE.get(code, (StoreError, f"reported: {error}", ""))
    return kind(f"database {path} {what}", hint)


def _is_full(path: str | Path) -> bool:
    """True if the disk of an existing database has no room left for a page of it."""
    try:
        disk = os.statvfs(path)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < _ROOM or (disk.f_files > 0 and disk.f_favail == 0)


def vector_extension() -> Path | None:
    """Path of the sqlite-vec library, found without importing its package (which would import numpy)."""
    spec = importlib.util.find_spec("sqlite_vec")
    if spec is None or spec.origin is None:
        return None
    found = sorted(Path(spec.origin).parent.glob("vec0.*"))
    return found[0] if found else None


def only_read(connection: Connection, seconds: float) -> None:
    """Let a connection run nothing but queries, for so long from now: for SQL that others wrote.

    Beyond the authorizer's reads, selections and functions each statement fails; functions that reach files do too.
    """
    connection.execute("PRAGMA query_only = 1")
    deadline = time.monotonic() + seconds
    connection.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS_PER_LOOK)
    connection.set_authorizer(_authorize_reading)


def _authorize_reading(action: int, first: str | None, second: str | None, *_: object) -> int:
    reads = action in (sqlite.SQLITE_SELECT, sqlite.SQLITE_READ, sqlite.SQLITE_RECURSIVE)
    calls = action == sqlite.SQLITE_FUNCTION and (second or "").lower() not in _REACHES_FILES
    return sqlite.SQLITE_OK if reads or calls else sqlite.SQLITE_DENY


def load_vectors(connection: Connection) -> str:
    """Load sqlite-vec into the connection and return its version.

    Raises:
        StoreError: this SQLite cannot load extensions, or the library is missing or refused.
    """
    library = vector_extension()
    if not EXTENSIONS or library is None:
        missing = "this SQLite cannot load extensions" if library else "sqlite-vec is not installed"
        raise StoreError(
            f"no vector search: {missing}", "pip install pysqlite3 sqlite-vec where wheels exist"
        )
    try:
        connection.enable_load_extension(True)
        try:
            connection.load_extension(str(library.with_suffix("")))
        finally:
            connection.enable_load_extension(False)
        return str(connection.execute("SELECT vec_version()").fetchone()[0])
    except Error as error:
        raise StoreError(f"no vector search: sqlite-vec did not load ({error})") from error
