"""A table checked in one test: a parametrised case costs six milliseconds of collecting and fixtures, a row nothing."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest

FAILURES = (Exception, pytest.fail.Exception)  # the second: `pytest.raises`, where nothing was raised


def rows(names: str, table: Iterable[Any] | Callable[[], Iterable[Any]]) -> Callable[..., Any]:
    """Like `pytest.mark.parametrize`, but all rows are one test, and share its fixtures.

    Every row is tried, and each failure names its own.

    Args:
        names: of the test's parameters that a row has, with commas between them.
        table: the rows, or what makes them when the test runs: values, or tuples where there are several names.
    """
    of_row = [name.strip() for name in names.split(",")]

    def in_one(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def all_rows(**fixtures: Any) -> None:
            failures, number = [], 0
            for number, row in enumerate(table() if callable(table) else table, 1):
                values = row if len(of_row) > 1 else (row,)
                try:
                    test(**dict(zip(of_row, values, strict=True)), **fixtures)
                except FAILURES as failure:
                    failure.add_note(f"row {number}: {' | '.join(repr(value)[:200] for value in values)}")
                    failures.append(failure)
            assert number, "a table without rows"
            if len(failures) == 1:
                raise failures[0]
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {number} rows", failures)

        signature = inspect.signature(test)
        fixtures = [parameter for name, parameter in signature.parameters.items() if name not in of_row]
        assert len(fixtures) + len(of_row) == len(signature.parameters), f"not all are parameters: {names}"
        all_rows.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        return all_rows

    return in_one
