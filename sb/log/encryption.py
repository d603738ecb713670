"""Encrypt or decrypt the database, and log it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sb.log import kinds
from sb.log.event_log import EventLog
from sb.store import encryption

STORE_ENCRYPTED = "store.encrypted"
STORE_DECRYPTED = "store.decrypted"
kinds.register(STORE_ENCRYPTED, "A person encrypted the database")
kinds.register(STORE_DECRYPTED, "A person decrypted the database")


def encrypt(database: Path, reference: str, *, by: str, log: Callable[[], EventLog]) -> int:
    """Encrypt a database under the key that a reference names; returns the size of the file in bytes.

    Args:
        by: who does it. log: opens the log of the database.

    Raises:
        StoreError: as `sb.store.encryption.encrypt`.
    """
    size = encryption.encrypt(database, reference)
    _put(log(), STORE_ENCRYPTED, reference, by, size)
    return size


def decrypt(database: Path, reference: str, *, by: str, log: Callable[[], EventLog]) -> int:
    """Decrypt a database under the key that a reference names; as `encrypt` otherwise."""
    size = encryption.decrypt(database, reference)
    _put(log(), STORE_DECRYPTED, reference, by, size)
    return size


def _put(log: EventLog, kind: str, reference: str, by: str, size: int) -> None:
    # Of a command only that it is one: its words may be anything.
    where = reference.partition(":")[0] if reference.startswith("command:") else reference
    log.append(kind, {"by": by, "key": where}, trusted={"bytes": size})
    log.close()
