"""The page that gives our names for those of the whitepaper: each of ours is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sb.memory import Brain
from sb.store.database import open_database
from tests.conftest import CommandLine

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "paper-names.md"
NOT_BUILT = "not built"


def ours() -> list[str]:
    """Names in the second column, without those of nothing."""
    lines = [
        line.split("|") for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")
    ]
    assert len(lines) > 10
    return sorted({name for cells in lines for name in re.findall(r"`([^`]+)`", cells[2])})


@pytest.mark.parametrize("name", ours())
def test_a_name_of_ours_is_a_table_a_column_a_call_or_a_command(
    name: str, sb: CommandLine, tmp_path: Path
) -> None:
    if name.startswith("sb "):
        assert sb(*name.split()[1:], "--help").code == 0
    elif name.startswith("Brain."):
        assert callable(getattr(Brain, name.removeprefix("Brain.")))
    else:
        table, _, column = name.partition(".")
        database = open_database(tmp_path / "brain.db")
        columns = [row[1] for row in database.query(f"PRAGMA table_info({table})")]
        assert columns, f"no table {table}"
        assert not column or column in columns
