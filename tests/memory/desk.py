"""A home with one database, its log, agents that remember in it, and the operator's view of all of it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from sb.base.sources import SYSTEM_IDS, SteeredClock
from sb.config import Config, load_config
from sb.log.event_log import EventLog
from sb.memory import Brain
from sb.memory.space import Space
from sb.store.database import open_database
from sb.store.records.columns import Row


class Desk:
    """The home that an operator works with.

    Args:
        home: SB_HOME, which is made.
        embedder: as the setting `memory.embedder`. quarantine: as `memory.quarantine`; by default what is imported
            comes in as it is. scopes: as `memory.scopes`, in YAML.
        memory: further lines of `memory` in the configuration.
    """

    def __init__(
        self,
        home: Path,
        *,
        embedder: str = "none",
        quarantine: str = "tool-output, web-page, mcp-result",
        memory: str = "",
        scopes: str = "{}",
    ) -> None:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.home = home
        self.clock, self.ids = SteeredClock(), SYSTEM_IDS  # ids of two homes differ
        lines = (f"embedder: {embedder}", f"quarantine: [{quarantine}]", f"scopes: {scopes}")
        text = "\n".join(("memory:", *(f"  {line}" for line in (*lines, *filter(None, [memory])))))
        (home / "config.yaml").write_text(f"{text}\n")
        self.config: Config = load_config(env={"SB_HOME": str(home), "HOME": str(home)}, cwd=home, flags={})
        self.database = open_database(self.config.database, clock=self.clock, ids=self.ids)
        self.log = EventLog(self.database, clock=self.clock, ids=self.ids)

    @cached_property
    def space(self) -> Space:
        return Space(self.database, self.config.memory, clock=self.clock, ids=self.ids)

    def brain(self, agent: str = "coder", **more: Any) -> Brain:
        """A new session of an agent."""
        self.clock.time += 60
        shared: dict[str, Any] = {"database": self.database, "config": self.config, "clock": self.clock}
        made = Brain(agent, ids=self.ids, **shared, **more)
        if self.config.memory.embedder != "none":
            made.space.embedder = self.space.embedder  # loaded once
        return made

    def row(self, uid: str) -> Row:
        row = self.space.records.find(uid)
        assert row is not None
        return row

    def row_of(self, number: int) -> Row:
        row = self.space.records.row(number)
        assert row is not None
        return row

    def rows(self, sql: str, *values: Any) -> list[Any]:
        return self.database.query(sql, values)

    def tamper(self, sql: str, *values: Any) -> None:
        """Change the database as no part of the program does."""
        with self.database.write() as execute:
            execute(sql, values)

    def holds(self, text: str) -> list[str]:
        """The names of the database's files in which this text stands."""
        files = sorted(self.config.database.parent.glob(self.config.database.name + "*"))
        return [file.name for file in files if text.encode() in file.read_bytes()]

    def sound(self) -> bool:
        """True if the full-text index says what the records say."""
        return self.space.words.check()

    def close(self) -> None:
        self.database.close()


@pytest.fixture
def desk(home: Path) -> Iterator[Desk]:
    made = Desk(home)
    yield made
    made.close()


@pytest.fixture
def desk_with_vectors(home: Path) -> Iterator[Desk]:
    made = Desk(home, embedder="static")
    yield made
    made.close()
