"""Calls of hosts without call ids: equal calls stay separate."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from sb.hosts.gemini_cli.events import ADAPTER as GEMINI_CLI
from sb.hosts.hooks.event import Decision, HookVerdict
from sb.hosts.hooks.judging import judge
from sb.kernel.authority.signing import Label
from sb.kernel.review.log_verification import verify
from tests.hosts.hooks import recorded
from tests.hosts.hooks.conftest import Host

ADA = Label("ada")


class Gemini:
    """Gemini CLI, as far as its hooks see it."""

    def __init__(self, host: Host) -> None:
        self.host = host

    def payload(self, event: str, tool: str = "run_shell_command", **args: Any) -> dict[str, Any]:
        sent = recorded.payload("gemini-cli", event, self.host.project)
        return sent | {"tool_name": tool, "tool_input": args} if args else sent

    def tell(self, event: str, *tool: str, **args: Any) -> HookVerdict:
        read = GEMINI_CLI.read(self.payload(event, *tool, **args))
        return judge(self.host.config(), GEMINI_CLI, read)

    def calls(self) -> list[tuple[str, str]]:
        """Each call's id, and what the log says of it."""
        with self.host.open() as runtime:
            assert verify(runtime.log).ok
            events = list(runtime.log.events(agent="gemini-cli", kind="kernel.tool.dispatch"))
        dispatches = [(event.subject.call_id or "", event.payload or {}) for event in events]
        return [
            (call_id, str(dispatch.get("state") or dispatch["phase"])) for call_id, dispatch in dispatches
        ]


@pytest.fixture
def gemini(host: Host) -> Gemini:
    return Gemini(host)


def test_the_same_call_twice_in_a_row_is_two_calls(gemini: Gemini) -> None:
    for _ in range(2):
        assert gemini.tell("BeforeTool", command="make") == HookVerdict()
        gemini.tell("AfterTool", command="make")
    calls = gemini.calls()
    assert [state for _, state in calls] == ["intent", "done", "intent", "done"]
    assert calls[0][0] == calls[1][0] != calls[2][0] == calls[3][0]


def test_report_ends_the_oldest_of_equal_calls(gemini: Gemini) -> None:
    for _ in range(2):
        gemini.tell("BeforeTool", command="make")
    gemini.tell("AfterTool", command="make")
    calls = gemini.calls()
    assert calls[2] == (calls[0][0], "done")
    gemini.tell("AfterAgent")
    assert gemini.calls()[3] == (calls[1][0], "unreported")


def test_equal_calls_in_parallel_are_each_reported_once(gemini: Gemini) -> None:
    host = gemini.host
    gemini.tell("SessionStart")

    def at_once(event: str) -> None:
        sent = gemini.payload(event, command="make")
        threads = [threading.Thread(target=host.run, args=(sent, "gemini-cli")) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    at_once("BeforeTool")
    at_once("AfterTool")
    calls = gemini.calls()
    assert sorted(state for _, state in calls) == ["done"] * 4 + ["intent"] * 4
    assert len({call_id for call_id, _ in calls}) == 4
    with host.open() as runtime:
        assert runtime.executor.in_doubt() == []


def test_one_approval_lets_one_of_equal_calls_pass(gemini: Gemini) -> None:
    assert gemini.tell("BeforeTool", command="rm -rf /data/build").decision is Decision.DENY
    with gemini.host.open() as runtime:
        (waiting,) = runtime.approvals.page()
        runtime.approvals.approve(waiting.id, ADA, "once")
    assert gemini.tell("BeforeTool", command="rm -rf /data/build") == HookVerdict()
    assert gemini.tell("BeforeTool", command="rm -rf /data/build").decision is Decision.DENY
    gemini.tell("AfterTool", command="rm -rf /data/build")
    assert gemini.tell("BeforeTool", command="rm -rf /data/build").decision is Decision.DENY


def test_each_of_two_equal_writes_is_undone_to_its_own_snapshot(gemini: Gemini) -> None:
    path = gemini.host.project / "a.txt"
    path.write_text("first", encoding="utf-8")
    given = {"file_path": str(path), "content": "made"}
    for former in ("first", "second"):
        path.write_text(former, encoding="utf-8")
        gemini.tell("BeforeTool", "write_file", **given)
        path.write_text("made", encoding="utf-8")
        gemini.tell("AfterTool", "write_file", **given)
    with gemini.host.open() as runtime:
        (run,) = runtime.log.events(agent="gemini-cli", kind="kernel.run.started")
        newest = max(runtime.recovery.mutations.of_run(run.subject.run_id), key=lambda ref: ref.mutation_id)
        assert [undone.state for undone in runtime.recovery.undo_all([newest], ADA, "no")] == ["reversed"]
    assert path.read_text(encoding="utf-8") == "second"


def test_command_is_judged_in_the_folder_that_it_names(gemini: Gemini) -> None:
    verdict = gemini.tell("BeforeTool", command="cat config.yaml", dir_path=str(gemini.host.home))
    assert verdict.decision is Decision.DENY
    assert "SecondBrain" in verdict.reason
