"""One audit of every control, for the tests that look at what it prints."""

from __future__ import annotations

import fcntl
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sb.agent import model_planner
from sb.agent.prompting import Prompt
from sb.harness.running import audit
from sb.kernel.harness_audit import AuditReport
from sb.kernel.run_context import RunBudget

BROKEN = {
    "PYTHONPATH": str(Path(__file__).with_name("broken"))
}  # of processes in which HA-26 fails, and HA-02 in part


def run_audit(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "sb", "harness", "audit", *arguments],
        capture_output=True,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Callable[[], Any]], Any]:
    """Makes what has that name once for all test processes of a run; the others wait, and read it."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent

    def made(name: str, make: Callable[[], Any]) -> Any:
        before = folder / f"{name}.pickle"
        with open(folder / f"{name}.lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not before.exists():
                before.write_bytes(pickle.dumps(make()))
        return pickle.loads(before.read_bytes())

    return made


@pytest.fixture(scope="session")
def audited(once: Callable[[str, Callable[[], Any]], Any]) -> subprocess.CompletedProcess[bytes]:
    """The whole audit as JSON, by a process of its own in which a P0 control fails."""
    run: subprocess.CompletedProcess[bytes] = once(
        "audited", lambda: run_audit("--json", PYTHONHASHSEED="1", TZ="UTC", **BROKEN)
    )
    return run


@pytest.fixture(scope="session")
def whole_report(once: Callable[[str, Callable[[], Any]], Any]) -> AuditReport:
    """The report of the whole audit in which a P0 control fails, before it is printed."""

    def broken() -> AuditReport:
        with pytest.MonkeyPatch.context() as patch:
            breaks(patch)
            return audit()

    report: AuditReport = once("report", broken)
    return report


def breaks(patch: pytest.MonkeyPatch) -> None:
    """Break HA-26, and HA-02 in part, in this process."""
    patch.setattr(RunBudget, "remaining_tool_calls", lambda budget: 1)
    patch.setattr(model_planner, "compile_prompt", lambda text, items=(), **_: Prompt(text))
