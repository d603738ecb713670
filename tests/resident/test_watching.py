"""The helper's watch of a project: the tree before a call is not looked for while nothing changed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.resident.conftest import Site, wait_for

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is of Linux")


def watched(site: Site) -> bool | None:
    """True once every folder is watched and nothing changed since the last tree; None before."""
    for path in site.home.trees.glob("*/watch.json"):
        state = json.loads(path.read_bytes())
        return True if state["queue"] not in ("", "never") and state["clean"] else None
    return None


def call(site: Site, shop: Path, use_id: str) -> None:
    fields = {"hook_event_name": "PostToolUse", "tool_response": {"stdout": ""}}
    assert site.ask(site.payload("python3 x.py", use_id, cwd=str(shop))) == (0, b"", b"")
    assert site.ask(site.payload("python3 x.py", use_id, cwd=str(shop), **fields)) == (0, b"", b"")


def stored(site: Site) -> str:
    """The tree of the project that was stored last."""
    [latest] = site.home.trees.glob("*/latest.json")
    [part] = json.loads(latest.read_bytes())["parts"]
    return str(json.loads((latest.parent / "parts" / part).read_bytes())["tree"])


def test_project_is_watched_after_some_calls(helped: Site) -> None:
    shop = helped.project / "shop"
    (shop / "src").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", shop], check=True)
    helped.configure("undo: {tree_ms: 60000}\n")
    for number in range(20):
        call(helped, shop, f"t{number}")
        if watched(helped):
            break
    wait_for(lambda: watched(helped))
    before = stored(helped)
    (shop / "src" / "new.py").write_text("x = 1\n", encoding="utf-8")
    helped.ask(helped.payload("python3 x.py", "last", cwd=str(shop)))
    assert stored(helped) != before
