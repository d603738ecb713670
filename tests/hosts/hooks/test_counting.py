"""The host's own questions: each is counted, none is answered, and hardly anything is opened for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from sb.hosts.deciders import deciders
from sb.kernel.calls.narrative import describe
from sb.kernel.review.host_questions import QuestionCounts, question_counts
from sb.kernel.review.log_verification import verify
from tests.conftest import CommandLine
from tests.hosts.hooks.conftest import Host

RM = {"command": "rm -rf /srv/data"}
MAKE = {"command": "make"}


def asked(host: Host, event: str = "PermissionRequest", **given: Any) -> None:
    payload = host.payload(event, tool_name="Bash", tool_input=given, permission_suggestions=[])
    done = host.ask(payload)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def counts(host: Host) -> QuestionCounts:
    with host.open() as runtime:
        assert verify(runtime.log).ok
        return question_counts(runtime.log, 7)


def descriptions(host: Host) -> list[str]:
    return [describe(event) for event in host.events(kind="session.question")]


def test_questions_of_the_host_are_counted_apart_from_ours(host: Host) -> None:
    host.tell("SessionStart", source="startup")
    host.before("Bash", "t1", **MAKE)
    asked(host, **MAKE)
    host.before("Bash", "t2", **RM)
    asked(host, **RM)
    asked(host, **RM)  # of another call, since ours is counted
    asked(host, "PermissionDenied", reason="not safe", **MAKE)
    host.tell("Stop")
    assert counts(host) == QuestionCounts(ours=1, lapsed=1, own=2, denied=1)
    assert descriptions(host) == [
        "claude-code: the host asked its user about Bash",
        "claude-code: the user was asked, by SecondBrain, about Bash",
        "claude-code: the host asked its user about Bash",
        "claude-code: the host denied, by its own rules, Bash",
    ]


def test_question_of_a_session_that_is_not_on_record_begins_none(host: Host) -> None:
    asked(host, **MAKE)
    assert host.events() == []


def test_question_that_cannot_be_counted_is_not_answered(host: Host) -> None:
    host.configure("nonsense: 1\n")
    done = host.ask(host.payload("PermissionRequest", tool_name="Bash", tool_input=MAKE))
    assert (done.returncode, done.stdout) == (0, "")
    assert "event not recorded" in done.stderr


def test_counting_loads_nothing_that_judges(host: Host) -> None:
    host.tell("SessionStart", source="startup")
    payload = host.payload("PermissionRequest", tool_name="Bash", tool_input=MAKE)
    env = {
        "PATH": os.environ["PATH"],
        "HOME": "/data/nobody",
        "SB_HOME": str(host.home),
        "SB_RESIDENT": "false",
    }
    command = [sys.executable, "-X", "importtime", "-m", "sb", "hook", "claude-code"]
    done = subprocess.run(
        command,
        input=json.dumps(payload),
        env=env,
        cwd=host.project,
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert not loaded & {"sb.runtime.opening", "sb.hosts.hooks.judging", "sb.hosts.hooks.calls.translation"}
    assert len(descriptions(host)) == 1


def test_doctor_names_who_decides_and_counts_questions(
    host: Host, sb: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SB_HOME", str(host.home))
    host.before("Bash", "t1", **RM)
    host.tell("Stop")
    out = " ".join(sb("doctor").out.split())
    assert "host's user: claude-code, cursor, vscode in place, which is a permission and not signed" in out
    assert "last 7 days: 1 asked in place (1 lapsed); 0 of the hosts' own" in out
    sb("operator", "init", "ada", "--no-passphrase")
    assert "operator: the queue, signed by an operator: what destroys" in " ".join(sb("doctor").out.split())


@pytest.mark.parametrize(
    ("approval", "enrolled", "hosts", "level"),
    [
        ("ask", False, ("claude-code", "codex"), "host's user"),
        ("ask", True, ("claude-code",), "operator"),
        ("ask", True, ("codex",), "queue"),
        ("queue", False, (), "queue"),
        ("queue", True, (), "queue"),
    ],
)
def test_level_follows_setting_operators_and_hosts(
    approval: str, enrolled: bool, hosts: tuple[str, ...], level: str
) -> None:
    found = deciders(approval, enrolled=enrolled, hosts=hosts)
    assert found.level == level
    assert "codex" not in found.who
