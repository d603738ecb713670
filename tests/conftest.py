"""What every test has: a home of its own, and a clock and ids that it can steer."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

from tests.fakes import CountingIds, FakeClock

settings.register_profile("sb", deadline=None)  # a shared machine stalls now and then
settings.load_profile("sb")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def ids() -> CountingIds:
    return CountingIds()


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty SB_HOME, so that no test sees the developer's."""
    folder = tmp_path_factory.mktemp("home") / "sb"
    for name in [name for name in os.environ if name.startswith("SB_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SB_HOME", str(folder))
    monkeypatch.setenv("NO_COLOR", "1")
    return folder
