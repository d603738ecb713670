"""Migrate a database's schema to this version.

Migrations are numbered SQL files. What each of them makes is found by replaying them in memory, so a database
can be compared object by object with what it should be:

applied         recorded, and everything it makes is there unchanged
needs-apply     not recorded, and nothing it makes is there
likely-applied  not recorded, but all it makes is there: only the record is missing
partial         not recorded, and some of what it makes is there
drifted         recorded, but something it makes is missing or was changed
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from sb.base.sources import iso
from sb.errors import SchemaMismatch
from sb.store import driver

Query = Callable[[str], list[tuple[Any, ...]]]
Execute = Callable[..., Any]
Schema = dict[str, str]  # object name -> its SQL

_LEDGER = """CREATE TABLE schema_migrations (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    digest TEXT NOT NULL,
    applied_at TEXT NOT NULL
) STRICT"""


class Migration(NamedTuple):
    number: int
    name: str
    sql: str

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()


class MigrationStatus(NamedTuple):
    """One line of `sb migrate --status`; `differing` names the objects that are missing or changed."""

    number: int
    name: str
    state: str
    differing: tuple[str, ...] = ()


@cache
def shipped() -> tuple[Migration, ...]:
    """The migrations of this version, in order."""
    files = sorted((Path(__file__).parent / "migrations").glob("*.sql"))
    return tuple(
        Migration(int(file.name[:4]), file.name[5:-4], file.read_text(encoding="utf-8")) for file in files
    )


def latest() -> int:
    return shipped()[-1].number


@cache
def statements(sql: str) -> tuple[str, ...]:
    """The single statements of a script; a trigger's body stays whole."""
    found, pending = [], ""
    for line in sql.splitlines(keepends=True):
        pending += line
        if driver.complete_statement(pending):
            found.append(pending.strip())
            pending = ""
    if pending.strip():
        raise ValueError(f"unfinished SQL statement: {pending.strip()[:60]}")
    return tuple(found)


def _schema(query: Query) -> Schema:
    rows = query("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'")
    return {name: sql for name, sql in rows if name != "schema_migrations"}


@cache
def expected(migrations: tuple[Migration, ...]) -> tuple[Schema, ...]:
    """For each migration the objects that it adds or changes, found by replaying all of them in memory."""
    connection = driver.connect(":memory:")
    try:
        made: list[Schema] = []
        before: Schema = {}
        for migration in migrations:
            for statement in statements(migration.sql):
                connection.execute(statement)
            after = _schema(lambda sql: connection.execute(sql).fetchall())
            made.append({name: sql for name, sql in after.items() if before.get(name) != sql})
            before = after
        return tuple(made)
    finally:
        connection.close()


def is_empty(query: Query) -> bool:
    return not query("SELECT 1 FROM sqlite_schema LIMIT 1")


def is_foreign(query: Query) -> bool:
    """True if the database has tables, but none of ours: somebody else's file."""
    ours = {name for objects in expected(shipped()) for name in objects}
    return not is_empty(query) and not recorded(query) and not ours & _schema(query).keys()


def recorded(query: Query) -> dict[int, str]:
    """Numbers and digests of the migrations that the database says were applied."""
    if not query("SELECT 1 FROM sqlite_schema WHERE name = 'schema_migrations'"):
        return {}
    return dict(query("SELECT number, digest FROM schema_migrations"))


def version(query: Query) -> int:
    """The highest applied migration, kept where one page read finds it."""
    return int(query("PRAGMA user_version")[0][0])


def require_current(query: Query, path: str) -> None:
    """Raise SchemaMismatch unless the database has this version's schema (its number; `status` looks deeper)."""
    refuse_newer(query, path)
    have, want = version(query), latest()
    if have < want:
        if is_empty(query):
            raise SchemaMismatch(f"database {path} is empty", "make it with `sb init`")
        if is_foreign(query):
            raise SchemaMismatch(
                f"{path} is another program's database", "point --db or SB_DB at another file"
            )
        raise SchemaMismatch(
            f"database {path} has schema {have}, this version needs {want}", "run `sb migrate`"
        )


def refuse_newer(query: Query, path: str) -> None:
    """Raise SchemaMismatch when a newer version of SecondBrain has changed the schema."""
    have, want = version(query), latest()
    if have > want:
        raise SchemaMismatch(
            f"database {path} has schema {have}, newer than this version's {want}", "update secondbrain"
        )


def create(execute: Execute, *, now: float, database_id: str) -> None:
    """Make the schema in an empty database, inside the caller's transaction; does nothing if it is made already."""
    if not is_empty(lambda sql: execute(sql).fetchall()):
        return  # another process was faster
    execute(_LEDGER)
    for migration in shipped():
        apply(execute, migration, now=now)
    execute("INSERT INTO meta VALUES ('database_id', ?), ('created_at', ?)", (database_id, iso(now)))


def apply(execute: Execute, migration: Migration, *, now: float, run: bool = True) -> None:
    """Apply one migration in a savepoint and record it; with `run=False` only record it."""
    execute("SAVEPOINT migration")
    try:
        if run:
            for statement in statements(migration.sql):
                execute(statement)
        execute(
            "INSERT INTO schema_migrations VALUES (?, ?, ?, ?)",
            (migration.number, migration.name, migration.digest, iso(now)),
        )
        execute(f"PRAGMA user_version = {migration.number:d}")
    except BaseException:
        execute("ROLLBACK TO migration")
        execute("RELEASE migration")
        raise
    execute("RELEASE migration")


def status(query: Query, migrations: tuple[Migration, ...] | None = None) -> list[MigrationStatus]:
    """The state of each migration in this database."""
    migrations = shipped() if migrations is None else migrations
    applied, actual, made = recorded(query), _schema(query), expected(migrations)
    last_to_make = {name: index for index, objects in enumerate(made) for name in objects}
    report = []
    existing: set[str] = set()
    for index, migration in enumerate(migrations):
        objects = {name: sql for name, sql in made[index].items() if last_to_make[name] == index}
        differing = tuple(sorted(name for name, sql in objects.items() if actual.get(name) != sql))
        absent = not any(name in actual for name in made[index].keys() - existing)
        existing |= made[index].keys()
        report.append(
            MigrationStatus(
                migration.number, migration.name, _state(migration, applied, differing, absent), differing
            )
        )
    return report


def _state(migration: Migration, applied: dict[int, str], differing: tuple[str, ...], absent: bool) -> str:
    if migration.number in applied:
        unchanged = not differing and applied[migration.number] == migration.digest
        return "applied" if unchanged else "drifted"
    if not differing:
        return "likely-applied"
    return "needs-apply" if absent else "partial"


def upgrade(
    execute: Execute, *, now: float, migrations: tuple[Migration, ...] | None = None
) -> list[MigrationStatus]:
    """Apply what is missing, inside the caller's transaction; returns what was done.

    Raises:
        SchemaMismatch: some migration is partial or drifted, so what it would do is unknown; nothing was changed.
    """
    migrations = shipped() if migrations is None else migrations

    def query(sql: str) -> list[tuple[Any, ...]]:
        return list(execute(sql).fetchall())

    report = plan(query, migrations)
    if not recorded(query):
        execute(_LEDGER.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS", 1))
    todo = [line for line in report if line.state != "applied"]
    by_number = {migration.number: migration for migration in migrations}
    for line in todo:
        apply(execute, by_number[line.number], now=now, run=line.state == "needs-apply")
    execute(f"PRAGMA user_version = {migrations[-1].number:d}")  # a dump and reload loses it
    return todo


def plan(query: Query, migrations: tuple[Migration, ...] | None = None) -> list[MigrationStatus]:
    """The migrations that `upgrade` would apply.

    Raises:
        SchemaMismatch: some migration is partial or drifted, so what applying the rest would do is unknown.
    """
    if is_foreign(query):
        raise SchemaMismatch("this is another program's database", "point --db or SB_DB at another file")
    report = status(query, migrations)
    for line in report:
        if line.state in ("partial", "drifted"):
            raise SchemaMismatch(
                f"migration {line.number:04d}_{line.name} is {line.state}: {', '.join(line.differing) or 'its text changed'}",
                "restore a backup, or put these objects back as `sb migrate --status` names them",
            )
    return report
