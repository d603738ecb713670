"""The keys of encrypted databases, read from where a reference says; for SQLCipher.

A key is 32 bytes in hexadecimal and used as it is: deriving one from a password takes SQLCipher 0.1 s for every connection.
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

from sb.base.secrets.sources import fetch
from sb.config import database_key
from sb.errors import StoreError

_KEY = re.compile(r"[0-9a-fA-F]{64}")
_HINT = "the setting database_key says where it is"


def references_for(path: str | Path) -> tuple[str, ...]:
    """The references of the keys that may open a database; of a new one, which is empty, its own alone.

    The file itself is not looked into: to close it again would give up the locks that this process holds on it.
    """
    known = database_key.references()
    own = database_key.reference_of(path) if known else ""
    if own:
        return (own,)
    try:
        return known if os.stat(path).st_size else ()
    except OSError:  # opening it says what is wrong
        return ()


def read_key(reference: str) -> str:
    """The key that a reference names; a command is run once in a process.

    Raises:
        StoreError: it is not there, others may read its file, or it is none; what was found is not said.
    """
    kind, _, place = reference.partition(":")
    value, problem = _printed(place) if kind == "command" else fetch(kind, place)
    key = value.strip()
    if problem:
        raise StoreError(f"cannot read the database's key: {problem}", _HINT)
    if not _KEY.fullmatch(key):
        what = "is empty" if not key else "is not 64 hexadecimal digits"
        raise StoreError(
            f"the database's key in {reference} {what}", f"{_HINT}; openssl rand -hex 32 makes one"
        )
    return key.lower()


@cache
def _printed(command: str) -> tuple[str, str]:
    return fetch("command", command)
