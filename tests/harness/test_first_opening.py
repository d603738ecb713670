"""A probe's home is as its own first opening would leave it, though it was copied from another probe's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sb.base.sources import CountingIds, SteeredClock
from sb.config.home import Home
from sb.config.host_patterns import HostPattern
from sb.config.kinds import AgentSettings
from sb.config.model import assemble
from sb.config.rules import PolicyRule
from sb.harness.first_opening import FirstOpening
from sb.harness.harness import Harness
from sb.runtime import Runtime, open_runtime


def state(runtime: Runtime) -> tuple[Any, ...]:
    """The state of the home: its schema, its approved contracts, and whether its log is whole."""
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


@pytest.mark.parametrize(
    "settings",
    [
        {"safety_mode": "safe", "contract_enforcement": "observe", "budget.max_tool_calls": 2},
        {
            "policy": (PolicyRule("deny", ("files.read",)),),
            "agents": {"ada": AgentSettings(tools=("files.read",))},
        },
        {"agent_charters": "enforce", "context_sources": "enforce", "release.check": "observe"},
        {"http.allow": (HostPattern("shop.example"),), "files.roots": (Path("/srv"),)},
        {
            "red_team.tool_results": "quarantine",
            "irreversibility.money": 11.0,
            "approvals.dual_control": ("x",),
        },
    ],
)
def test_home_copied_for_settings_is_as_one_that_was_first_opened_with_them(
    tmp_path: Path, opened: FirstOpening, settings: dict[str, Any]
) -> None:
    for name in ("copied", "own"):
        (tmp_path / name).mkdir()
    config = assemble(Home(tmp_path / "own" / "home"), settings, {}, ())
    with (
        Harness(tmp_path / "copied", opened).open(settings) as copied,
        open_runtime(config, clock=SteeredClock(), ids=CountingIds()) as own,
    ):
        assert state(copied) == state(own)
        assert copied.config.safety_mode == own.config.safety_mode
