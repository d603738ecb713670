"""Import a stack from a file: a JSON dump into a new stack, or a database that holds the same one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import orjson

from sb.base.values.frozen import frozen
from sb.config import Config
from sb.errors import NotFoundError, UsageError
from sb.memory.bundle_import import IMPORT
from sb.memory.views import View
from sb.stack.catalogue import stack_names
from sb.stack.sqlite_stack import SQLiteStack
from sb.store.backup import back_up
from sb.store.database import Database, open_database

_DATABASE = b"SQLite format 3\0"  # how such a file begins


@frozen
class ImportedStack(View):
    """The result of an import.

    Args:
        memories: how many. conflicts: how many were changed here and there, and wait for somebody to choose.
        quarantined: how many of the memories wait for an operator's release.
        notes: what people have to be told, one line each.
    """

    stack_id: str
    memories: int
    conflicts: int
    quarantined: int = 0
    notes: tuple[str, ...] = ()


def take_in(database: Database, config: Config, path: Path, stack_id: str = "", **more: Any) -> ImportedStack:
    """Read a file that `SQLiteStack.dump` or `export_stack` wrote. What nobody of this home sealed is quarantined.

    Args:
        stack_id: its name here, or of several in a database which one; by default the file's own.
        more: other arguments of `SQLiteStack`.

    Raises:
        UsageError: the file is neither, or does not say which stack is meant. NotFoundError: it has none of that name.
        ValueError: a dump cannot be kept as it is, or its stack belongs to a core here already.
        CheckFailed, DeniedError: as `SQLiteStack.sync`. Nothing was taken in then.
    """
    try:
        with path.open("rb") as file:
            begins = file.read(len(_DATABASE))
            text = begins if begins == _DATABASE else begins + file.read()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    if begins == _DATABASE:
        return _from_database(database, config, path, stack_id, more)
    with SQLiteStack(stack_id or _named(path, text), database=database, config=config, **more) as stack:
        stack.view_as_operator()
        counts = stack.load_dump(text.decode("utf-8", "replace"), IMPORT)
        number = sum(counts.values())
        quarantined = number if IMPORT in config.memory.quarantine else 0
        return ImportedStack(stack.stack_id, number, 0, quarantined)


def _named(path: Path, text: bytes) -> str:
    """Returns the stack that a dump belongs to."""
    try:
        return str(orjson.loads(text)["stack_id"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise UsageError(
            f"{path} is neither a JSON dump of a stack nor a database", "sb stack export writes both"
        ) from None


def _from_database(
    database: Database, config: Config, path: Path, stack_id: str, more: dict[str, Any]
) -> ImportedStack:
    if os.path.realpath(path) == os.path.realpath(database.path):
        raise UsageError(f"{path} is this database itself", "name another file")
    with tempfile.TemporaryDirectory(prefix="sb-import-") as folder:
        copy = Path(folder) / "stack.db"  # the file stays as it is
        other = open_database(path, create=False, read_only=True)
        try:
            known = stack_names(other)
            back_up(other, copy)
        finally:
            other.close()
        if stack_id and stack_id not in known:
            raise NotFoundError(f"{path} has no stack {stack_id!r}", f"it has {', '.join(known) or 'none'}")
        if not stack_id and len(known) != 1:
            raise UsageError(f"{path} has {len(known)} stacks: name one", ", ".join(known))
        name = stack_id or known[0]
        with SQLiteStack(name, database=database, config=config, remote=copy, **more) as stack:
            stack.view_as_operator()
            found, quarantined = stack.synchroniser.take_in(os.path.realpath(path))
        if found.errors:
            raise UsageError(f"cannot read {path}: {'; '.join(found.errors)}")
        return ImportedStack(stack.stack_id, found.pulled, found.conflicts, quarantined, tuple(found.notes))
