"""Rows by record, in one array that grows."""

from __future__ import annotations

import numpy as np
import pytest

from sb.store.index.column_table import ColumnTable, among
from sb.store.index.ranked_rows import NO_TEXT, RankedRow, RankedTable

COLUMNS = (("id", "i8"), ("value", "f8"))


def rows(*pairs: tuple[int, float]) -> np.ndarray:
    return np.array(list(pairs), list(COLUMNS))


def test_rows_come_in_the_order_that_is_asked_for_and_stay_as_they_were_first() -> None:
    table = ColumnTable(COLUMNS)
    table.put(rows((7, 0.5), (3, 0.25)))
    before = table.rows([7])
    for number in range(100, 400):
        table.put(rows((number, float(number)), (7, 9.0)))
    assert table.rows([3, 399, 7])["value"].tolist() == [0.25, 399.0, 0.5]
    assert before["value"].tolist() == [0.5]
    assert len(table) == 302
    with pytest.raises(KeyError):
        table.rows([3, 8])


def test_a_column_is_compared_with_a_few_values() -> None:
    assert among(np.array([1, 2, 3, 2]), (2, 3)).tolist() == [False, True, True, True]
    assert among(np.array([1]), ()).tolist() == [False]


def test_what_a_record_has_not_is_0_and_a_text_that_several_quote_is_one() -> None:
    table = RankedTable()
    first, second = (1, b"abcd"), (2, b"efgh")
    table.add([RankedRow(1, (first, NO_TEXT, NO_TEXT)), RankedRow(2, (second, first, NO_TEXT), "Ann", "Bo")])
    found = table.of([2, 1])
    assert [[found.texts[at] for at in texts] for texts in found.columns["texts"].tolist()] == [
        [second, first, NO_TEXT],
        [first, NO_TEXT, NO_TEXT],
    ]
    assert found.columns["session"].tolist() == [0, 0]
    assert np.isnan(found.columns["happened_at"]).all()
    assert found.is_said_by(["Ann"]).tolist() == [True, False]
    assert found.is_said_by(["Ann", "Bo"], "previous_speaker").tolist() == [True, False]
