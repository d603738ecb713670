"""Judge SQL statements."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sb.shell.parsing.words import UNKNOWN, compiled, is_literal
from sb.shell.programs.rules import DESTROY, QUIET, WRITE, Finding, highest

if TYPE_CHECKING:
    from sb.shell.judge import Judge

_SQL_QUIET = r"--[^\n]*|/\*.*?(?:\*/|\Z)|'(?:[^']|'')*(?:'|\Z)|\"[^\"]*(?:\"|\Z)"
# The name under which a loss in one file of SQLite is asked about, and statements that reach another one.
OF_SQLITE, _IN_MEMORY, _LEAVES = "sqlite:", ":memory:", r"(?im)\b(?:attach|load_extension|writefile)\b|^\s*\."
_SQL_WORD, _SQL_NO_WORD = r"[a-z_]+", r"\W"
# What ends a condition, and a column that is compared with itself.
_ENDS = r"\b(?:returning|order\s+by|limit|on\s+conflict)\b"
_ITSELF = r"(?<![\w.])([\w.]+)\s*(?:[<>]?=|is\s+not\s+distinct\s+from|like)\s*\1(?![\w.(])"
_NO_COLUMNS = frozenset(
    "and or not true false null is in like between exists select distinct any all some unknown on off yes no".split()
)
_SQL_DESTROYS = frozenset(("drop", "truncate", "vacuum_full", "flushall", "program", "purge"))
_SQL_READS = frozenset(
    ("select", "explain", "show", "describe", "desc", "pragma", "values", "with", "table", "analyze")
)
_SQL_CHANGES = frozenset(
    "insert update delete create alter replace merge grant revoke attach copy call".split()
)
_NO_BRACKETS = str.maketrans("()", "  ")


def sql(text: str, name: str, floor: Finding) -> Finding:
    """Judge SQL statements.

    Args:
        floor: the finding for the client without statements.
    """
    if not is_literal(text) and text.startswith(UNKNOWN):
        return Finding(DESTROY, f"{name}: the statements are unknown until they run")
    found = floor
    for statement in compiled(_SQL_QUIET, re.DOTALL).sub(_placeholder, text.lower()).split(";"):
        words = compiled(_SQL_WORD).findall(statement)
        known = set(words)
        if hits := known & _SQL_DESTROYS:
            return Finding(DESTROY, f"{name} {min(hits).upper()}: destroys data")
        changes_rows = known & {"delete", "update"} and not known & {"create", "grant"}
        if changes_rows and ("where" not in known or _holds_for_all(statement)):
            return Finding(DESTROY, f"{name}: changes every row")
        if words and (
            words[0] not in _SQL_READS or known & _SQL_CHANGES or "into" in known or "writefile" in known
        ):
            found = highest(found, Finding(WRITE, f"{name} {words[0].upper()}: changes data"))
    return found


def of_file(judge: Judge, path: str, text: str, name: str) -> Finding:
    """Judge statements for a file of SQLite: what they destroy is in it alone, unless they name another one.

    Args:
        path: of the file, as the line writes it.
    """
    found = sql(text, name, QUIET)
    if found.rank != DESTROY or not (is_literal(text) and is_literal(path)) or compiled(_LEAVES).search(text):
        return found
    if path != _IN_MEMORY:
        places = judge.paths.now(path)
        if path.startswith("file:") or len(places) != 1 or not judge.comes_back((OF_SQLITE, *places)):
            return found
    return Finding(WRITE, found.reason)


def _placeholder(quoted: re.Match[str]) -> str:
    """A number for a text, a name for what MySQL alone takes for one, and a blank for a comment."""
    if quoted[0][0] == '"':
        return f"_{compiled(_SQL_NO_WORD).sub('_', quoted[0][1:-1])}"
    return " 0 " if quoted[0][0] == "'" else " "


def _holds_for_all(statement: str) -> bool:
    """True if a condition is true of every row as it is written: a part of it names no column, or compares one with itself.

    Brackets do not count, so that `a and (b or true)` is among them.
    """
    for clause in compiled(r"\bwhere\b").split(statement)[1:]:
        condition = compiled(_ENDS).split(clause)[0].translate(_NO_BRACKETS)
        for part in compiled(r"\bor\b").split(compiled(_ITSELF).sub(" ", condition)):
            if not set(compiled(r"[a-z_]\w*").findall(part)) - _NO_COLUMNS:
                return True
    return False
