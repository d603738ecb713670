"""The keys of encrypted databases, read from where a reference says; for SQLCipher.

A key is 32 bytes in hexadecimal and used as it is: deriving one from a password takes SQLCipher 0.1 s for every connection.
"""

from __future__ import annotations

import os
import re
import shlex
from functools import cache
from pathlib import Path

from sb.config import database_key
from sb.errors import StoreError

_KEY = re.compile(r"[0-9a-fA-F]{64}")
_PATIENCE_S = 10  # for a command that prints a key
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
    """The key that a reference names.

    Raises:
        StoreError: it is not there, or is none; what was found is not said.
    """
    kind, _, name = reference.partition(":")
    if kind == "env":
        key = os.environ.get(name, "")
    else:
        key = _from_file(name) if kind == "file" else _from_command(name)
    key = key.strip()
    if not _KEY.fullmatch(key):
        what = "is empty" if not key else "is not 64 hexadecimal digits"
        raise StoreError(
            f"the database's key in {reference} {what}", f"{_HINT}; openssl rand -hex 32 makes one"
        )
    return key.lower()


def _from_file(name: str) -> str:
    try:
        return Path(name).expanduser().read_text(encoding="utf-8")
    except (OSError, RuntimeError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it holds no text"
        raise StoreError(f"cannot read the database's key in file:{name}: {reason}", _HINT) from None


@cache
def _from_command(command: str) -> str:
    """What a command prints; run once in a process."""
    import subprocess

    try:
        done = subprocess.run(
            shlex.split(command), capture_output=True, text=True, timeout=_PATIENCE_S, check=True
        )
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise StoreError(
            f"cannot get the database's key: command:{command} failed ({type(error).__name__})", _HINT
        ) from None
    return done.stdout
