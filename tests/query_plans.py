"""Plans of SQLite for the queries of a piece of code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sb.store.database import Database


def query_plans(database: Database, work: Callable[[], object]) -> list[str]:
    """The plan steps of all queries that `work` makes over this database."""
    asked: list[tuple[str, tuple[Any, ...]]] = []
    query = database.query

    def noted(sql: str, given: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        asked.append((sql, given))
        return query(sql, given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "query", noted)
        work()
    return [row[3] for sql, given in asked for row in query(f"EXPLAIN QUERY PLAN {sql}", given)]
