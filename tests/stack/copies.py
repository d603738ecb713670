"""Databases that keep one stack, each with its own clock."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from sb.base.sources import SteeredClock
from sb.config import Config, current_config, load_config
from sb.log.event_log import EventLog
from sb.memory.erasure import erase
from sb.memory.space import Space
from sb.protocols.types import Note
from sb.stack import SQLiteStack
from sb.stack.sync.changes import parts_of
from sb.store.database import Database, open_database


class Copy:
    """One database, and the stack `mine` in it.

    Args:
        path: its file. config: of its home, by default that of the test. clock: it may differ from others'.
        cores: that are attached.
    """

    def __init__(
        self, path: Path, *, config: Config | None = None, ahead_s: float = 0.0, cores: tuple[str, ...] = ()
    ) -> None:
        self.path = path
        self.config = config or current_config()
        self.clock = SteeredClock()
        self.clock.time += ahead_s
        self.database: Database = open_database(path, clock=self.clock)
        self.cores = cores
        self.stack = self.opened()

    def opened(self, remote: Path | None = None) -> SQLiteStack:
        made = SQLiteStack(
            "mine",
            database=self.database,
            config=self.config,
            remote=remote,
            components=[],
            enforce_provenance=False,
            clock=self.clock,
        )
        for core in self.cores:
            made.on_attach(core)
        return made

    def with_remote(self, other: Copy) -> SQLiteStack:
        """The stack as one that is kept in step with another copy."""
        return self.opened(other.path)

    @property
    def space(self) -> Space:
        return self.stack._container.space

    def note(self, content: str, **more: Any) -> str:
        """Keep a note; returns its id."""
        self.clock.time += 1
        return self.stack.save_note(Note("", "mine", content, **more))

    def edit(self, uid: str, **changes: Any) -> None:
        """Change a note."""
        self.clock.time += 1
        note = self.stack.get_memory("note", uid)
        assert note is not None
        for name, value in changes.items():
            setattr(note, name, value)
        self.stack.save_note(note)

    def read(self, uid: str) -> Any:
        """A note, None if there is none."""
        return self.stack.get_memory("note", uid)

    def erase(self, uid: str) -> None:
        erase(self.space, self.log, [uid], actor="grace", reason="on request")

    @property
    def log(self) -> EventLog:
        return EventLog(self.database, clock=self.clock)

    def state(self, only: str = "") -> dict[str, Any]:
        """The texts of its records, by their ids; None for what is erased.

        Args:
            only: this record alone; all of them by default.
        """
        rows = self.space.records.select(*(("r.uid = ?", (only,)) if only else ("r.id > 0", ())))
        return {row["uid"]: None if row["state"] == "erased" else parts_of(row) for row in rows}

    def edges(self) -> set[tuple[str, str, str]]:
        return set(
            self.database.query(
                "SELECT s.uid, e.relation, t.uid FROM edges AS e JOIN records AS s ON s.id = e.source"
                " JOIN records AS t ON t.id = e.target"
            )
        )

    def documents(self) -> dict[str, Any]:
        """The documents that it tells others, by the ids of the records."""
        rows = self.database.query(
            "SELECT r.uid, c.document FROM sync_changes AS c JOIN records AS r ON r.id = c.record"
        )
        return {uid: orjson.loads(document) if document else None for uid, document in rows}

    def close(self) -> None:
        self.database.close()


def home(folder: Path, scopes: str = "['*']") -> Config:
    """The configuration of another home.

    Args:
        scopes: the setting `memory.sync_scopes`.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / "config.yaml").write_text(f"memory:\n  embedder: none\n  sync_scopes: {scopes}\n")
    return load_config(env={"SB_HOME": str(folder), "HOME": str(folder)}, cwd=folder, flags={})


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Copy, Copy]]:
    """Two copies of one home whose clocks are a day apart."""
    copy, other = Copy(tmp_path / "one.db"), Copy(tmp_path / "other.db", ahead_s=-86_400)
    yield copy, other
    copy.close()
    other.close()
