"""Answers of the hook in each host's form: denials are honoured, and nothing is blocked for good."""

from __future__ import annotations

import json
from subprocess import CompletedProcess
from typing import Any

import pytest

from sb.hosts.hooks.event import Decision, HookEvent, HookVerdict, Moment
from sb.hosts.hooks.judging import judge
from sb.hosts.hooks.main import _answer
from sb.hosts.registry import WITH_HOOKS, adapter_for
from tests.hosts.hooks import recorded
from tests.hosts.hooks.conftest import Host
from tests.rows import rows

ASKED = [(host, name) for host in recorded.HOSTS for name in recorded.ASKING[host]]


def reason(host: str, name: str, done: CompletedProcess[str]) -> str:
    """The reason why a call is refused, by what the host honours as a refusal and nothing else."""
    if host in ("windsurf", "opencode"):
        assert (done.returncode, done.stdout) == (2, "")
        return done.stderr.strip()
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    claudes = {"hookEventName": "PreToolUse", "permissionDecision": "deny"}
    match host:
        case "claude-code" | "codex" | "vscode":
            message = str(answer["hookSpecificOutput"].pop("permissionDecisionReason"))
            assert answer == {"hookSpecificOutput": claudes}
        case "gemini-cli":
            message = str(answer.pop("reason"))
            assert answer == {"decision": "deny"}
        case "cursor":
            message = str(answer.pop("user_message"))
            assert answer == {"permission": "deny", "agent_message": message}
        case _:
            message = str(answer["permissionDecisionReason"])
            decided = {"permissionDecision": "deny", "permissionDecisionReason": message}
            of_claude = {"hookSpecificOutput": {"hookEventName": "PreToolUse", **decided}}
            assert answer == {**decided, **of_claude}
    return message


@rows("name, event", ASKED)
def test_denial_has_exactly_the_form_that_the_host_honours(host: Host, name: str, event: str) -> None:
    host.configure('policy:\n- {deny: "host.*", reason: not here}\n')
    done = host.ask(recorded.payload(name, event, host.project), name)
    assert "not here" in reason(name, event, done)


@rows("name, event", ASKED)
def test_call_that_cannot_be_judged_is_denied_unless_it_only_reads(host: Host, name: str, event: str) -> None:
    host.configure("nonsense: 1\n")
    done = host.ask(recorded.payload(name, event, host.project), name)
    if event in ("beforeReadFile", "pre_read_code", "pascal.PreToolUse"):
        assert done.stdout in ("", '{"permission": "allow"}')
        assert done.returncode == 0
    else:
        assert "cannot judge this call" in reason(name, event, done)


@pytest.mark.parametrize("name", recorded.HOSTS)
@pytest.mark.parametrize("data", [b"", b'{"tool_name": "Ba', b"[]", b"\xff{}", b'{"a":' * 3000], ids=len)
def test_unreadable_event_blocks_one_call_with_one_line(host: Host, name: str, data: bytes) -> None:
    done = host.ask(data, name)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("SecondBrain: ")
    assert done.stderr.count("\n") == 1


def changed(sent: dict[str, Any], value: Any) -> dict[str, Any]:
    """The payload with something else where its tool and the tool's arguments are."""
    names = (
        "tool_name",
        "tool_input",
        "toolName",
        "toolArgs",
        "tool",
        "args",
        "command",
        "tool_info",
        "file_path",
    )
    return {name: value if name in names else item for name, item in sent.items()}  # fmt: skip


@pytest.mark.parametrize(("name", "event"), ASKED)
@pytest.mark.parametrize("value", [None, 7, [], {}, "", ["rm", "-rf", "/"]], ids=str)
def test_call_in_an_undocumented_form_needs_a_person(host: Host, name: str, event: str, value: Any) -> None:
    sent = changed(recorded.payload(name, event, host.project), value)
    adapter = adapter_for(name, sent)
    read = adapter.read(sent)
    if event in ("beforeReadFile", "pre_read_code"):
        return  # it still only reads
    assert judge(host.config(), adapter, read).decision is not Decision.NONE


@pytest.mark.parametrize("name", recorded.HOSTS)
def test_unknown_events_and_fields_are_harmless(host: Host, name: str) -> None:
    event = recorded.ASKING[name][0]
    sent = recorded.payload(name, event, host.project) | {"new_field": {"deep": [1, None]}, "seq": 1e400}
    assert host.ask(sent, name).returncode == 0
    field = {"windsurf": "agent_action_name", "opencode": "event"}.get(name, "hook_event_name")
    field = "hookEventName" if name == "vscode" else field
    unknown = {key: value for key, value in sent.items() if not key.startswith("tool")} | {field: "brandNew"}
    done = host.ask(unknown, name)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == ("{}" if name == "cursor" else "")


@pytest.mark.parametrize("name", recorded.HOSTS)
def test_twenty_megabytes_are_judged(host: Host, name: str) -> None:
    event = next(item for item in recorded.ASKING[name] if item not in ("beforeReadFile", "pre_read_code"))
    sent = recorded.payload(name, event, host.project) | {"padding": "x" * (20 << 20)}
    assert host.ask(sent, name).returncode == 0
    with host.open() as runtime:
        assert len(list(runtime.log.events(agent=name, kind="kernel.tool.dispatch"))) == 1


@rows("name, event", ASKED)
def test_only_cursor_claude_code_and_vs_code_ask_their_user(host: Host, name: str, event: str) -> None:
    host.configure('policy:\n- {approve: "host.*", reason: look first}\n')
    done = host.ask(recorded.payload(name, event, host.project), name)
    if event in ("beforeShellExecution", "beforeMCPExecution"):
        assert json.loads(done.stdout)["permission"] == "ask"
    elif name in ("claude-code", "vscode"):
        assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "ask"
    else:
        assert "Needs approval" in reason(name, event, done)


@rows("named", WITH_HOOKS)
def test_no_refusal_is_without_a_reason(named: str) -> None:
    event = HookEvent(named, "preToolUse", Moment.BEFORE, "s", "/")
    answer = adapter_for(named, {}).answer(
        event, HookVerdict(Decision.DENY, "  " if named == "codex" else "why")
    )
    assert (answer.stdout or answer.stderr).strip()
    if named == "codex":
        assert json.loads(answer.stdout)["hookSpecificOutput"]["permissionDecisionReason"].strip()


def test_verdict_that_cannot_be_printed_blocks() -> None:
    adapter = adapter_for("windsurf", {})
    event = HookEvent("windsurf", "pre_run_command", Moment.BEFORE, "s", "/")
    broken: Any = None
    assert _answer(adapter, event, broken).code == 2
    assert _answer(adapter, event._replace(moment=Moment.STOP), broken).code == 0
