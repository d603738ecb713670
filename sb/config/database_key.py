"""Where this process finds the key of an encrypted database: the references of its configurations, never a key."""

from __future__ import annotations

import os
from pathlib import Path

# A reference names an environment variable, a file, or a command that prints the key.
REFERENCE = r"env:[A-Za-z_]\w*|file:(?:/|~/)[^\n]+|command:[^\n]+"
NONE = "none"  # the setting of a database that has no key
_known: dict[str, str] = {}  # by the real path of a database


def register(database: Path, reference: str) -> None:
    """Note which key a configuration names for its database; `NONE` for none."""
    path = os.path.realpath(database)
    if reference != NONE:
        _known[path] = reference
    else:
        _known.pop(path, None)


def reference_of(database: str | Path) -> str:
    """The reference of a database's key; "" if none was registered for it."""
    return _known.get(os.path.realpath(database), "") if _known else ""


def references() -> tuple[str, ...]:
    """All references that were registered, each once: copies of a database are opened with them too."""
    return tuple(dict.fromkeys(_known.values())) if _known else ()
