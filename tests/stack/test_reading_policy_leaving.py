"""Dumps, exports and copies of a stack hold what whoever made them may read by the reading policy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sb.config import Config
from sb.config.home import Home
from sb.config.model import assemble
from sb.config.scopes import scopes_of
from sb.errors import NotFoundError
from sb.kernel.authority.signing import Label
from sb.kernel.memory_read_policy import denied_reads
from sb.memory import tables
from sb.memory.bundles import export
from sb.memory.markdown import markdown
from sb.memory.space import Space
from sb.stack import SQLiteStack
from sb.store.database import open_database
from tests.stack.copies import Copy

SUPPORT = {"purpose": "support", "read": ("support-*",), "write": ("*",), "share": ("*",)}
REASON = "its scope is read for support only"
TEXTS = ("the lamp is white", "the lamp was grey")  # one that is forgotten too


@pytest.fixture
def config(tmp_path: Path) -> Config:
    rules = scopes_of({"global": SUPPORT})
    return assemble(Home(tmp_path / "home"), {"memory.scopes": rules, "memory.embedder": "none"}, {}, ())


@pytest.fixture
def copy(tmp_path: Path, config: Config) -> Iterator[Copy]:
    """A stack with a memory and a forgotten one, of which nobody is attached."""
    made = Copy(tmp_path / "one.db", config=config)
    made.note(TEXTS[0])
    writer = seen_by(made, "support-1")
    writer.forget_memory("note", made.note(TEXTS[1]), "repainted")
    yield made
    made.close()


def seen_by(copy: Copy, reader: str, remote: Path | None = None) -> SQLiteStack:
    """The stack as a core has it attached, or as operators see it."""
    stack = copy.opened(remote)
    if reader == "operator":
        stack.view_as_operator()
    else:
        stack.on_attach(reader)
    return stack


def texts_in(path: Path) -> list[str]:
    """The texts of the notes in a database."""
    database = open_database(path)
    try:
        return sorted(row[0] for row in database.query("SELECT text FROM records WHERE text <> ''"))
    finally:
        database.close()


WHO = pytest.mark.parametrize(
    ("reader", "reads"), [("support-1", True), ("operator", True), ("sales", False)]
)


@WHO
def test_a_dump_holds_what_its_reader_may_read(copy: Copy, reader: str, reads: bool) -> None:
    stack = seen_by(copy, reader)
    for format_ in ("markdown", "json"):
        dump = stack.dump(format=format_, include_forgotten=True)
        assert [text in dump for text in TEXTS] == [reads, reads]
    assert bool(denied_reads(copy.database, agent="sales")) is not reads


@WHO
def test_an_exported_stack_holds_what_its_reader_may_read(
    copy: Copy, tmp_path: Path, reader: str, reads: bool
) -> None:
    seen_by(copy, reader).export_stack(tmp_path / "taken.db")
    assert texts_in(tmp_path / "taken.db") == (sorted(TEXTS) if reads else [])
    content = (tmp_path / "taken.db").read_bytes()
    assert [text.encode() in content for text in TEXTS] == [reads, reads]
    assert [read.reason for read in denied_reads(copy.database, agent="sales")] == [REASON] * (not reads)


def test_a_sync_sends_what_the_core_may_read_and_the_rest_with_the_next_reader(
    copy: Copy, tmp_path: Path
) -> None:
    other = tmp_path / "other.db"
    open_database(other).close()
    assert seen_by(copy, "sales", other).sync().pushed == 0
    assert texts_in(other) == []
    assert seen_by(copy, "support-1", other).sync().pushed == 2
    assert texts_in(other) == sorted(TEXTS)
    copy.note("the lamp is new")
    assert seen_by(copy, "sales", other).sync().pushed == 0
    assert seen_by(copy, "operator", other).sync().pushed == 1


def test_a_conflict_is_not_listed_for_whoever_may_not_read_its_scope(
    copy: Copy, tmp_path: Path, config: Config
) -> None:
    other = Copy(tmp_path / "other.db", config=config, cores=("support-2",))
    copy.cores = ("support-1",)
    copy.stack = copy.opened()
    uid = copy.note("as it was")
    stack = seen_by(copy, "support-1", other.path)
    stack.sync()
    copy.edit(uid, content="as it is here")
    other.edit(uid, content="as it is there")
    assert stack.sync().conflicts == 1
    (shown,) = stack.conflicts()
    assert {shown.local_summary, shown.cloud_summary} == {"as it is here", "as it is there"}
    copy.cores = ()
    assert seen_by(copy, "sales").conflicts() == []
    other.close()


@pytest.mark.parametrize(("agent", "reads"), [("support-1", True), ("", True), ("sales", False)])
def test_exports_of_an_agent_hold_what_it_may_read(
    copy: Copy, tmp_path: Path, agent: str, reads: bool
) -> None:
    space = Space(copy.database, copy.config.memory, clock=copy.clock)  # as operators have it
    ways: list[Callable[[Path], Any]] = [
        lambda path: export(space, copy.log, path, by=Label("ada"), stack="mine", agent=agent),
        lambda path: tables.write(space, path, "csv", stack="mine", agent=agent),
        lambda path: path.write_text("".join(markdown(space, stack="mine", agent=agent)), encoding="utf-8"),
    ]
    for number, write in enumerate(ways):
        path = tmp_path / str(number)
        if reads:
            write(path)
            assert TEXTS[0] in path.read_text(encoding="utf-8")
        else:
            with pytest.raises(NotFoundError):
                write(path)
            assert not path.exists() or TEXTS[0] not in path.read_text(encoding="utf-8")
    assert len(denied_reads(copy.database, agent="sales")) == 3 * (not reads)
