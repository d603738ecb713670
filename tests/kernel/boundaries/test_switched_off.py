"""Boundaries that are switched off are not even imported."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

_WORK = """
import json, sys
from sb.runtime import open_runtime
with open_runtime() as runtime:
    with runtime.run("clerk", "tidy") as ctx:
        assert runtime.executor.execute(ctx, "memory.search", {"query": "desk"}) is not None
    brain = runtime.brain("clerk")
    brain.remember("the desk is tidy")
    assert brain.search("desk")
print(json.dumps(sorted(sys.modules)))
"""
_MODULES = (
    "boundaries",
    "attacks",
    "red_team",
    "replay",
    "memory_read_policy",
    "agent_charter",
    "release_tuple",
)


def test_no_module_of_the_boundaries_is_imported_while_all_are_off(home: Path) -> None:
    done = subprocess.run([sys.executable, "-c", _WORK], capture_output=True, text=True, check=True)
    loaded = json.loads(done.stdout)
    assert "sb.kernel.execution.executor" in loaded
    refused = tuple(f"sb.kernel.{name}" for name in _MODULES)
    assert [name for name in loaded if name.startswith(refused)] == []
