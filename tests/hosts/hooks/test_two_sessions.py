"""Two live sessions that change one file: each is named to the other, or the second is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sb.hosts.claude_code.events import ADAPTER as CLAUDE_CODE
from sb.hosts.codex.events import ADAPTER as CODEX
from sb.hosts.gemini_cli.events import ADAPTER as GEMINI
from sb.hosts.hooks.adapter import Adapter
from sb.hosts.hooks.event import Decision, HookVerdict
from sb.hosts.hooks.judging import judge
from sb.hosts.windsurf.events import ADAPTER as WINDSURF
from sb.kernel.calls.narrative import describe
from sb.kernel.review.log_verification import verify
from sb.kernel.review.session_conflicts import ROWS, WINDOW_S, SessionConflicts
from tests.hosts.hooks.conftest import Host

FIRST, SECOND = "aaaaaaaa-1", "bbbbbbbb-2"


def edits(host: Host, session: str, path: Path) -> HookVerdict:
    host.session = session
    return host.before("Write", file_path=str(path), content="x")


def test_each_is_told_of_the_other_once(host: Host) -> None:
    cart = host.project / "cart.py"
    assert edits(host, FIRST, cart) == HookVerdict()
    second = edits(host, SECOND, cart)
    assert second.decision is Decision.NONE
    assert f"{cart} is also being changed by another live session, claude-code aaaaaaaa" in second.context
    host.session = FIRST
    notice = host.before("Read", file_path=str(cart)).context
    assert f"{cart} is also being changed by another live session, claude-code bbbbbbbb" in notice
    assert [host.before("Read", file_path=str(cart)), edits(host, FIRST, cart)] == [
        HookVerdict(),
        HookVerdict(),
    ]
    assert edits(host, SECOND, cart) == HookVerdict()


def test_log_says_it_in_words_and_verifies(host: Host) -> None:
    cart = host.project / "cart.py"
    edits(host, FIRST, cart)
    edits(host, SECOND, cart)
    lines = [describe(event) for event in host.events() if event.kind.startswith("session.")]
    assert lines == [
        f"claude-code: {cart} is also being changed by claude-code aaaaaaaa",
        f"claude-code: {cart} is also being changed by claude-code bbbbbbbb",
        "claude-code was told of sessions that change the same files: 1",
    ]
    with host.open() as runtime:
        assert verify(runtime.log).ok


def test_first_one_is_told_at_its_next_prompt_too(host: Host) -> None:
    cart = host.project / "cart.py"
    edits(host, FIRST, cart)
    edits(host, SECOND, cart)
    host.session = FIRST
    assert "bbbbbbbb" in host.tell("UserPromptSubmit", prompt="go on").context


def test_other_files_and_one_session_alone_are_no_conflict(host: Host) -> None:
    for number in range(3):
        assert edits(host, FIRST, host.project / "cart.py") == HookVerdict()
        assert edits(host, SECOND, host.project / f"other{number}.py") == HookVerdict()
        assert edits(host, SECOND, host.project / "art.py") == HookVerdict()


def test_command_line_that_writes_the_file_is_a_conflict(host: Host) -> None:
    cart = host.project / "cart.py"
    edits(host, FIRST, cart)
    host.session = SECOND
    assert "aaaaaaaa" in host.before("Bash", command="echo broken > cart.py").context
    assert host.before("Bash", command="cat cart.py") == HookVerdict()


def test_session_that_ended_is_no_conflict(host: Host) -> None:
    cart = host.project / "cart.py"
    edits(host, FIRST, cart)
    host.tell("SessionEnd", reason="other")
    assert edits(host, SECOND, cart) == HookVerdict()


def test_refuse_keeps_the_second_from_changing_the_file(host: Host) -> None:
    host.configure("hooks: {conflicts: refuse}\n")
    cart = host.project / "cart.py"
    assert edits(host, FIRST, cart).decision is Decision.NONE
    second = edits(host, SECOND, cart)
    assert second.decision is Decision.DENY
    assert "another live session, claude-code aaaaaaaa; hooks.conflicts = refuse" in second.reason
    assert edits(host, SECOND, host.project / "other.py").decision is Decision.NONE
    assert edits(host, FIRST, cart).decision is Decision.NONE


def test_off_looks_at_nothing(host: Host) -> None:
    host.configure("hooks: {conflicts: off}\n")
    cart = host.project / "cart.py"
    assert [edits(host, item, cart) for item in (FIRST, SECOND, FIRST)] == [HookVerdict()] * 3
    assert host.events(kind="session.conflict") == []


def test_changes_of_longer_ago_are_no_news(host: Host) -> None:
    cart = host.project / "cart.py"
    edits(host, FIRST, cart)
    with host.open() as runtime:
        now = runtime.log.clock.now
        later = SessionConflicts(runtime.log, "run_" + "0" * 16, "claude-code", SECOND)
        assert [conflict.session for conflict in later.find([str(cart)])] == [FIRST]
        runtime.log.clock = Later(now() + WINDOW_S + 1)  # type: ignore[assignment]
        assert later.find([str(cart)]) == []


class Later:
    def __init__(self, at: float) -> None:
        self.now = lambda: at


def test_query_looks_at_a_bounded_part_of_the_log_through_indexes(host: Host) -> None:
    edits(host, FIRST, host.project / "cart.py")
    from sb.kernel.review.session_conflicts import _TOUCHES

    with host.open() as runtime:
        plan = runtime.database.query(f"EXPLAIN QUERY PLAN {_TOUCHES}", (0, 1 << 40, 0, *[None] * 8))
    steps = " ".join(str(row[3]) for row in plan)
    assert "events_by_run (run_id=? AND rowid>?)" in steps, steps
    assert "sessions_of_hosts" in steps, steps
    assert "SCAN events" not in steps.replace("SCAN events USING INDEX sessions_of_hosts", ""), steps
    assert ROWS <= 10_000


@pytest.mark.parametrize(
    ("adapter", "event", "answer"),
    [
        (
            CLAUDE_CODE,
            "PreToolUse",
            {
                "systemMessage": "look",
                "hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": "look"},
            },
        ),
        (
            CODEX,
            "PreToolUse",
            {"hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": "look"}},
        ),
        (
            GEMINI,
            "BeforeAgent",
            {"hookSpecificOutput": {"hookEventName": "BeforeAgent", "additionalContext": "look"}},
        ),
    ],
)
def test_notice_is_answered_as_the_host_documents(adapter: Adapter, event: str, answer: object) -> None:
    read = adapter.read({"hook_event_name": event, "session_id": "s", "tool_name": "Bash", "tool_input": {}})
    assert json.loads(adapter.answer(read, HookVerdict(context="look")).stdout) == answer
    assert adapter.answer(read, HookVerdict()).stdout == ""


def test_real_hook_tells_the_second_session(host: Host) -> None:
    cart = host.project / "cart.py"
    edits(host, FIRST, cart)
    host.session = SECOND
    given = {
        "tool_name": "Write",
        "tool_input": {"file_path": str(cart), "content": "x"},
        "tool_use_id": "t9",
    }
    done = host.run(host.payload("PreToolUse", **given))
    answer = json.loads(done.stdout)
    assert "claude-code aaaaaaaa" in answer["hookSpecificOutput"]["additionalContext"]
    assert "permissionDecision" not in answer["hookSpecificOutput"]
    assert (done.returncode, done.stderr) == (0, "")


def test_host_without_a_place_for_it_is_told_on_stderr(host: Host) -> None:
    edits(host, FIRST, host.project / "cart.py")
    payload = {
        "agent_action_name": "pre_write_code",
        "trajectory_id": SECOND,
        "tool_info": {"file_path": str(host.project / "cart.py"), "edits": []},
    }
    verdict = judge(host.config(), WINDSURF, WINDSURF.read(payload))
    assert (verdict.decision, verdict.context) == (Decision.NONE, "")
    assert "another live session, claude-code aaaaaaaa" in verdict.reason


@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    name=st.text(
        st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/~:"), min_size=1, max_size=12
    )
)
def test_file_is_found_whatever_its_name(host: Host, name: str) -> None:
    path = host.project / name.strip("., ").join("xx")
    edits(host, FIRST, path)
    with host.open() as runtime:
        other = SessionConflicts(runtime.log, "run_" + "0" * 16, "claude-code", SECOND)
        assert [conflict.session for conflict in other.find([str(path)])] == [FIRST]
