"""Judge SQL statements."""

from __future__ import annotations

import re

from sb.shell.rules import DESTROY, WRITE, Finding, highest
from sb.shell.words import UNKNOWN, compiled, is_literal

_SQL_QUIET = r"--[^\n]*|/\*.*?(?:\*/|\Z)|'(?:[^']|'')*(?:'|\Z)|\"[^\"]*(?:\"|\Z)"
_SQL_WORD = r"[a-z_]+"
_SQL_DESTROYS = frozenset(("drop", "truncate", "vacuum_full", "flushall", "program", "purge"))
_SQL_READS = frozenset(
    ("select", "explain", "show", "describe", "desc", "pragma", "values", "with", "table", "analyze")
)
_SQL_CHANGES = frozenset(
    (
        "insert",
        "update",
        "delete",
        "create",
        "alter",
        "replace",
        "merge",
        "grant",
        "revoke",
        "attach",
        "copy",
        "call",
    )
)


def sql(text: str, name: str, floor: Finding) -> Finding:
    """Judge SQL statements.

    Args:
        floor: the finding for the client without statements.
    """
    if not is_literal(text) and text.startswith(UNKNOWN):
        return Finding(DESTROY, f"{name}: the statements are unknown until they run")
    found = floor
    for statement in compiled(_SQL_QUIET, re.DOTALL).sub(" ", text.lower()).split(";"):
        words = compiled(_SQL_WORD).findall(statement)
        known = set(words)
        if hits := known & _SQL_DESTROYS:
            return Finding(DESTROY, f"{name} {min(hits).upper()}: destroys data")
        if known & {"delete", "update"} and "where" not in known and not known & {"create", "grant"}:
            return Finding(DESTROY, f"{name}: changes every row")
        if words and (
            words[0] not in _SQL_READS or known & _SQL_CHANGES or "into" in known or "writefile" in known
        ):
            found = highest(found, Finding(WRITE, f"{name} {words[0].upper()}: changes data"))
    return found
