"""A stack in a file of its own, with a clock that stands still."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sb.sources import CountingIds, SteeredClock
from sb.stack import SQLiteStack


@pytest.fixture
def stack(tmp_path: Path, clock: SteeredClock, ids: CountingIds) -> Iterator[SQLiteStack]:
    """A bare stack that belongs to nobody yet."""
    with SQLiteStack("mine", tmp_path / "stack.db", components=[], clock=clock, ids=ids) as made:
        yield made


@pytest.fixture
def owned(stack: SQLiteStack) -> SQLiteStack:
    """The same, attached to the core `me`."""
    stack.on_attach("me")
    return stack
