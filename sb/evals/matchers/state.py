"""Matchers of what a run left behind: records of the kernel's database, and files."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from sb.base.located import unfilled
from sb.base.reading import (
    Field,
    Kind,
    Place,
    anything,
    choice,
    describe,
    flag,
    integer,
    items,
    mapping,
    one_or_more,
    record,
    text,
)
from sb.base.text import counted, human_bytes
from sb.errors import StoreError
from sb.evals.answer import Answer
from sb.evals.matchers.kinds import Judge, MatcherKind, quote, verdict
from sb.evals.suite import Match
from sb.kernel.trajectory_eval.arguments import equal
from sb.store import driver

SECONDS = 2.0  # for a query
MOST_ROWS = 10_000
MOST_READ = 64 * 1024 * 1024  # characters and bytes of all rows
MOST_BYTES = 4 * 1024 * 1024  # of a file


class TooMuch(Exception):
    """A query that gives more rows than are compared."""


def query(database: Path, sql: str, parameters: Sequence[Any] | Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """The rows of a query that can only read.

    Raises:
        StoreError: the database cannot be opened. driver.Error: the query is wrong, takes longer than SECONDS, or would
            do anything but read. driver.SeveralStatements: it is more than one. TooMuch: it gives more than MOST_ROWS
            or MOST_READ.
    """
    connection = driver.connect(database, read_only=True)
    try:
        driver.only_read(connection, SECONDS)
        rows: list[tuple[Any, ...]] = []
        size = 0
        for row in connection.execute(
            sql, dict(parameters) if isinstance(parameters, Mapping) else parameters
        ):
            rows.append(tuple(row))
            size += sum(len(cell) for cell in row if isinstance(cell, str | bytes))
            if len(rows) > MOST_ROWS or size > MOST_READ:
                raise TooMuch
        return rows
    finally:
        connection.close()


def _state(values: dict[str, Any], place: Place) -> Judge:
    if ("sql" in values) == ("records" in values):
        raise place.refuse("needs sql or records, and not both")
    if ("equals" in values) == ("count" in values):
        raise place.refuse("needs equals or count, and not both")
    if "records" in values and "params" in values:
        raise place.refuse("params are those of sql")
    sql, parameters = values.get("sql", ""), values.get("params", ())
    if "records" in values:
        sql, parameters = _records_query(values["records"])

    def judge(answer: Answer) -> Match:
        if answer.database is None or not answer.database.exists():
            return Match(False, "the agent's kernel has no database")
        try:
            rows = query(answer.database, sql, parameters)
        except TooMuch:
            return Match(False, f"the query gives more than {MOST_ROWS:,} rows or {human_bytes(MOST_READ)}")
        except (driver.Error, driver.SeveralStatements, StoreError, OverflowError) as error:
            return Match(False, f"the query cannot be run: {quote(str(error))}")
        if "count" in values:
            return verdict(
                len(rows) == values["count"], f"{counted(len(rows), 'row')}, expected {values['count']}"
            )
        plain = _plain(rows)
        return verdict(
            equal(values["equals"], plain), f"expected {quote(values['equals'])} got {quote(plain)}"
        )

    return judge


def _plain(rows: Sequence[tuple[Any, ...]]) -> Any:
    """One value as it is, a column as a list, else a list of lists; bytes as text."""
    listed = [
        [cell.decode("utf-8", "replace") if isinstance(cell, bytes) else cell for cell in row] for row in rows
    ]
    if listed and all(len(row) == 1 for row in listed):
        return listed[0][0] if len(listed) == 1 else [row[0] for row in listed]
    return listed


_STATES = ("active", "forgotten", "quarantined", "superseded", "erased")
_RECORD_FIELDS = (
    Field("contains", one_or_more(text()), "Texts that the record's text has; capitals do not count."),
    Field("kind", text(), "Such as fact, lesson or decision."),
    Field("state", choice(*_STATES), "active by default, forgotten, quarantined, superseded or erased."),
    Field("scope", text(), "Such as global or project:shop."),
    Field("agent", text(), "Who wrote it."),
)


_RECORDS: Kind[dict[str, Any]] = record(_RECORD_FIELDS, lambda values, place: values)


def _records_query(wanted: Mapping[str, Any]) -> tuple[str, tuple[Any, ...]]:
    conditions, parameters = ["r.state = ?"], [wanted.get("state", "active")]
    for name, column in (("kind", "r.kind"), ("scope", "p.scope"), ("agent", "r.agent")):
        if name in wanted:
            conditions.append(f"{column} = ?")
            parameters.append(wanted[name])
    for part in wanted.get("contains", ()):
        conditions.append("instr(lower(r.text), lower(?)) > 0")
        parameters.append(part)
    where = " AND ".join(conditions)
    sql = f"SELECT r.text FROM records AS r JOIN places AS p ON p.id = r.place WHERE {where} ORDER BY r.id"
    return sql, tuple(parameters)


def relative_path() -> Kind[str]:
    """A path below a case's folder."""
    plain = text()

    def read(value: Any, place: Place) -> str:
        path = plain.read(value, place)
        parts = PurePosixPath(path)
        if parts.is_absolute() or ".." in parts.parts or "\0" in path or "\\" in path or not parts.parts:
            raise place.refuse(
                f"{quote(path)} is not below the case's folder", "write a relative path, such as src/a.py"
            )
        return path

    return Kind(read, plain.schema)


def _file(values: dict[str, Any], place: Place) -> Judge:
    demands = [name for name in ("exists", "contains", "equals") if name in values]
    if len(demands) != 1:
        raise place.refuse("needs one of exists, contains and equals")

    def judge(answer: Answer) -> Match:
        if answer.folder is None:
            return Match(False, "the agent has no folder")
        content, problem = _content(answer.folder, values["path"])
        name = quote(values["path"])
        if "exists" in values:
            there = content is not None or problem != _ABSENT
            return verdict(there is values["exists"], f"{name} {'exists' if there else _ABSENT}")
        if content is None:
            return Match(False, f"{name} {problem}")
        if "equals" in values:
            return verdict(content == values["equals"], f"{name} holds {quote(content)}")
        missing = [quote(part) for part in values["contains"] if part not in content]
        return verdict(not missing, f"no {' and no '.join(missing)} in {name}: {quote(content)}")

    return judge


_ABSENT = "does not exist"


def _content(folder: Path, path: str) -> tuple[str | None, str]:
    """The text of a file in the folder, or what is wrong with it. Links that lead out of the folder are not followed."""
    try:
        whole = (folder / path).resolve()
        if not whole.is_relative_to(folder.resolve()):
            return None, "is a link out of the folder"
        handle = os.open(whole, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except (FileNotFoundError, NotADirectoryError):
        return None, _ABSENT
    except (OSError, RuntimeError, ValueError) as error:
        return None, f"cannot be read: {getattr(error, 'strerror', None) or error}"
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None, "is no regular file"
        with open(handle, "rb", closefd=False) as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        return None, f"cannot be read: {error.strerror}"
    finally:
        os.close(handle)
    if len(data) > MOST_BYTES:
        return None, f"is larger than {human_bytes(MOST_BYTES)}"
    return data.decode("utf-8", "replace"), ""


def _parameters() -> Kind[Any]:
    listed, by_name = items(_cell(), least=0), mapping(_cell())

    def read(value: Any, place: Place) -> Any:
        return listed.read(value, place) if isinstance(value, list) else by_name.read(value, place)

    return Kind(read, {"anyOf": [listed.schema, by_name.schema]})


def _cell() -> Kind[Any]:
    def read(value: Any, place: Place) -> Any:
        value = unfilled(value)
        huge = isinstance(value, int) and not -(2**63) <= value < 2**63
        if huge or not isinstance(value, str | int | float | None):
            raise place.refuse(f"must be a text, a number or null, not {describe(value)}")
        return value

    return Kind(read, {"type": ["string", "number", "boolean", "null"]})


KINDS = (
    MatcherKind(
        "state",
        "A query over the database of the agent's kernel gives this. It can only read, for 2 seconds.",
        (
            Field("sql", text(), "A SELECT; values go to params."),
            Field("params", _parameters(), "What stands for ? or :name in the query."),
            Field("records", _RECORDS, "In place of sql: memories, by what they say and are."),
            Field("equals", anything(), "One value, a list of values for a column, or a list of rows."),
            Field("count", integer(0, MOST_ROWS), "How many rows."),
        ),
        _state,
    ),
    MatcherKind(
        "file",
        "A file of the agent's working folder is there, or holds a text.",
        (
            Field("path", relative_path(), "Below the working folder.", required=True),
            Field("exists", flag(), "Whether it is there."),
            Field("contains", one_or_more(text()), "A text, or a list of texts, all in the file."),
            Field("equals", text(empty=True), "The whole text."),
        ),
        _file,
    ),
)
