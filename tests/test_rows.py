"""A table in one test is checked to its end, and names each row that fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rows import rows


@rows("number, word", [(1, "one"), (2, "two")])
def spelled(number: int, word: str, tmp_path: Path) -> None:
    assert (number, word) == (1, "one"), tmp_path


@rows("number", [1, 0, 2])
def divides(number: int) -> None:
    if number == 2:
        with pytest.raises(ZeroDivisionError):
            number / number
    assert 1 / number


def test_one_failing_row_is_named(tmp_path: Path) -> None:
    with pytest.raises(AssertionError) as failed:
        spelled(tmp_path=tmp_path)
    assert failed.value.__notes__ == ["row 2: 2 | 'two'"]


def test_rows_after_a_failing_one_are_checked_too() -> None:
    with pytest.raises(BaseExceptionGroup, match="2 of 3 rows") as failed:
        divides()
    assert [failure.__notes__[0] for failure in failed.value.exceptions] == ["row 2: 0", "row 3: 2"]


def test_a_table_without_rows_fails() -> None:
    @rows("number", lambda: iter(()))
    def passes(number: int) -> None:
        pass

    with pytest.raises(AssertionError, match="without rows"):
        passes()


def test_a_name_that_is_no_parameter_is_refused() -> None:
    with pytest.raises(AssertionError, match="not all are parameters"):
        rows("nmber", [1])(divides)
