"""A stack can leave its database: as one file that holds it and nothing else, and opens by itself."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sb.errors import StoreError
from sb.kernel.authority.authority import Authority
from sb.kernel.authority.signing import Label
from sb.memory import Brain
from sb.memory.trust.deciding import TrustDesk
from sb.protocols import SyncResult
from sb.protocols.types import Note
from sb.stack import SQLiteStack
from sb.store.database import open_database
from tests.stack.copies import Copy


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[Copy]:
    made = Copy(tmp_path / "one.db")
    yield made
    made.close()


def test_the_file_opens_by_itself_and_says_the_same(copy: Copy, tmp_path: Path) -> None:
    first = copy.note("first", tags=["a"])
    second = copy.note("second", derived_from=[f"note:{first}"])
    copy.stack.forget_memory("note", second, "noise")
    copy.stack.on_attach("me")
    target = tmp_path / "shelf" / "mine.db"
    assert copy.stack.export_stack(target) == target.stat().st_size
    assert [path.name for path in target.parent.iterdir()] == ["mine.db"]
    assert target.stat().st_mode & 0o077 == 0
    alone = Copy(target)
    assert alone.state() == copy.state()
    assert alone.edges() == copy.edges()
    assert alone.stack.state == copy.stack.state == "active"
    assert alone.stack.get_memory("note", first) is not None
    alone.close()


def test_a_stack_leaves_without_what_operators_say_of_trust_in_it(copy: Copy, tmp_path: Path) -> None:
    desk = TrustDesk(copy.space, copy.log, Authority(copy.config.operators.file, copy.log))
    desk.assess("mine", "eve", "general", 0.1, by=Label("ann"), reason="it invents numbers")
    note = copy.note("for everybody")
    copy.stack.export_stack(tmp_path / "mine.db")
    database = open_database(tmp_path / "mine.db")
    assert database.query("SELECT uid FROM records") == [(note,)]


def test_nothing_else_of_the_database_is_in_it(copy: Copy, tmp_path: Path) -> None:
    with SQLiteStack("else", database=copy.database, components=[]) as neighbour:
        neighbour.save_note(Note("", "else", "of the neighbour"))
    Brain("coder", database=copy.database, config=copy.config, stack="mine").remember(
        "of coder alone", private=True
    )
    gone = copy.note("what is erased")
    copy.erase(gone)
    note = copy.note("for everybody")
    copy.stack.export_stack(tmp_path / "mine.db")
    content = (tmp_path / "mine.db").read_bytes()
    assert b"for everybody" in content
    for other in (b"neighbour", b"coder", b"what is erased", gone.encode()):
        assert other not in content
    database = open_database(tmp_path / "mine.db")
    assert database.query("SELECT uid FROM records") == [(note,)]
    assert database.query("SELECT count(*) FROM events") == [(0,)]
    assert database.query("PRAGMA integrity_check") == [("ok",)]
    database.close()


def test_the_file_can_be_the_remote_of_where_it_came_from(copy: Copy, tmp_path: Path) -> None:
    uid = copy.note("both have it")
    copy.stack.export_stack(tmp_path / "mine.db")
    away = Copy(tmp_path / "mine.db")
    stack = copy.with_remote(away)
    assert stack.get_pending_sync_count() == 0
    assert stack.sync() == SyncResult()
    away.edit(uid, content="changed on the way")
    assert stack.sync() == SyncResult(pulled=1)
    assert copy.read(uid).content == "changed on the way"
    away.close()


def test_a_file_that_is_there_stays_as_it_is(copy: Copy, tmp_path: Path) -> None:
    copy.note("first")
    target = tmp_path / "mine.db"
    target.write_bytes(b"somebody's")
    with pytest.raises(StoreError, match="exists already"):
        copy.stack.export_stack(target)
    assert target.read_bytes() == b"somebody's"


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_said(copy: Copy, tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    with pytest.raises(StoreError, match="cannot write"):
        copy.stack.export_stack(folder / "mine.db")
