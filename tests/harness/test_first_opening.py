"""A probe's home is as its own first opening would leave it, though it was copied from another probe's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sb.config.home import Home
from sb.harness.first_opening import FirstOpening
from sb.harness.harness import Harness
from sb.runtime import Runtime


def state(runtime: Runtime) -> tuple[Any, ...]:
    """What the home has: its schema, its approved contracts, and whether its log is whole."""
    query = runtime.database.query
    return (
        query("SELECT name, sql FROM sqlite_schema ORDER BY name"),
        query("SELECT surface, tool_id, fingerprint, document FROM contracts_seen ORDER BY 1, 2"),
        sorted((tool, mark.fingerprint) for tool, mark in runtime.baselines.latest().items()),
        [event.kind for event in runtime.log.events()],
    )


@pytest.fixture
def opened(tmp_path: Path) -> FirstOpening:
    """The first opening of a home in another folder."""
    first = FirstOpening()
    (tmp_path / "first").mkdir()
    Harness(tmp_path / "first", first).open().close()
    return first


def test_copied_home_has_what_an_opened_one_has(tmp_path: Path, opened: FirstOpening) -> None:
    for name in ("copied", "own"):
        (tmp_path / name).mkdir()
    with Harness(tmp_path / "copied", opened).open() as copied, Harness(tmp_path / "own").open() as own:
        assert state(copied) == state(own)
        assert state(own)[1]
    assert (tmp_path / "copied" / "home" / "brain.db").stat().st_mode & 0o777 == 0o600


def test_settings_of_a_probe_open_a_home_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "home").mkdir()
    first, made = FirstOpening(), list[str]()
    with Harness(tmp_path / "own", first).open({"safety_mode": "safe"}) as runtime:
        assert runtime.config.safety_mode == "safe"
    first.make(Home(tmp_path / "home"), lambda: made.append("first"))
    assert made == ["first"]  # nothing was made before
