"""Claims of an agent's last message, held against what its host reported."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from sb.hosts.hooks.event import Decision, HookVerdict
from sb.kernel.review.claimed import is_grounded, last_claims, recorded_calls
from sb.kernel.review.runs import first_events, runs_at
from sb.log.kinds import CLAIMS_JUDGED
from sb.present.events import event_line
from sb.present.runs import RUN, UsedRun
from tests.hosts.hooks.conftest import Host
from tests.rows import rows

PASSED, FAILED = {"stdout": "3 passed in 0.1s"}, {"stdout": "1 failed, 2 passed in 0.1s"}


def ran(host: Host, command: str, use_id: str, response: Any = "", **more: Any) -> None:
    host.before("Bash", use_id, command=command, **more)
    host.after("Bash", use_id, response, command=command, **more)


def failed(host: Host, command: str, use_id: str, error: str) -> None:
    host.before("Bash", use_id, command=command)
    fields = {"tool_name": "Bash", "tool_use_id": use_id, "tool_input": {"command": command}}
    host.tell("PostToolUseFailure", **fields, error=error)


def stopped(host: Host, message: str, *, again: bool = False) -> HookVerdict:
    return host.tell("Stop", last_assistant_message=message, stop_hook_active=again)


def verdicts(host: Host) -> list[tuple[str, str]]:
    (run,) = {event.subject.run_id for event in host.events()}
    with host.open() as runtime:
        return [(item.claim.kind, str(item.verdict)) for item in last_claims(runtime.log, run)]


def test_supported_claim_is_on_record_and_nobody_is_told(host: Host) -> None:
    ran(host, "pytest -q | tail -3", "t1", PASSED)
    assert stopped(host, "All tests pass.") == HookVerdict()
    assert verdicts(host) == [("tests", "supported")]
    assert host.tell("UserPromptSubmit", prompt="thanks").context == ""


def test_disputed_claim_is_told_once_when_the_user_writes(host: Host) -> None:
    ran(host, "pytest -q || true", "t1", FAILED)
    assert stopped(host, "Fixed it. All tests pass.") == HookVerdict()
    assert ("tests", "contradicted") in verdicts(host)
    context = host.tell("UserPromptSubmit", prompt="and now?").context
    assert '"All tests pass.": the last test run failed: pytest -q (1 failed)' in context
    assert host.tell("UserPromptSubmit", prompt="so?").context == ""


def test_hold_keeps_the_agent_from_stopping_once(host: Host) -> None:
    host.configure("hooks: {claims: hold}\n")
    host.write(host.project / "cart.py", "x = 1\n", "t1")
    verdict = stopped(host, "I've committed the changes.")
    assert verdict.decision is Decision.DENY
    assert "no commit is on record" in verdict.reason
    assert stopped(host, "I've committed the changes.", again=True) == HookVerdict()
    assert host.tell("UserPromptSubmit", prompt="go on").context == ""


def test_process_blocks_the_stop_in_the_hosts_form(host: Host) -> None:
    host.configure("hooks: {claims: hold}\n")
    host.write(host.project / "cart.py", "x = 1\n", "t1")
    payload = host.payload("Stop", last_assistant_message="Deployed to staging.", stop_hook_active=False)
    done = host.ask(payload)
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["decision"]) == (0, "block")
    assert '"Deployed to staging.": no deployment is on record' in answer["reason"]
    done = host.ask(payload | {"stop_hook_active": True})
    assert (done.returncode, done.stdout) == (0, "")


def test_off_records_nothing(host: Host) -> None:
    host.configure("hooks: {claims: 'off'}\n")
    ran(host, "pytest -q", "t1", FAILED)
    assert stopped(host, "All tests pass.") == HookVerdict()
    assert host.events(kind="claims.judged") == []


def test_command_that_its_host_does_not_wait_for_supports_nothing_and_disputes_nothing(host: Host) -> None:
    ran(host, "pytest -q", "t1", {"stdout": "", "backgroundTaskId": "b"}, run_in_background=True)
    stopped(host, "All tests pass.")
    assert verdicts(host) == [("tests", "unknown")]


def test_denied_call_supports_nothing(host: Host) -> None:
    host.mode = "bypassPermissions"
    host.configure('policy:\n  - {deny: "host.shell.*", runs: git push, reason: not this}\n')
    host.write(host.project / "cart.py", "x = 1\n", "t1")
    assert host.before("Bash", "t2", command="git push").decision is Decision.DENY
    stopped(host, "I pushed the branch.")
    assert verdicts(host) == [("push", "unsupported")]


def test_session_that_goes_on_from_another_one_is_not_disputed_for_what_is_missing(host: Host) -> None:
    host.tell("SessionStart", source="resume")
    host.write(host.project / "cart.py", "x = 1\n", "t1")
    stopped(host, "All tests pass.")
    assert verdicts(host) == [("tests", "unknown")]
    failed(host, "pytest -q", "t2", "Exit code 1\n1 failed")
    stopped(host, "All tests pass.")
    assert verdicts(host) == [("tests", "contradicted")]


def test_claims_of_a_subagent_are_left_to_its_agent(host: Host) -> None:
    host.write(host.project / "cart.py", "x = 1\n", "t1")
    host.tell("SubagentStop", last_assistant_message="All tests pass.", agent_id="a1")
    assert host.events(kind="claims.judged") == []


def test_only_what_the_turn_changed_counts_against_no_other_files(host: Host) -> None:
    host.write(host.project / "order.py", "x = 1\n", "t1")
    host.tell("UserPromptSubmit", prompt="now the cart")
    host.write(host.project / "cart.py", "x = 1\n", "t2")
    stopped(host, "I only modified cart.py.")
    assert verdicts(host) == [("others", "supported")]
    host.write(host.project / "order.py", "x = 2\n", "t3")
    stopped(host, "I only modified cart.py.")
    assert verdicts(host) == [("others", "contradicted")]


def test_stored_tree_tells_which_other_files_a_command_changed(host: Host) -> None:
    subprocess.run(["git", "init", "-q", str(host.project)], check=True)
    host.configure("undo: {tree_ms: 60000}\n")
    host.write(host.project / "cart.py", "x = 1\n", "t1")
    ran(host, "make fmt", "t2")
    stopped(host, "I only modified cart.py.")
    assert verdicts(host) == [("others", "supported")]
    host.before("Bash", "t3", command="make fmt")
    (host.project / "order.py").write_text("x = 1\n", encoding="utf-8")
    host.after("Bash", "t3", "", command="make fmt")
    stopped(host, "I only modified cart.py.")
    assert verdicts(host) == [("others", "contradicted")]


def test_run_shows_its_disputed_claims(host: Host) -> None:
    failed(host, "npm run build", "t1", "Exit code 1\nFailed to compile")
    stopped(host, "The build succeeds.")
    with host.open() as runtime:
        (run,) = runs_at(runtime.log, first_events(runtime.log)).values()
        assert run.disputed_claims == ("The build succeeds.",)
        assert is_grounded(runtime.log, run.run_id) is False
        assert RUN.text(UsedRun(run), 0, "state") == "open; 1 disputed claim"
        (event,) = runtime.log.events(kind=CLAIMS_JUDGED)
        assert event_line(event).object.startswith(
            "The build succeeds. (the last build failed: npm run build"
        )


def test_printed_end_is_on_record_masked_beside_the_files_of_a_call(host: Host) -> None:
    secret = "ghp_" + "a1B2" * 9
    ran(host, "make report", "t1", {"stdout": f"{secret}\n" + "x" * 300 + "\n7 passed"})
    (run,) = {event.subject.run_id for event in host.events()}
    with host.open() as runtime:
        (call,) = recorded_calls(runtime.log, run)
    assert call.output.endswith("7 passed")
    assert secret not in call.output


@rows(
    "message",
    ["", "x" * 1_000_000, "All tests pass. " * 10_000, "\x00\x1b[2J\u202eAll tests pass.\ud800", "`" * 5_000],
)
def test_hostile_message_ends_the_turn(host: Host, message: str) -> None:
    host.write(host.project / "cart.py", "x = 1\n", f"t{len(host.events())}")
    assert stopped(host, message).decision is Decision.NONE


@pytest.mark.parametrize("response", [None, 7, [], {"stdout": 3}, {"stdout": "x" * 100_000}])
def test_odd_results_are_read(host: Host, response: Any) -> None:
    ran(host, "pytest -q", "t1", response)
    assert stopped(host, "All tests pass.").decision is Decision.NONE
