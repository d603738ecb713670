"""A session of Claude Code: judged, recorded, undone."""

from __future__ import annotations

from pathlib import Path

import pytest

from sb.base.sources import iso_micros
from sb.hosts.hooks.event import Decision, HookVerdict
from sb.kernel.authority.signing import Label
from sb.kernel.calls.narrative import describe
from sb.kernel.recovery_loop.settling import Settlement, Settling
from sb.kernel.review.calls import run_turns
from sb.kernel.review.log_verification import verify
from sb.kernel.review.runs import first_events, runs_at
from sb.kernel.run_context import RunContext
from sb.runtime.parts import hosted_files
from tests.conftest import CommandLine
from tests.hosts.hooks.conftest import UNWATCHED, Host

ADA = Label("ada")
RM = {"command": "rm -rf /data/build"}


def undo_all(host: Host) -> list[str]:
    """Undo everything of the session; what became of each."""
    with host.open() as runtime:
        run_id = host.events(limit=1)[0].subject.run_id
        refs = runtime.recovery.mutations.of_run(run_id)
        return [undone.state for undone in runtime.recovery.undo_all(refs, ADA, "not wanted")]


def test_session_is_one_run_across_processes(host: Host) -> None:
    below = host.project / "src"
    below.mkdir()
    host.tell("SessionStart", source="startup", cwd=str(below))
    host.write(host.project / "a.txt", "one", "t1")
    host.tell("SessionEnd", reason="other")
    host.tell("SessionStart", source="resume")
    host.session = "session-2"
    host.write(host.project / "b.txt", "two", "t2")
    with host.open() as runtime:
        firsts = first_events(runtime.log)
        found = runs_at(runtime.log, firsts)
        runs = [found[first] for first in firsts]
    assert [(run.session, run.host, run.project) for run in runs] == [
        ("session-2", "claude-code", str(host.project)),
        ("session-1", "claude-code", str(host.project)),
    ]
    assert [event.kind for event in host.events()].count("kernel.run.started") == 2


def test_files_that_an_agent_wrote_are_undone_to_bytes_mode_and_existence(host: Host) -> None:
    script, new = host.project / "run.sh", host.project / "made" / "new.txt"
    script.write_bytes(b"#!/bin/sh\r\n\xff")
    script.chmod(0o750)
    host.write(script, "echo changed", "t1")
    script.chmod(0o750)
    host.write(new, "new", "t2")
    host.write(new, "newer", "t3")
    assert host.phases() == ["intent", "done"] * 3
    assert undo_all(host) == ["reversed"] * 3
    assert (script.read_bytes(), script.stat().st_mode & 0o777) == (b"#!/bin/sh\r\n\xff", 0o750)
    assert not new.exists()


def test_file_changed_since_is_not_undone(host: Host) -> None:
    path = host.project / "a.txt"
    host.write(path, "the agent's", "t1")
    path.write_text("a person's", encoding="utf-8")
    assert undo_all(host) == ["failed"]
    assert path.read_text(encoding="utf-8") == "a person's"


def test_a_write_through_a_link_is_undone_where_it_leads(host: Host, tmp_path: Path) -> None:
    target, link = tmp_path / "elsewhere.txt", host.project / "link.txt"
    target.write_text("before", encoding="utf-8")
    link.symlink_to(target)
    host.write(link, "after", "t1")
    assert undo_all(host) == ["reversed"]
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == "before"


def test_repeated_event_is_one_call(host: Host) -> None:
    path = host.project / "a.txt"
    given = {"file_path": str(path), "content": "one"}
    host.before("Write", "t1", **given)
    host.write(path, "one", "t1")
    host.after("Write", "t1", **given)
    assert host.phases() == ["intent", "done"]


def test_approval_is_single_use_under_the_same_call_id(host: Host) -> None:
    host.mode = UNWATCHED
    host.before("Bash", "t1", **RM)
    with host.open() as runtime:
        (waiting,) = runtime.approvals.page()
        runtime.approvals.approve(waiting.id, ADA, "once")
    assert host.before("Bash", "t2", **RM) == HookVerdict()
    assert host.before("Bash", "t2", **RM) == HookVerdict()  # two entries of the same host ask about one call
    host.after("Bash", "t2", **RM)
    again = host.before("Bash", "t2", **RM)
    assert (again.decision, "was made and reported" in again.reason) == (Decision.DENY, True)


def test_parallel_calls_are_separate(host: Host) -> None:
    first, second = host.project / "a.txt", host.project / "b.txt"
    for path, use_id in ((first, "t1"), (second, "t2")):
        host.before("Write", use_id, file_path=str(path), content=use_id)
        path.write_text(use_id, encoding="utf-8")
    for path, use_id in ((second, "t2"), (first, "t1")):
        host.after("Write", use_id, file_path=str(path), content=use_id)
    assert host.phases() == ["intent", "intent", "done", "done"]
    assert undo_all(host) == ["reversed"] * 2
    assert not first.exists()
    assert not second.exists()


def test_a_report_without_its_announcement_is_recorded_and_cannot_be_undone(host: Host) -> None:
    path = host.project / "a.txt"
    path.write_text("there", encoding="utf-8")
    host.after("Write", "t1", file_path=str(path), content="there")
    assert host.phases() == ["done"]
    assert undo_all(host) == []


@pytest.mark.parametrize("over", ["Stop", "UserPromptSubmit", "SessionEnd", "PostToolBatch"])
def test_a_call_that_was_judged_and_not_reported_is_unreported_once_the_turn_is_over(
    host: Host, over: str
) -> None:
    host.before("Write", "t1", file_path=str(host.project / "a.txt"), content="refused by the person")
    host.before("Bash", "t2", command="make")
    host.tell(over, tool_calls=[])
    assert host.phases() == ["intent", "intent", "unreported", "unreported"]
    with host.open() as runtime:
        assert runtime.executor.in_doubt() == []
        assert verify(runtime.log).ok


def test_a_write_that_happened_and_was_not_reported_is_in_doubt_and_can_be_undone(host: Host) -> None:
    path = host.project / "a.txt"
    path.write_text("before", encoding="utf-8")
    host.before("Write", "t1", file_path=str(path), content="after")
    path.write_text("after", encoding="utf-8")
    host.tell("Stop")
    with host.open() as runtime:
        (intent,) = runtime.executor.in_doubt()
        left = {"files": hosted_files(host.config()).states([str(path)])}
        settling = Settling(runtime.recovery)
        undone = settling.settle(intent.call_id, Settlement.COMPENSATE, ADA, "it was written", left)
        assert undone is not None
        assert undone.state == "reversed"
        assert verify(runtime.log).ok
    assert path.read_text(encoding="utf-8") == "before"


def test_a_batch_reports_what_it_has_an_answer_for_and_gives_up_the_rest(host: Host) -> None:
    for use_id in ("t1", "t2"):
        host.before("Bash", use_id, command=f"make {use_id}")
    call = {"tool_name": "Bash", "tool_input": {"command": "make t1"}, "tool_use_id": "t1"}
    host.tell("PostToolBatch", tool_calls=[{**call, "tool_response": {"stdout": "made"}}])
    assert host.phases() == ["intent", "intent", "done", "unreported"]


def test_a_failed_call_is_a_failure_and_an_interrupted_one_is_in_doubt(host: Host) -> None:
    for use_id, fields in (("t1", {"error": "exit 2"}), ("t2", {"error": "esc", "is_interrupt": True})):
        host.before("Bash", use_id, command="make")
        call = {"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": use_id}
        host.tell("PostToolUseFailure", **call, **fields)
    assert host.phases() == ["intent", "failed", "intent", "in_doubt"]


def test_destructive_call_needs_approval_and_then_runs_once(host: Host) -> None:
    host.mode = UNWATCHED
    verdict = host.before("Bash", "t1", **RM, description="tidy up")
    assert verdict.decision is Decision.DENY
    with host.open() as runtime:
        (waiting,) = runtime.approvals.page()
        assert f"sb approvals approve {waiting.id} --reason" in verdict.reason
        assert verdict.reason.startswith("SecondBrain: not run: rm -r deletes a folder")
        until = iso_micros(waiting.expires_at)[:16].replace("T", " ")
        assert f"The request expires at {until} UTC." in verdict.reason
        assert waiting.request["args"]["command"] == RM["command"]
        runtime.approvals.approve(waiting.id, ADA, "it is only the build")
    assert host.before("Bash", "t2", **RM, description="said otherwise") == HookVerdict()
    assert host.before("Bash", "t3", **RM).decision is Decision.DENY


def test_denial_by_a_person_and_a_kill_are_told_as_what_to_do_now(host: Host) -> None:
    host.mode = UNWATCHED
    host.before("Bash", "t1", **RM)
    with host.open() as runtime:
        (waiting,) = runtime.approvals.page()
        runtime.approvals.deny(waiting.id, ADA, "keep the build")
    denied = host.before("Bash", "t2", **RM).reason
    assert (
        "denied by ada: keep the build. The user decided this: do not repeat or rephrase the call" in denied
    )
    with host.open() as runtime:
        runtime.kill.throw("agent", "claude-code", ADA, "too fast")
    killed = host.before("Bash", "t3", command="ls").reason
    assert "killed by ada: too fast. Stop working, do not try other calls, and tell the user" in killed


def test_the_queue_shows_the_command_and_what_it_does_never_the_contract_alone(
    host: Host, sb: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.mode = UNWATCHED
    monkeypatch.setenv("SB_HOME", str(host.home))
    host.before("Bash", "t1", command="rm -rf ~/Pictures && ls", description="tidy up")
    for shown in (sb("approvals", "list").out, sb("console", "--plain", "inbox").out):
        assert " rm -rf ~/Pictures && ls " in shown
        assert "deletes" in shown
    with host.open() as runtime:
        (waiting,) = runtime.approvals.page()
    decided = sb("approvals", "approve", waiting.id, "--reason", "old pictures").out
    assert decided == f"Approved: rm -rf ~/Pictures && ls. Runs when claude-code repeats it. ({waiting.id})\n"
    assert (
        "asked       claude-code: rm -rf ~/Pictures && ls (host.shell.destructive)" in sb("log", "tail").out
    )


def test_memory_command_without_a_name_is_answered_with_the_option_to_add(host: Host) -> None:
    verdict = host.before("Bash", "t1", command="sb memory search redis")
    assert verdict.decision is Decision.DENY
    assert verdict.reason.endswith("Repeat it with `--agent claude-code`.")


@pytest.mark.parametrize(
    "call",
    [
        ("Bash", {"command": "sb approvals approve apr_1"}),
        ("Bash", {"command": "cat {home}/digest.key"}),
        ("Read", {"file_path": "{home}/operators.json"}),
        ("Grep", {"pattern": "x", "path": "{home}"}),
        ("Write", {"file_path": "{home}/config.yaml", "content": "safety_mode: normal"}),
        ("Edit", {"file_path": "{link}/config.yaml", "old_string": "a", "new_string": "b"}),
    ],
    ids=str,
)
def test_operator_commands_and_files_are_refused_to_agents(
    host: Host, call: tuple[str, dict[str, str]]
) -> None:
    host.configure("")
    link = host.project / "link"
    link.symlink_to(host.home)
    tool, given = call
    places = {"home": str(host.home), "link": str(link)}
    verdict = host.before(tool, "t1", **{name: value.format(**places) for name, value in given.items()})
    assert verdict.decision is Decision.DENY
    with host.open() as runtime:
        assert runtime.approvals.count() == 0
    assert (host.events()[-1].payload or {})["rule"] == "operators_own"


@pytest.mark.parametrize(
    "name", [".claude/settings.json", ".codex/hooks.json", ".cursor/hooks.json", ".mcp.json"]
)
def test_change_of_a_hosts_settings_needs_approval(host: Host, name: str) -> None:
    host.mode = UNWATCHED
    verdict = host.before("Write", "t1", file_path=str(host.project / name), content="{}")
    assert verdict.decision is Decision.DENY
    assert "the settings of a host" in verdict.reason
    assert "Needs approval" in verdict.reason


def test_a_kill_and_a_rule_stop_the_next_call(host: Host) -> None:
    host.configure('policy:\n- {deny: "host.shell.*", args: {command: "make *"}, reason: not here}\n')
    assert "not here" in host.before("Bash", "t1", command="make all").reason
    assert host.before("Bash", "t2", command="true") == HookVerdict()
    with host.open() as runtime:
        runtime.kill.throw("agent", "claude-code", ADA, "stop")
    assert host.before("Read", "t3", file_path=str(host.project / "a")).decision is Decision.DENY


def test_file_too_large_for_a_snapshot_needs_approval(host: Host) -> None:
    host.mode = UNWATCHED
    host.configure("files:\n  keep_max_bytes: 10\n")
    path = host.project / "large.txt"
    path.write_text("x" * 100, encoding="utf-8")
    verdict = host.before("Write", "t1", file_path=str(path), content="small")
    assert verdict.decision is Decision.DENY
    assert "cannot be undone" in verdict.reason


def test_unknown_tool_needs_approval_unless_listed_as_read_only(host: Host) -> None:
    host.mode = UNWATCHED
    verdict = host.before("LaunchRocket", "t1")
    assert verdict.decision is Decision.DENY
    assert "LaunchRocket is an unknown tool" in verdict.reason
    assert "of server maps, whose configuration is not known" in host.before("mcp__maps__route", "t2").reason
    host.configure('hooks:\n  read_only: ["mcp__maps__*", "LaunchRocket"]\n')
    assert host.before("LaunchRocket", "t3") == HookVerdict()
    host.before("mcp__maps__route", "t4", to="home")
    assert host.phases().count("intent") == 0


def test_host_contracts_cannot_be_called_in_process(host: Host) -> None:
    with host.open() as runtime:
        ctx = RunContext.create("agent")
        result = runtime.executor.execute(ctx, "host.shell.read", {"tool": "Bash", "command": "ls"})
        assert "performed by a host" in result.error_message
        announced = runtime.executor.external.announce(ctx, "files.list", {}, step="t1")
        assert "performed by this program" in announced.error_message


def test_secrets_in_commands_and_answers_are_masked_on_the_log(host: Host) -> None:
    token = "ghp_" + "a1B2" * 10
    host.before("Bash", "t1", command=f"make push TOKEN={token}")
    host.after("Bash", "t1", {"stdout": f"pushed with {token}"}, command=f"make push TOKEN={token}")
    assert host.phases() == ["intent", "done"]
    assert token not in str([event.payload for event in host.events()])


def test_a_subagent_in_the_background_goes_on_when_the_turn_is_over(host: Host) -> None:
    path = host.project / "a.txt"
    path.write_text("before", encoding="utf-8")
    given = {"file_path": str(path), "content": "after"}
    write = {"tool_name": "Write", "tool_use_id": "t1", "tool_input": given, "agent_id": "agent_1"}
    host.tell("PreToolUse", **write)
    host.before("Bash", "t2", command="make")
    for event in ("PostToolBatch", "Stop", "UserPromptSubmit"):
        host.tell(event, tool_calls=[])
    assert host.phases() == ["intent", "intent", "unreported"]
    path.write_text("after", encoding="utf-8")
    host.tell("PostToolUse", **write, tool_response={"type": "update"})
    assert host.phases()[-1] == "done"
    assert undo_all(host) == ["reversed"]
    assert path.read_text(encoding="utf-8") == "before"


def test_unreported_calls_of_a_subagent_end_when_it_stops(host: Host) -> None:
    call = {"tool_name": "Bash", "tool_input": {"command": "make"}}
    for number in (1, 2):
        host.tell("PreToolUse", **call, tool_use_id=f"t{number}", agent_id=f"agent_{number}")
    host.tell("SubagentStop", agent_id="agent_1")
    assert host.phases() == ["intent", "intent", "unreported"]
    host.tell("SessionEnd", reason="other")
    assert host.phases() == ["intent", "intent", "unreported", "unreported"]


@pytest.mark.parametrize("name", [".git/hooks/pre-commit", "/data/nobody/.bashrc", "/etc/hosts"])
def test_edit_of_files_that_others_run_needs_approval(
    host: Host, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.mode = UNWATCHED
    monkeypatch.setenv("HOME", "/data/nobody")
    path = Path(name) if name.startswith("/") else host.project / name
    by_edit = host.before("Write", "t1", file_path=str(path), content="x")
    by_shell = host.before("Bash", "t2", command=f"echo x > {path}")
    assert (by_edit.decision, by_shell.decision) == (Decision.DENY, Decision.DENY)
    assert "Needs approval" in by_edit.reason


def test_call_too_long_to_show_is_denied(host: Host) -> None:
    host.mode = UNWATCHED
    verdict = host.before("mystery", "t1", code="x" * 70_000)
    assert (verdict.decision, "cannot be shown in full" in verdict.reason) == (Decision.DENY, True)
    assert host.before("Bash", "t2", command="rm -r " + "x" * 70_000).decision is Decision.DENY
    with host.open() as runtime:
        assert [approval.tool_id for approval in runtime.approvals.page()] == ["host.shell.destructive"]
    assert (
        host.before("Write", "t3", file_path=str(host.project / "a"), content="x" * 70_000) == HookVerdict()
    )


def test_end_of_a_session_tells_of_no_budget(host: Host) -> None:
    host.before("Read", "t1", file_path="README.md")
    host.tell("SessionEnd", reason="exit")
    (event,) = host.events(kind="kernel.run.finished")
    assert describe(event) == "claude-code finished the run"


def test_a_turn_begins_with_what_the_user_writes_which_is_not_recorded(host: Host) -> None:
    for number, prompt in enumerate(("clean up and push", "now the docs"), start=1):
        host.tell("UserPromptSubmit", prompt=prompt)
        host.write(host.project / f"{number}.txt", "x", f"t{number}")
    (run_id,) = {event.subject.run_id for event in host.events()} - {""}
    with host.open() as runtime:
        assert [(turn.number, len(turn.calls)) for turn in run_turns(runtime.log, run_id)] == [(2, 1), (1, 1)]
    assert not [event for event in host.events() if "push" in str(event.payload)]
