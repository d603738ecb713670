"""The pack of credentials: its table is up to date, and its examples hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from evals.secret_table import TABLE, examples, secret_table
from sb.shell import ShellVerdict, classify


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "work" / "project").mkdir(parents=True)
    return tmp_path.resolve()


def judged(home: Path, command: str) -> ShellVerdict:
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    return classify(
        command, cwd=home / "work" / "project", home=home, protected=[home / ".sb"], env=environment
    )


def test_the_table_is_what_the_pack_compiles_to() -> None:
    assert TABLE.read_text(encoding="utf-8") == secret_table()


def test_examples_of_the_pack_hold(home: Path) -> None:
    wrong = [one for one in examples() if bool(judged(home, one.command).secrets) != one.reads]
    assert wrong == []
    assert sum(one.reads for one in examples()) >= 60
