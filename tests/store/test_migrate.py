"""Migrations: what became of each, applied all or none, and never over something unknown."""

from __future__ import annotations

from pathlib import Path

import pytest

from sb.errors import SchemaMismatch, StoreError
from sb.protocols.types import MemorySuggestion, Note
from sb.stack import SQLiteStack
from sb.store import driver, migrate
from sb.store.backup import back_up, back_up_files
from sb.store.database import Database, open_database
from sb.store.filesystem import file_system_of, is_network
from sb.store.index.full_text import WordIndex
from sb.store.migrate import Migration
from tests.rows import rows

SHIPPED = migrate.latest()
FIRST = ["applied"] * SHIPPED
SECOND = Migration(
    SHIPPED + 1,
    "notes",
    "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT) STRICT;\nCREATE INDEX notes_by_text ON notes (text);\n",
)
THIRD = Migration(
    SHIPPED + 2,
    "tags",
    "CREATE TABLE tags (name TEXT PRIMARY KEY) STRICT;\nALTER TABLE notes ADD COLUMN tag TEXT;\n",
)


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return open_database(tmp_path / "brain.db")


def states(database: Database, *more: Migration) -> list[str]:
    return [line.state for line in migrate.status(database.query, (*migrate.shipped(), *more))]


def upgrade(database: Database, *more: Migration) -> list[int]:
    with database.write() as execute:
        done = migrate.upgrade(execute, now=0.0, migrations=(*migrate.shipped(), *more))
    return [line.number for line in done]


def test_the_shipped_migrations_are_numbered_from_one_without_a_gap() -> None:
    assert [migration.number for migration in migrate.shipped()] == list(range(1, migrate.latest() + 1))


def test_a_new_database_is_current(database: Database) -> None:
    assert set(states(database)) == {"applied"}
    assert upgrade(database) == []


def test_missing_migrations_are_applied_in_order(database: Database) -> None:
    assert states(database, SECOND, THIRD) == [*FIRST, "needs-apply", "needs-apply"]
    assert upgrade(database, SECOND, THIRD) == [SHIPPED + 1, SHIPPED + 2]
    assert states(database, SECOND, THIRD) == [*FIRST, "applied", "applied"]
    assert migrate.version(database.query) == SHIPPED + 2
    with pytest.raises(SchemaMismatch, match="newer"):
        migrate.require_current(database.query, database.path)


def test_what_is_there_without_a_record_is_recorded_and_not_run_again(database: Database) -> None:
    with database.write() as execute:
        for statement in migrate.statements(SECOND.sql):
            execute(statement)
        execute("INSERT INTO notes (text) VALUES ('kept')")
    assert states(database, SECOND) == [*FIRST, "likely-applied"]
    assert upgrade(database, SECOND) == [SHIPPED + 1]
    assert database.query("SELECT text FROM notes") == [("kept",)]


@pytest.mark.parametrize(
    ("damage", "state"),
    [
        ("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT) STRICT", "partial"),
        ("CREATE TABLE notes (other TEXT)", "partial"),
    ],
)
def test_a_partial_migration_is_refused_and_nothing_changed(
    database: Database, damage: str, state: str
) -> None:
    with database.write() as execute:
        execute(damage)
    assert states(database, SECOND, THIRD)[SHIPPED] == state
    with pytest.raises(SchemaMismatch, match="_notes is partial: notes"):
        upgrade(database, SECOND)
    assert migrate.version(database.query) == SHIPPED


@pytest.mark.parametrize(
    "damage",
    ["DROP INDEX events_by_run", "DROP TRIGGER events_are_final", "ALTER TABLE memory ADD COLUMN extra TEXT"],
)
def test_a_drifted_schema_is_named_and_refused(database: Database, damage: str) -> None:
    with database.write() as execute:
        execute(damage)
    line = migrate.status(database.query)[0]
    assert line.state == "drifted"
    assert damage.split()[2] in line.differing
    with pytest.raises(SchemaMismatch, match="drifted"):
        upgrade(database, SECOND)


def test_a_migration_that_fails_leaves_the_database_as_it_was(database: Database) -> None:
    with pytest.raises((driver.OperationalError, StoreError)):
        upgrade(database, SECOND, Migration(SHIPPED + 2, "bad", "CREATE TABLE notes (id INTEGER);"))
    assert migrate.version(database.query) == SHIPPED
    assert database.query("SELECT name FROM sqlite_schema WHERE name = 'notes'") == []


def test_a_database_that_was_dumped_and_reloaded_gets_its_version_back(database: Database) -> None:
    with database.write() as execute:
        execute("PRAGMA user_version = 0")
    assert upgrade(database) == []
    migrate.require_current(database.query, database.path)


def test_an_unfinished_statement_is_an_error() -> None:
    with pytest.raises(ValueError, match="unfinished"):
        list(migrate.statements("CREATE TABLE x (id INTEGER"))


def test_somebody_elses_database_is_not_migrated(tmp_path: Path) -> None:
    (tmp_path / "songs.db").touch()
    database = Database(tmp_path / "songs.db")
    with database.write() as execute:
        execute("CREATE TABLE songs (title TEXT)")
    with pytest.raises(SchemaMismatch, match="another program"):
        upgrade(database)
    assert database.query("SELECT name FROM sqlite_schema") == [("songs",)]


def test_a_backup_is_complete_while_others_write(database: Database, tmp_path: Path) -> None:
    with database.write() as execute:
        execute("INSERT INTO meta VALUES ('k', 'v')")
    reports: list[tuple[int, int]] = []
    size = back_up(
        database, tmp_path / "copy" / "brain.db", progress=lambda done, total: reports.append((done, total))
    )
    assert size == (tmp_path / "copy" / "brain.db").stat().st_size
    assert reports[-1][0] == reports[-1][1] > 0
    copy = open_database(tmp_path / "copy" / "brain.db")
    assert copy.query("SELECT value FROM meta WHERE key = 'k'") == [("v",)]
    assert [path.name for path in (tmp_path / "copy").iterdir() if path.name.startswith(".")] == []


def test_a_backup_that_cannot_be_written_leaves_nothing(database: Database, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot make the folder"):
        back_up(database, tmp_path / "file" / "brain.db")
    with pytest.raises(StoreError, match="exists already"):
        back_up(database, tmp_path / "brain.db")


def test_files_beside_the_database_are_copied_when_they_exist(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "a").write_text("x", encoding="utf-8")
    target = tmp_path / "copy"
    target.mkdir()
    copies = back_up_files([tmp_path / "kept", tmp_path / "none.yaml"], target)
    assert [copy.name for copy in copies] == ["kept"]
    assert (target / "kept" / "a").read_text("utf-8") == "x"


LINUX = "/dev/sda1 / ext4 rw 0 0\nserver:/nethome /nethome nfs4 rw 0 0\ntmpfs /nethome/me/my\\040tmp tmpfs rw 0 0\n"
MACOS = "/dev/disk1s1 on / (apfs, local, journaled)\n//me@server/share on /Volumes/share (smbfs, nodev)\n"


@rows(
    "path, mounts, found, network",
    [
        ("/var/db", LINUX, "ext4", False),
        ("/nethome/me/.sb", LINUX, "nfs4", True),
        ("/nethome/me/my tmp/x", LINUX, "tmpfs", False),
        ("/nethomes/x", LINUX, "ext4", False),
        ("/Volumes/share/x", MACOS, "smbfs", True),
        ("/people/me", MACOS, "apfs", False),
        ("/x", "", "", False),
        ("/x", "fuse / fuse.sshfs rw 0 0", "fuse.sshfs", True),
    ],
)
def test_network_file_systems_are_recognised(path: str, mounts: str, found: str, network: bool) -> None:
    assert file_system_of(Path(path), mounts) == found
    assert is_network(found) is network


def test_a_write_inside_a_write_is_refused() -> None:
    database = open_database(":memory:")

    def nested() -> None:
        with database.write(), database.write():
            pass

    with pytest.raises(RuntimeError, match="open in this thread"):
        nested()
    assert database.query("SELECT 1") == [(1,)]


def test_without_vectors_or_with_an_old_sqlite_the_reason_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    connection = driver.connect(":memory:")
    monkeypatch.setattr(driver, "EXTENSIONS", False)
    with pytest.raises(StoreError, match="cannot load extensions"):
        driver.load_vectors(connection)
    monkeypatch.setattr(driver, "VERSION", "3.36.9")
    with pytest.raises(StoreError, match=r"SQLite 3\.36\.9 is too old"):
        driver.connect(":memory:")


@pytest.mark.parametrize("without", ["pysqlite3"])
def test_the_standard_librarys_driver_works_too(tmp_path: Path, without: str) -> None:
    import subprocess
    import sys

    script = (
        f"import sys; sys.modules[{without!r}] = None\n"
        "from sb.store import driver; assert driver.NAME == 'sqlite3', driver.NAME\n"
        "from sb.operator.demo.story import play; from pathlib import Path\n"
        "from sb.log.event_log import EventLog; from sb.store.database import open_database\n"
        "from sb.kernel.review.log_verification import verify\n"
        f"story = play(Path({str(tmp_path)!r}))\n"
        "assert verify(EventLog(open_database(story.home / 'brain.db'))).ok\n"
        "print(len(story.results))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("10\n", "")


def test_suggestions_of_an_older_database_leave_the_words_of_memories(tmp_path: Path) -> None:
    with SQLiteStack("default", tmp_path / "brain.db", enforce_provenance=False) as stack:
        stack.save_note(Note("", "default", "ada deploys on fridays"))
        stack.save_suggestion(MemorySuggestion("", "default", "note", {"content": "ada sleeps"}, 0.6, []))
    database = open_database(tmp_path / "brain.db")
    as_before, of_now = _made("CREATE VIEW searchable", 7), migrate.shipped()[9].sql
    take, _, put = (part.strip() for part in of_now.partition(_made("CREATE VIEW searchable", 10)))
    with database.write(power=True) as execute:
        for sql in (*migrate.statements(take), as_before, *migrate.statements(put.lstrip(";"))):
            execute(sql)
    words = WordIndex(database)
    assert [len(words.newest(f'ada AND place : "{token}"', 9)) for token in ("p1", "asidep1")] == [2, 0]
    with database.write(power=True) as execute:
        for sql in migrate.statements(of_now):
            execute(sql)
    assert words.check()
    assert [len(words.newest(f'ada AND place : "{token}"', 9)) for token in ("p1", "asidep1")] == [1, 1]
    database.close()


def _made(start: str, number: int) -> str:
    return next(
        statement for statement in migrate.statements(migrate.shipped()[number - 1].sql) if start in statement
    )
