"""Edits of the person while a question about a call waits: they are not the call's, and undo leaves them alone."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from sb.config.home import Home
from sb.hosts.hooks.calls.context import SHELL_PREFIX
from sb.hosts.hooks.event import Decision
from sb.hosts.hooks.snapshots import warm_tree
from sb.tools.hosted.guarding import confiner_path
from tests.hosts.hooks.conftest import Host
from tests.hosts.hooks.test_snapshots import bash, undo_all
from tests.hosts.hooks.test_trees import program

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is a program for Linux")


@pytest.fixture
def shop(host: Host, monkeypatch: pytest.MonkeyPatch) -> Host:
    """A repository in a session whose host asks about calls, and starts them by `sb-confine`."""
    monkeypatch.setenv(SHELL_PREFIX, str(confiner_path(Home(host.home))))
    monkeypatch.setenv("SB_HOME", str(host.home))
    host.configure("hooks: {approval: ask}\nundo: {tree_ms: 60000}\n")
    bash(
        "rmdir .git; git init -q -b main; for n in edited deleted changed gone plain; do echo one > $n; done;"
        "git add .; git commit -qm one",
        host.project,
    )
    return host


def ticket(host: Host) -> dict[str, str]:
    (path,) = (host.home / "confine").glob("tickets/*.call")
    return dict(word.split("=", 1) for word in shlex.split(path.read_text("utf-8")))


def begin(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """Store the tree anew, as `sb-confine` does before it starts the line."""
    facts = ticket(host)
    assert facts["tree"] == str(host.project)
    with monkeypatch.context() as context:
        context.setattr("os.chdir", lambda folder: None)
        warm_tree.main(facts["tree"], facts["key"])


@pytest.mark.parametrize("named", [False, True])
def test_what_the_person_edits_while_the_host_asks_is_kept(
    named: bool, shop: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "" if named else "os.unlink('deleted');"
    text += "pathlib.Path('changed').write_text('agent'); os.unlink('plain'); os.unlink('made')"
    line = f"{program(shop, text)}; {'rm deleted; ' if named else ''}touch {Path.home()}/outside.txt"
    verdict = shop.before("Bash", "t1", command=line)
    assert verdict.decision is Decision.ASK
    for name in ("edited", "deleted", "changed", "made"):
        (shop.project / name).write_text("two, an hour of work\n", "utf-8")
    (shop.project / "gone").unlink()
    begin(shop, monkeypatch)
    bash(line.rpartition(";")[0], shop.project)
    shop.after("Bash", "t1", {"stdout": ""}, command=line)
    assert undo_all(shop) == ["reversed"]
    for name in ("edited", "deleted", "changed", "made"):
        assert (shop.project / name).read_text("utf-8") == "two, an hour of work\n", name
    assert (shop.project / "plain").read_text("utf-8") == "one\n"
    assert not (shop.project / "gone").exists()
