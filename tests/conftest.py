"""What every test has: a home of its own, and a clock and ids that it can steer."""

from __future__ import annotations

import gc
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from sb.cli import run
from sb.kernel.authority.signing import Label
from sb.runtime import Runtime
from sb.sources import CountingIds, SteeredClock

settings.register_profile("sb", deadline=None)  # a shared machine stalls now and then
settings.load_profile("sb")


def pytest_collection_finish() -> None:
    """Thousands of tests stay to the end: the collector need not walk through them again and again, a tenth of the time."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def clock() -> SteeredClock:
    return SteeredClock()


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
    monkeypatch.setenv(
        "LLM_USER_PATH", str(folder.parent / "llm")
    )  # it makes a folder where it looks for models
    return folder


def approve_tools(runtime: Runtime) -> None:
    """Approve the contracts of the tools that a test registered itself."""
    runtime.baselines.seen.note_all(runtime.registry)
    live = {spec.tool_id: spec.contract_fingerprint() for spec in runtime.registry.list_all()}
    runtime.baselines.approve(live, Label("tester"), "the test's own tools")


class CommandLine:
    """`sb`, run in this process as the installed program runs it."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Outcome:
        self._capsys.readouterr()
        code = run(list(arguments))
        out, err = self._capsys.readouterr()
        return Outcome(code, out, err)


@dataclass(frozen=True)
class Outcome:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def sb(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(capsys)
