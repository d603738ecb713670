"""Write the memory as a table, in CSV for spreadsheets or in JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson

from sb.base.sources import iso
from sb.base.spreadsheet import csv_line
from sb.memory.bundles import chosen, exported, new_file
from sb.memory.space import Space
from sb.memory.views import Memory
from sb.store import driver

FORMATS = ("csv", "json")
COLUMNS = (
    "id", "kind", "content", "category", "scope", "agent_id", "private", "source_type", "confidence", "strength",
    "happened_at", "created_at", "session", "speaker", "tags", "details", "restated",
)  # fmt: skip
_TIMES = ("happened_at", "created_at")


def write(
    space: Space, path: Path, format_: str, *, stack: str, scopes: Sequence[str] = (), agent: str = ""
) -> int:
    """Write the active memories of a stack into one new file, oldest first; their number.

    Reads through a connection of its own that cannot write, so agents are not kept waiting.

    Args:
        format_: one of FORMATS.
        scopes: only these; all of them if there are none.
        agent: only what this agent may read; "" for operators, who may read everything.

    Raises:
        NotFoundError: nothing is kept there. UsageError: the file is there already, or cannot be written.
        StoreError: the database cannot be read.
    """
    space = space.seen_by(agent, stack)
    places = tuple(chosen(space, stack, scopes, agent))
    written = 0

    def items() -> Iterator[dict[str, Any]]:
        nonlocal written
        for row in _rows(space, places):
            written += 1
            yield _item(space.whole_memory(row))

    with new_file(path) as file:
        file.writelines(_csv(items()) if format_ == "csv" else _json(items()))
    return written


def _rows(space: Space, places: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    """The rows of these places, read by sqlite-utils."""
    from sqlite_utils import Database  # takes 0.15 s of CPU, as it imports numpy where that is installed

    condition, named = exported(space, places)
    marks = ", ".join("?" * len(places))
    sql = f"SELECT r.* FROM records AS r WHERE r.place IN ({marks}) AND r.state = 'active' AND {condition} ORDER BY r.id"
    with closing(driver.connect(space.database.path, read_only=True)) as connection:
        # Plugins of sqlite-utils are code of others, which would be handed the connection.
        database = Database(connection, recursive_triggers=False, execute_plugins=False)
        try:
            yield from database.query(sql, (*places, *named))
        except driver.Error as error:
            raise driver.explain(error, space.database.path) from error


def _item(memory: Memory) -> dict[str, Any]:
    item = memory.as_json()
    return {name: iso(item[name]) if name in _TIMES else item[name] for name in COLUMNS}


def _json(items: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    """A JSON array with one memory on each line."""
    before = b"[\n"
    for item in items:
        yield before + orjson.dumps(item)
        before = b",\n"
    yield b"[]\n" if before == b"[\n" else b"\n]\n"


def _csv(items: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    """A heading, then one memory on each line (RFC 4180)."""
    yield csv_line(COLUMNS).encode()
    for item in items:
        yield csv_line([item[name] for name in COLUMNS]).encode()
