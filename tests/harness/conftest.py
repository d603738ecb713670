"""One audit of every control, for the tests that look at what it prints."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


def run_audit(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "sb", "harness", "audit", *arguments],
        capture_output=True,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.fixture(scope="session")
def audited() -> subprocess.CompletedProcess[bytes]:
    """The whole audit as JSON, by a process of its own."""
    return run_audit("--json", PYTHONHASHSEED="1", TZ="UTC")
