"""Encrypt a database, or decrypt it: written anew beside it, compared row by row, and put in its place.

Until the new file has the name, the old one is as it was; whoever is killed leaves one of the two and maybe a partial file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from sb.errors import StoreCorrupt, StoreError, StoreLocked
from sb.store import driver, keys

_PARTIAL = ".converting"
# What a process that waits for the former file finds in it then: a schema that it cannot use.
_REPLACED = 2**31 - 1


def convert(path: Path, *, old_key: str, new_key: str) -> int:
    """Write a database anew under another key, "" for none; returns its size in bytes.

    Args:
        path: no process has it open.

    Raises:
        StoreLocked: some process has. StoreError: it could not be read, written, or was not the same; it is as it was.
    """
    for left in path.parent.glob(f".{path.name}.*{_PARTIAL}"):
        left.unlink()
    partial = path.with_name(f".{path.name}.{os.getpid()}{_PARTIAL}")
    connection = driver.connect_encrypted(path, old_key)
    try:
        _take_alone(connection, path)
        driver.load_vectors(connection)
        os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        _copy(connection, partial, new_key)
        _check(connection)
        connection.execute("DETACH DATABASE target")
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(partial, path)
        _sync_folder(path.parent)
        connection.execute(f"PRAGMA user_version = {_REPLACED}")
    except driver.Error as error:
        raise driver.explain(error, path) from error
    except OSError as error:
        raise StoreError(
            f"cannot write {partial}: {error.strerror}", "free some space; nothing was changed"
        ) from None
    finally:
        connection.close()
        partial.unlink(missing_ok=True)
    return path.stat().st_size


def _take_alone(connection: driver.Connection, path: Path) -> None:
    """Keep every other process out until the connection is closed; leaving the write-ahead log needs that nobody is in."""
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        mode = connection.execute("PRAGMA journal_mode = DELETE").fetchone()[0]
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("COMMIT")
        # From here on in memory: a journal beside the new file would pass for one of that.
        connection.execute("PRAGMA journal_mode = MEMORY")
    except driver.Error as error:
        if not driver.is_busy(error):
            raise
        mode = "wal"
    if mode != "delete":
        raise StoreLocked(
            f"database {path} is open in another process",
            "end the console and the agents' sessions, then try again",
        )


def _copy(connection: driver.Connection, partial: Path, key: str) -> None:
    connection.execute("ATTACH DATABASE ? AS target KEY ?", (str(partial), driver.raw_key(key)))
    connection.execute("SELECT sqlcipher_export('target')")
    for setting in ("user_version", "application_id"):
        value = connection.execute(f"PRAGMA main.{setting}").fetchone()[0]
        connection.execute(f"PRAGMA target.{setting} = {int(value)}")


def _check(connection: driver.Connection) -> None:
    """Raise StoreCorrupt unless both hold the same, row by row with their numbers."""
    schemas = [list(connection.execute(f"SELECT type, name, tbl_name, sql FROM {item}.sqlite_schema ORDER BY 1, 2"))
               for item in ("main", "target")]  # fmt: skip
    if schemas[0] != schemas[1]:
        raise StoreCorrupt("the copy has another schema", "nothing was changed")
    for table, columns in _tables(connection):
        sides = (connection.execute(f'SELECT {columns} FROM {item}."{table}"') for item in ("main", "target"))
        if any(item != other for item, other in zip_longest(*sides)):
            raise StoreCorrupt(f"the copy differs in {table}", "nothing was changed")
    problem = connection.execute("PRAGMA target.integrity_check(1)").fetchone()[0]
    if problem != "ok":
        raise StoreCorrupt(f"the copy is damaged: {problem}", "nothing was changed")


def _tables(connection: driver.Connection) -> Iterator[tuple[str, str]]:
    """The tables that hold rows themselves, with what to read of each."""
    listed = connection.execute(
        "SELECT name, type, wr FROM pragma_table_list WHERE schema = 'main'"
    ).fetchall()
    for name, kind, without_rowid in listed:
        if kind in ("table", "shadow") and name not in ("sqlite_schema", "sqlite_temp_schema"):
            yield name, "*" if without_rowid else "_rowid_, *"


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def encrypt(path: Path, reference: str) -> int:
    """Encrypt a database under the key that a reference names; raises as `convert`, or if it is encrypted already."""
    if _is_encrypted(path):
        raise StoreError(f"database {path} is encrypted already, or no database", "sb doctor says which")
    return convert(path, old_key="", new_key=keys.read_key(reference))


def decrypt(path: Path, reference: str) -> int:
    """Decrypt a database under the key that a reference names; raises as `convert`, or if it is not encrypted."""
    if not _is_encrypted(path):
        raise StoreError(f"database {path} is not encrypted", "sb doctor says so too")
    return convert(path, old_key=keys.read_key(reference), new_key="")


def _is_encrypted(path: Path) -> bool:
    try:
        driver.connect_encrypted(path, "").close()
    except driver.WrongKey:
        return True
    return False
