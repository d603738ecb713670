"""An event whose first answer reached nobody is judged again, with one effect."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from sb.hosts.claude_code.events import ADAPTER as CLAUDE_CODE
from sb.hosts.gemini_cli.events import ADAPTER as GEMINI_CLI
from sb.hosts.hooks.adapter import Adapter
from sb.hosts.hooks.event import Decision, HookVerdict
from sb.hosts.hooks.judging import judge
from sb.kernel.authority.signing import Label
from tests.hosts.hooks import recorded
from tests.hosts.hooks.conftest import UNWATCHED, Host
from tests.hosts.hooks.test_sessions import undo_all

Payload = dict[str, Any]


def verdict_on(
    host: Host, adapter: Adapter, payload: Payload, nonce: str, *, again: bool = False
) -> HookVerdict:
    event = adapter.read(payload)._replace(nonce=nonce, again=again)
    return judge(host.config(), adapter, event)


def twice(host: Host, adapter: Adapter, payload: Payload, nonce: str) -> list[HookVerdict]:
    return [verdict_on(host, adapter, payload, nonce, again=again) for again in (False, True)]


def bash(host: Host, command: str, event: str = "PreToolUse") -> Payload:
    fields = {"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": command}}
    return host.payload(event, **fields, tool_response="ok")


def gemini(host: Host, event: str) -> Payload:
    sent = recorded.payload("gemini-cli", event, host.project)
    return sent | {"tool_name": "run_shell_command", "tool_input": {"command": "make"}}


def states(host: Host, agent: str) -> list[str]:
    with host.open() as runtime:
        events = list(runtime.log.events(agent=agent, kind="kernel.tool.dispatch"))
    payloads = [event.payload or {} for event in events]
    return [str(payload.get("state") or payload["phase"]) for payload in payloads]


def test_call_without_id_is_one_call_under_one_nonce(host: Host) -> None:
    assert twice(host, GEMINI_CLI, gemini(host, "BeforeTool"), "n1") == [HookVerdict(), HookVerdict()]
    assert states(host, "gemini-cli") == ["intent"]
    verdict_on(host, GEMINI_CLI, gemini(host, "BeforeTool"), "n2")
    assert states(host, "gemini-cli") == ["intent", "intent"]


def test_report_without_id_ends_one_call_under_one_nonce(host: Host) -> None:
    for nonce in ("n1", "n2"):
        verdict_on(host, GEMINI_CLI, gemini(host, "BeforeTool"), nonce)
    twice(host, GEMINI_CLI, gemini(host, "AfterTool"), "n3")
    assert states(host, "gemini-cli") == ["intent", "intent", "done"]
    verdict_on(host, GEMINI_CLI, gemini(host, "AfterTool"), "n4")
    assert states(host, "gemini-cli")[3:] == ["done"]


def test_host_asks_its_person_although_the_first_answer_is_lost(host: Host) -> None:
    first, second = twice(host, CLAUDE_CODE, bash(host, "rm -rf /srv/data"), "n1")
    assert first.decision is second.decision is Decision.ASK
    assert first.reason == second.reason
    assert states(host, "claude-code") == ["intent"]


def test_permission_is_asked_for_although_the_first_answer_is_lost(host: Host) -> None:
    host.configure("hooks: {approval: queue}\n")
    first, second = twice(host, CLAUDE_CODE, bash(host, "cat ~/.ssh/id_rsa"), "n1")
    assert first.decision is second.decision is Decision.ASK


def test_denial_stays_one_request(host: Host) -> None:
    host.mode = UNWATCHED
    first, second = twice(host, CLAUDE_CODE, bash(host, "rm -rf /srv/data"), "n1")
    assert first.decision is Decision.DENY
    assert first == second
    with host.open() as runtime:
        assert runtime.approvals.count() == 1


def test_approval_is_used_once_and_lets_the_call_go(host: Host) -> None:
    host.mode = UNWATCHED
    verdict_on(host, CLAUDE_CODE, bash(host, "rm -rf /srv/data"), "n1")
    with host.open() as runtime:
        (request,) = runtime.approvals.page()
        runtime.approvals.approve(request.id, Label("ada"), "old data")
    assert twice(host, CLAUDE_CODE, bash(host, "rm -rf /srv/data"), "n2") == [HookVerdict(), HookVerdict()]
    verdict_on(host, CLAUDE_CODE, bash(host, "rm -rf /srv/data", "PostToolUse"), "n3")
    another = bash(host, "rm -rf /srv/data") | {"tool_use_id": "t2"}
    assert verdict_on(host, CLAUDE_CODE, another, "n4").decision is Decision.DENY


def test_snapshot_that_the_first_judging_did_not_come_to_is_taken(host: Host) -> None:
    path = host.project / "a.txt"
    path.write_text("before", encoding="utf-8")
    fields: Payload = {"tool_name": "Write", "tool_use_id": "t1"}
    fields["tool_input"] = {"file_path": str(path), "content": "after"}
    payload = host.payload("PreToolUse", **fields)
    verdict_on(host, CLAUDE_CODE, payload, "n1")
    shutil.rmtree(host.config().home.snapshots)  # killed between its two halves
    assert verdict_on(host, CLAUDE_CODE, payload, "n1", again=True) == HookVerdict()
    path.write_text("after", encoding="utf-8")
    verdict_on(host, CLAUDE_CODE, host.payload("PostToolUse", **fields, tool_response="ok"), "n2")
    assert undo_all(host) == ["reversed"]
    assert path.read_text(encoding="utf-8") == "before"


@pytest.mark.parametrize("again", [False, True])
def test_id_of_another_call_is_no_way_around_a_person(again: bool, host: Host) -> None:
    verdict_on(host, CLAUDE_CODE, bash(host, "make"), "n1")
    verdict = verdict_on(host, CLAUDE_CODE, bash(host, "make install"), "n1", again=again)
    assert verdict.decision is Decision.DENY
