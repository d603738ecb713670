"""Agents that share one database, each call of `brain` being a new session as in a new process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sb.base.sources import CountingIds, SteeredClock
from sb.config import Config, load_config
from sb.memory import Brain
from sb.memory.operator_view import Overseer
from sb.store.database import Database, open_database

DAY = 86_400.0


@dataclass
class Agents:
    """Makes the Brains of one database.

    Args:
        home: SB_HOME, where the secret is.
    """

    database: Database
    home: Path
    clock: SteeredClock
    ids: CountingIds

    def brain(self, agent: str = "coder", **more: Any) -> Brain:
        self.clock.time += 60
        return Brain(
            agent,
            database=self.database,
            config=self.config,
            clock=self.clock,
            ids=self.ids,
            **more,
        )

    def person(self) -> Overseer:
        """The commands that an operator types."""
        self.clock.time += 60
        return Overseer(database=self.database, config=self.config, clock=self.clock, ids=self.ids)

    @property
    def config(self) -> Config:
        return load_config(
            env={"SB_HOME": str(self.home), "HOME": "/data/nobody"}, cwd=self.home.parent, flags={}
        )

    def rows(self, sql: str, *values: Any) -> list[Any]:
        return self.database.query(sql, values)

    def tamper(self, sql: str, *values: Any) -> None:
        """Change the database as somebody would who does not go through a Brain."""
        with self.database.write() as execute:
            execute(sql, values)


@pytest.fixture
def agents(home: Path, clock: SteeredClock, ids: CountingIds) -> Iterator[Agents]:
    home.mkdir(mode=0o700)
    database = open_database(home / "brain.db", clock=clock, ids=ids)
    yield Agents(database, home, clock, ids)
    database.close()
