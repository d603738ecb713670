"""The memory as a table: who may read what, and texts that a spreadsheet would run."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sb.base.text import plain
from sb.errors import NotFoundError
from sb.memory.tables import COLUMNS, write
from tests.memory.desk import Desk, desk

__all__ = ["desk"]


def contents(desk: Desk, path: Path, *, agent: str = "", scopes: Sequence[str] = ()) -> list[str]:
    write(desk.space, path, "json", stack="default", agent=agent, scopes=scopes)
    return [item["content"] for item in json.loads(path.read_bytes())]


def test_it_holds_what_may_be_exported(desk: Desk, tmp_path: Path) -> None:
    brain = desk.brain("coder", scope="project:shop")
    brain.remember("for everybody")
    brain.remember("of coder alone", private=True)
    brain.forget(brain.remember("forgotten"))
    brain.remember("from the web", source_type="web-page")  # quarantined
    assert contents(desk, tmp_path / "all") == ["for everybody", "of coder alone"]
    assert contents(desk, tmp_path / "tester", agent="tester") == ["for everybody"]
    with pytest.raises(NotFoundError):
        contents(desk, tmp_path / "none", scopes=("project:garden",))
    assert not (tmp_path / "none").exists()


def test_nothing_to_export_is_an_empty_table(desk: Desk, tmp_path: Path) -> None:
    brain = desk.brain("coder")
    brain.forget(brain.remember("gone"))
    assert contents(desk, tmp_path / "empty.json") == []
    write(desk.space, tmp_path / "empty.csv", "csv", stack="default")
    assert (tmp_path / "empty.csv").read_bytes() == ",".join(COLUMNS).encode() + b"\r\n"


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.text(alphabet="=+-@\t\r\n \"',;|\x00\x1b[\u202eaé1", min_size=1, max_size=12).map(
        lambda text: f"{text}x"
    )
)
def test_no_text_becomes_a_formula_or_another_cell(desk: Desk, tmp_path: Path, text: str) -> None:
    stored = desk.brain("coder")
    record = stored.remember(text)
    (content,) = (memory.content for memory in [stored.get(record)])
    file = tmp_path / f"{record}.csv"
    write(desk.space, file, "csv", stack="default")
    rows = list(csv.reader(io.StringIO(file.read_bytes().decode(), newline="")))
    assert {len(row) for row in rows} == {len(COLUMNS)}
    cell = rows[-1][COLUMNS.index("content")]
    assert not cell.lstrip().startswith(("=", "+", "-", "@"))
    assert cell.removeprefix("'") in (plain(content), plain(content).removeprefix("'"))
