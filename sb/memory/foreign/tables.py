"""Reads the SQLite databases of brainctl, kernle and mem0."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from sb.base.secrets.redaction import one_line
from sb.errors import StoreError, UsageError
from sb.memory.foreign.record import ForeignMemory, texts_in
from sb.store import driver

Row = Mapping[str, Any]
_HISTORY = ("memory_id", "new_memory", "event", "is_deleted", "created_at", "updated_at")


def brainctl(path: Path) -> Iterator[ForeignMemory]:
    """Memories, decisions, events and entities that brainctl has not retired (its `init_schema.sql`, 2.8)."""
    for row in _rows(path, "memories", "content", where="retired_at IS NULL AND retracted_at IS NULL"):
        yield ForeignMemory(
            f"memories/{row['id']}",
            str(row["content"] or ""),
            category=str(row.get("category") or ""),
            tags=_words(row.get("tags")),
            project=_project(row.get("scope")),
            at=row.get("created_at"),
        )
    for row in _rows(path, "decisions", "title", where="reversed_at IS NULL"):
        yield ForeignMemory(
            f"decisions/{row['id']}",
            str(row["title"] or ""),
            "decision",
            project=str(row.get("project") or ""),
            at=row.get("created_at"),
            more={"rationale": row.get("rationale")},
        )
    for row in _rows(path, "events", "summary"):
        yield ForeignMemory(
            f"events/{row['id']}",
            str(row["summary"] or ""),
            "event",
            project=str(row.get("project") or ""),
            at=row.get("created_at"),
            more={"event_type": row.get("event_type")},
        )
    for row in _rows(path, "entities", "name", where="retired_at IS NULL"):
        more = {"entity_type": row.get("entity_type"), "observations": _words(row.get("observations"))}
        yield ForeignMemory(
            f"entities/{row['id']}",
            str(row["name"] or ""),
            "entity",
            project=_project(row.get("scope")),
            at=row.get("created_at"),
            more=more,
        )


def kernle(path: Path) -> Iterator[ForeignMemory]:
    """Episodes, beliefs, values, goals and notes of every stack (kernle's `storage/schema.py`, 0.15)."""
    for row in _rows(path, "episodes", "objective", "outcome"):
        lessons = "".join(f"\n- {lesson}" for lesson in _words(row.get("lessons")))
        text = f"{row['objective']}: {row['outcome']}{lessons}"
        yield _of_kernle("episodes", row, text, "event")
    for row in _rows(path, "beliefs", "statement"):
        yield _of_kernle("beliefs", row, row["statement"])
    for row in _rows(path, "agent_values", "name", "statement"):
        yield _of_kernle("agent_values", row, f"{row['name']}: {row['statement']}", category="identity")
    for row in _rows(path, "goals", "title"):
        yield _of_kernle("goals", row, f"{row['title']}: {row.get('description') or ''}".rstrip(": "))
    for row in _rows(path, "notes", "content"):
        yield _of_kernle("notes", row, row["content"])


def _of_kernle(
    table: str, row: Row, text: Any, kind: str = "fact", *, category: str = "project"
) -> ForeignMemory:
    reference = f"{table}/{row['id']}"
    tags = _words(row.get("tags"))
    return ForeignMemory(reference, str(text or ""), kind, category, tags, at=row.get("created_at"))


def mem0_history(path: Path) -> Iterator[ForeignMemory]:
    """The newest state of each memory in mem0's `history.db` that is not deleted (mem0's `memory/storage.py`, 2.2)."""
    last: dict[str, Row] = {}
    for row in _rows(path, "history", *_HISTORY):
        last[str(row["memory_id"])] = row
    for reference, row in last.items():
        if row["event"] != "DELETE" and not row["is_deleted"]:
            at = row["updated_at"] or row["created_at"]
            yield ForeignMemory(reference, str(row["new_memory"] or ""), category="user", at=at)


def _rows(path: Path, table: str, *needed: str, where: str = "") -> Iterator[Row]:
    """The rows of a table, oldest first; none if the database has no such table.

    Args:
        needed: columns without which it is no table of that program; `id` unless `_HISTORY`.
        where: conditions; those on columns that the table lacks are left out.

    Raises:
        UsageError: it is no database, it is damaged, or the table is not as that program makes it.
    """
    import sqlite_utils

    try:
        with closing(driver.connect(path, read_only=True)) as connection:
            connection.execute("PRAGMA trusted_schema = 0")
            known = sqlite_utils.Database(connection)[table]
            if not known.exists():
                return
            columns = known.columns_dict
            if problem := _unlike(connection, table, {"id", *needed} - columns.keys()):
                raise UsageError(f"{path}: {problem}")
            condition = " AND ".join(part for part in where.split(" AND ") if part.split(" ")[0] in columns)
            yield from known.rows_where(condition or None, order_by="rowid")
    except (*driver.Failures, StoreError) as error:
        raise UsageError(f"{path}: cannot be read as a database: {one_line(error, 100)}") from None


def _unlike(connection: driver.Connection, table: str, missing: set[str]) -> str:
    """The difference of a table from those that programs store memories in; "" for none.

    Views, virtual tables and computed columns run whatever the file's author wrote, for as long as they like.
    """
    made = connection.execute("SELECT type, sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    if made is None or made[0] != "table" or str(made[1]).upper().startswith("CREATE VIRTUAL"):
        return f"{table} is no plain table"
    if missing:
        return f"its table {table} has no {', '.join(sorted(missing))}"
    hidden = connection.execute(
        "SELECT name FROM pragma_table_xinfo(?) WHERE hidden > 0", (table,)
    ).fetchone()
    return f"{table}.{hidden[0]} is computed, not stored" if hidden else ""


def _words(value: Any) -> tuple[str, ...]:
    """The texts of a JSON list; of any other text itself."""
    try:
        return texts_in(json.loads(value) if isinstance(value, str) and value[:1] == "[" else value)
    except (ValueError, RecursionError):
        return (str(value),)


def _project(scope: Any) -> str:
    text = str(scope or "")
    return text.removeprefix("project:") if text.startswith("project:") else ""
