"""Files of credentials that a file tool would replace or delete: it asks, as a command line does."""

from __future__ import annotations

import os
import re
import stat

from sb.hosts.hooks.calls.reading import texts
from sb.hosts.hooks.event import NativeCall
from sb.shell.credentials.files import PRIVATE, secret_path
from sb.shell.places.sensitive import folded

_OLD_TEXT = re.compile(r"(?i)old_?(?:str(?:ing)?|text)")
_PATCH_REPLACES = re.compile(r"(?m)^[^\S\n]*\*\*\* (?:Add|Delete) File:|^[^\S\n]*\*\*\* Move to:")
_PATCH = "*** Update File:"


def holds_credentials(path: str) -> bool:
    """True if a real path is a file of credentials with something in it."""
    secret = secret_path(folded(path))
    if secret is None or secret.kind == PRIVATE:
        return False
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size > 0


def edits_named_text(call: NativeCall) -> bool:
    """True if a file tool only puts in something, or replaces a text that it names, and keeps the rest of a file."""
    given = call.args
    if call.tool == "str_replace_editor" and given.get("command") == "insert":
        return True
    edits = given.get("edits")
    rows = [row for row in edits if isinstance(row, dict)] if isinstance(edits, list) else [given]
    named = [any(_OLD_TEXT.fullmatch(name) and value for name, value in row.items()) for row in rows]
    if named and all(named):
        return True
    patch = "\n".join(texts(given))
    return _PATCH in patch and _PATCH_REPLACES.search(patch) is None
