"""A coding agent's calls under enforced levels of autonomy: asked in place, refused after a fall, reads let through."""

from __future__ import annotations

import pytest

from sb.hosts.hooks.event import Decision
from tests.hosts.hooks.conftest import UNWATCHED, Host

CONFIG = "autonomy: {mode: MODE}\npolicy:\n  - {deny: host.fetch, name: no-web}\n"


@pytest.mark.parametrize("mode", ["enforce", "observe"])
def test_level_asks_about_what_changes_something(host: Host, mode: str) -> None:
    host.configure(CONFIG.replace("MODE", mode))
    assert host.before("Read", file_path=str(host.project / "a")).decision is not Decision.DENY
    changed = host.before("Write", file_path=str(host.project / "a"), content="x")
    assert (changed.decision is Decision.ASK) == (mode == "enforce")
    assert ("execute_with_approval" in changed.reason) == (mode == "enforce")
    ran = host.before("Bash", command="make build")
    assert (ran.decision is Decision.ASK) == (mode == "enforce")
    assert host.before("Bash", command="git status").decision is not Decision.DENY


def test_nobody_in_place_is_asked_in_the_queue(host: Host) -> None:
    host.configure(CONFIG.replace("MODE", "enforce"))
    host.mode = UNWATCHED
    queued = host.before("Write", file_path=str(host.project / "a"), content="x")
    assert queued.decision is Decision.DENY
    assert "apr_" in queued.reason


def test_destructive_command_asks_for_both_reasons(host: Host) -> None:
    host.configure(CONFIG.replace("MODE", "enforce"))
    host.before("Bash", command="git push --force origin main")
    with host.open() as runtime:
        facts = [event.payload or {} for event in runtime.log.events(kind="kernel.tool.dispatch")]
    rules = next(it["approval_rules"] for it in facts if "approval_rules" in it)
    assert {"destructive", "autonomy"} <= {*rules}


def test_fall_refuses_the_tool_and_not_the_others(host: Host) -> None:
    host.configure(CONFIG.replace("MODE", "enforce").replace("host.fetch", "host.write"))
    denied = host.before("Write", file_path=str(host.project / "a"), content="x")
    assert (denied.decision, "no-web" in denied.reason or "host.write" in denied.reason) == (
        Decision.DENY,
        True,
    )
    host.configure("autonomy: {mode: enforce}\n")
    refused = host.before("Write", file_path=str(host.project / "a"), content="x")
    assert refused.decision is Decision.DENY
    for text in ("draft", "sb autonomy proposals"):
        assert text in refused.reason
    assert host.before("Bash", command="make build").decision is Decision.ASK
