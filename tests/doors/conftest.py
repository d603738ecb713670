"""Programs that other parties wrote, as `make test-doors` installs them: `make test` leaves these tests out."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hosts.install.conftest import person

__all__ = ["person"]  # a fixture: pytest looks for it here

collect_ignore_glob = [] if "SB_DOORS" in os.environ else ["test_*.py"]
DOORS = Path(os.environ.get("SB_DOORS", "."))
PACKAGES = DOORS / "node_modules" / "@modelcontextprotocol"
NODE = DOORS.parent / "bin" / "node"
LONGEST_S = 300

Node = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def node() -> Node:
    """Runs a script of a package, or one of ours with the packages at hand."""

    def run(script: Path, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [NODE, script, *map(str, arguments)],
            env=os.environ | {"SB_DOORS": str(DOORS)} | environment,
            capture_output=True,
            text=True,
            timeout=LONGEST_S,
            check=False,
        )

    return run
