"""Trajectories against calls: every row of table.yaml."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from sb.kernel.contracts import SafetyClass
from sb.kernel.trajectory_eval import RecordedCall, grade, read_trajectory
from tests.rows import rows


@cache
def table() -> list[dict[str, Any]]:
    """The rows, read when a test asks: each process of a run imports this."""
    read: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("table.yaml").read_text("utf-8"))
    return read


def call(row: Any) -> RecordedCall:
    tool, args, success, safety = [*([row] if isinstance(row, str) else row), {}, None, None, None][:4]
    if not isinstance(row, str):
        args, success, safety = [*row[1:], None, None, None][:3]
    return RecordedCall(tool, args or {}, success, None if safety is None else SafetyClass(safety))


@rows("row", table)
def test_calls_come_to_what_the_table_says(row: dict[str, Any]) -> None:
    result = grade(read_trajectory(row["t"], "table.yaml"), [call(item) for item in row["calls"]])
    score = Fraction(str(row["score"]))
    assert result.score == pytest.approx(float(score))
    assert result.passed is row.get("passed", score == 1)
    assert (result.line == "") is result.passed
    for part in row.get("line", []):
        assert part in result.line


def test_the_table_is_large() -> None:
    assert len(table()) >= 80
