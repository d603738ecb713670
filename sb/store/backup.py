"""Back up the database while others write to it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from sb.config import database_key
from sb.errors import StoreCorrupt, StoreError
from sb.store import driver
from sb.store.database import Database

_PAGES_AT_ONCE = 256


def back_up(database: Database, target: Path, *, progress: Callable[[int, int], object] | None = None) -> int:
    """Copy the database into a new file, checked before it gets its name.

    Args:
        target: must not exist.
        progress: called with the pages that are copied and the pages in all.

    Returns:
        The copy's size in bytes.

    Raises:
        StoreError: the copy could not be made, or did not pass its integrity check; nothing is left behind.
    """
    if target.exists():
        raise StoreError(f"{target} exists already", "choose another name; a backup never overwrites")
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    except (OSError, ValueError) as error:
        raise StoreError(f"cannot make the folder {target.parent}: {error}") from None
    try:
        os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        if database.encrypted:  # the copy is under the same key
            database_key.register(partial, database_key.reference_of(database.path))
        _copy(database, partial, progress)
        os.link(partial, target)
    except OSError as error:
        raise StoreError(f"cannot write the backup {target}: {error.strerror}") from None
    finally:
        partial.unlink(missing_ok=True)
        database_key.register(partial, database_key.NONE)
    return target.stat().st_size


def _copy(database: Database, partial: Path, progress: Callable[[int, int], object] | None) -> None:
    copy = driver.connect(partial)
    try:
        with database.snapshot() as source:
            callback = (lambda _status, left, total: progress(total - left, total)) if progress else None
            source.backup(copy, pages=_PAGES_AT_ONCE, progress=callback)
        copy.execute("PRAGMA journal_mode = DELETE")  # one file, complete by itself
        problems = copy.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if problems != "ok":
            raise StoreCorrupt(f"the copy is damaged: {problems}", "the database itself is: sb doctor")
    except driver.Error as error:
        raise driver.explain(error, partial) from error
    finally:
        copy.close()
    with partial.open("rb") as file:
        os.fsync(file.fileno())


def back_up_files(sources: Sequence[Path], folder: Path) -> list[Path]:
    """Copy files and folders that exist into `folder`; returns the copies.

    Raises:
        StoreError: one could not be copied.
    """
    copies = []
    for source in sources:
        target = folder / source.name
        try:
            if source.is_dir():
                shutil.copytree(source, target, symlinks=True)
            elif source.exists():
                shutil.copy2(source, target)
            else:
                continue
        except (OSError, shutil.Error) as error:
            raise StoreError(f"cannot copy {source}: {error}") from None
        copies.append(target)
    return copies
