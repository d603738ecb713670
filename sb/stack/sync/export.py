"""Export a stack into a database file of its own."""

from __future__ import annotations

import tempfile
from pathlib import Path

from sb.config import Config
from sb.errors import StoreError
from sb.memory.space import Space
from sb.protocols.types import StackState
from sb.stack.sync.exchange import Exchange, Reach
from sb.stack.sync.feed import Feed
from sb.store.backup import back_up
from sb.store.database import open_database


def exported(feed: Feed, config: Config, reach: Reach, path: Path) -> int:
    """Write a stack, and nothing else of its database, into one new file; returns its size in bytes.

    Args:
        reach: what of it.

    Raises:
        StoreError: the file is there already, or cannot be written; nothing is left behind.
    """
    if path.exists():
        raise StoreError(f"{path} exists already", "choose another name; an export never overwrites")
    space = feed.space
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".sb-export-", dir=path.parent) as folder:
            made = open_database(Path(folder) / "stack.db", clock=space.clock, ids=space.ids)
            try:
                other = Space(made, config.memory, clock=space.clock, ids=space.ids)
                _fill(feed, other, reach, str(path.resolve()))
                made.rewrite()
                return back_up(made, path)
            finally:
                made.close()
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}") from None


def _fill(feed: Feed, other: Space, reach: Reach, path: str) -> None:
    with other.database.write() as execute:
        for name, state, settings in feed.space.database.query(
            "SELECT name, state, settings FROM stacks WHERE name = ?", (feed.stack,)
        ):
            awake = StackState.ACTIVE if state == StackState.MAINTENANCE else state
            execute("INSERT INTO stacks (name, state, settings) VALUES (?, ?, ?)", (name, awake, settings))
    exchange = Exchange(feed, Feed(other, feed.stack, feed.sealer), path, reach, from_anybody=False)
    exchange.greet()
    feed.stamp_all()
    exchange.push()
    exchange.part()
