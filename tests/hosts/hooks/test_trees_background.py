"""Calls in the background: each record holds what its call did, or says that others ran meanwhile."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from sb.hosts.hooks.event import HookVerdict
from tests.hosts.hooks.conftest import Host
from tests.hosts.hooks.test_snapshots import ADA
from tests.hosts.hooks.test_trees import of_work, shop

__all__ = ["shop"]

# Writes the files that it is told to, one after the other, each when `go/FILE` is there.
WRITER = (
    "import sys, time, pathlib\nfor f in sys.argv[1:]:\n    while not pathlib.Path('go.log', f).exists(): time.sleep(.005)\n"
    "    pathlib.Path('src', f).write_text(f); pathlib.Path('go.log', f).unlink()\n"
)


def in_background(host: Host, use_id: str, *files: str) -> subprocess.Popen[bytes]:
    given = {"command": f"make {use_id}", "run_in_background": True}
    assert host.before("Bash", use_id, **given) == HookVerdict()
    process = subprocess.Popen([sys.executable, "-c", WRITER, *files], cwd=host.project)
    host.after("Bash", use_id, {"stdout": ""}, **given)
    return process


def go(host: Host, name: str) -> None:
    """Let a writer write a file, and wait until it has."""
    (host.project / "go.log" / name).touch()
    until = time.monotonic() + 30
    while (host.project / "go.log" / name).exists():
        assert time.monotonic() < until
        time.sleep(0.005)


def records(host: Host) -> dict[str, tuple[set[str], int]]:
    """The files of each call's record, and how many others ran meanwhile."""
    found = {}
    for event in host.events(kind="kernel.tool.dispatch"):
        payload = event.payload or {}
        if payload.get("phase") == "intent":
            intents = {"command": payload["args"]["command"].removeprefix("make ")}
            found[event.subject.call_id] = intents
        elif isinstance(payload.get("result"), dict):
            result = payload["result"]
            names = {Path(row["path"]).name for row in result.get("files", ())}
            found[event.subject.call_id] |= {"files": names, "overlapping": result.get("overlapping", 0)}
    return {item["command"]: (item["files"], item["overlapping"]) for item in found.values()}


def test_two_writers_and_a_call_between_are_told_apart_or_said_to_overlap(shop: Host) -> None:
    (shop.project / "go.log").mkdir()
    before = of_work(shop.project)
    first = in_background(shop, "first", "f1", "f2", "f3")
    go(shop, "f1")
    given = {"command": "make middle"}
    assert shop.before("Bash", "middle", **given) == HookVerdict()
    (shop.project / "src" / "m").write_text("m", encoding="utf-8")
    go(shop, "f2")
    shop.after("Bash", "middle", {"stdout": ""}, **given)
    second = in_background(shop, "second", "s1")
    go(shop, "s1")
    go(shop, "f3")
    assert (first.wait(30), second.wait(30)) == (0, 0)
    shop.tell("SessionEnd", reason="other")
    assert records(shop) == {"first": ({"f1"}, 0), "middle": ({"m", "f2"}, 1), "second": ({"s1", "f3"}, 1)}
    with shop.open() as runtime:
        for ref in runtime.recovery.mutations.newest():
            assert runtime.recovery.undo(ref, ADA, "not wanted").state == "reversed"
    assert of_work(shop.project) == before


def test_next_session_is_not_told_of_calls_that_ended_with_theirs(shop: Host) -> None:
    (shop.project / "go.log").mkdir()
    first = in_background(shop, "first", "f1")
    shop.tell("SessionEnd", reason="other")
    go(shop, "f1")
    assert first.wait(30) == 0
    other = Host(shop.home, shop.project, "session-2", forks=shop.forks)
    given = {"command": "make other"}
    assert other.before("Bash", "other", **given) == HookVerdict()
    (shop.project / "src" / "o").write_text("o", encoding="utf-8")
    other.after("Bash", "other", {"stdout": ""}, **given)
    assert records(shop)["other"] == ({"o"}, 0)
