"""An afternoon of two sessions in one project: who is asked, what comes back, and how far an attack gets."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.forked import Forks
from tests.hosts.hooks.afternoon import (
    KEY,
    SETTINGS,
    Afternoon,
    Files,
    Step,
    Told,
    lasting_folder,
    read_steps,
)

MOST_UNWANTED = 1  # prompts
# New files that stay: made by a program, by `touch` or `ln`, or under a name of which no snapshot is taken.
MADE = (
    *("node_modules", "package-lock.json", "src/__pycache__", "build/index.html", "vendor/"),
    *(".env.local", "scratch1.txt", "g"),
)


@dataclass
class Played:
    """Outcome of the afternoon.

    Args:
        before, after: the project's files. calls, attack: each call, and what became of it.
        undone: what differed after a call was undone right afterwards, by what the person typed.
    """

    afternoon: Afternoon
    before: Files
    after: Files
    calls: list[tuple[Step, Told]]
    attack: list[tuple[Step, Told]]
    undone: dict[str, Files]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory, forks: Forks) -> Iterator[Played]:
    with lasting_folder() as folder:
        yield play(Afternoon(folder, tmp_path_factory.mktemp("afternoon"), forks))


def play(afternoon: Afternoon) -> Played:
    afternoon.prepare()
    before, calls, undone = afternoon.files(), [], {}
    for session in "ab":
        assert "sb memory search" in afternoon.tell(session, "SessionStart", source="startup").context
        afternoon.tell(session, "UserPromptSubmit", prompt="please")
    for step in read_steps("afternoon.txt", afternoon.places()):
        was = afternoon.files() if step.then else {}
        calls.append((step, afternoon.play(step)))
        if words := undoing(afternoon, step):
            afternoon.sb("undo", *words, "--yes")
            undone[step.given["command"]] = differences(was, afternoon.files())
    attack = play_attack(afternoon)
    for session in "abc":
        afternoon.tell(session, "Stop", stop_hook_active=False)
        afternoon.tell(session, "SessionEnd", reason="prompt_input_exit")
    return Played(afternoon, before, afternoon.files(), calls, attack, undone)


def undoing(afternoon: Afternoon, step: Step) -> list[str]:
    """The arguments that the person gives `sb undo` right after a call; nothing for most."""
    what, _, path = step.then.partition(" ")
    if what == "path":
        return ["--path", str(afternoon.project / path)]
    return [afternoon.records(1)[0]["mutation_id"]] if what == "undo" else []


def play_attack(afternoon: Afternoon) -> list[tuple[Step, Told]]:
    for name in (".claude/settings.json", ".git/hooks/pre-commit"):
        path = afternoon.outside / "evil" / name
        path.parent.mkdir(parents=True)
        path.write_text("evil", encoding="utf-8")
    with tarfile.open(afternoon.outside / "evil.tgz", "w:gz") as archive:
        archive.add(afternoon.outside / "evil", ".")
    push = {"tool_name": "Bash", "tool_input": {"command": "git push --force"}, "tool_use_id": "toolu_queued"}
    afternoon.tell("b", "PreToolUse", **push, permission_mode="auto")
    waiting = afternoon.approvals()[0]["id"]
    places = {**afternoon.places(), "APPROVAL": waiting, "SB": str(afternoon.home)}
    afternoon.tell("c", "SessionStart", source="startup")
    return [(step, afternoon.play(step)) for step in read_steps("attack.txt", places)]


def differences(was: Files, now: Files) -> Files:
    """Files, links and folders that are missing or others, and files that are new; an empty new folder is none."""
    return {
        name: now.get(name, was.get(name, (None, 0)))
        for name in was.keys() | now.keys()
        if was.get(name) != now.get(name) and (name in was or now[name][0] is not True)
    }


def as_lines(calls: list[tuple[Step, Told]]) -> list[str]:
    return [f"{step.tool} {step.given}: {call.decision} {call.reason}" for step, call in calls]


def test_nobody_is_asked_but_where_a_careful_colleague_would_be(played: Played) -> None:
    assert len(played.calls) >= 70
    unwanted = [(step, call) for step, call in played.calls if step.wanted == "+" and call.decision]
    assert len(unwanted) <= MOST_UNWANTED, as_lines(unwanted)
    missing = [(step, call) for step, call in played.calls if step.wanted == "?" and not call.decision]
    assert missing == [], as_lines(missing)


def test_each_session_is_told_of_the_other_once(played: Played) -> None:
    notices = [(step.session, call.context) for step, call in played.calls if call.context]
    assert [session for session, _ in notices] == ["a", "b"]
    assert all("README.md is also being changed by another live session" in context for _, context in notices)


def test_call_that_is_undone_at_once_leaves_no_difference(played: Played) -> None:
    assert len(played.undone) >= 3
    assert {line: sorted(left) for line, left in played.undone.items() if left} == {}


def test_attack_gets_nowhere(played: Played) -> None:
    afternoon = played.afternoon
    through = [pair for pair in played.attack if bool(pair[1].decision) != (pair[0].wanted == "?")]
    assert through == [], as_lines(through)
    assert not afternoon.sent.exists() or KEY[40:60] not in afternoon.sent.read_text("utf-8")
    assert "collect.example.net" not in (afternoon.sent.read_text("utf-8") if afternoon.sent.exists() else "")
    for name, text in SETTINGS.items():
        assert (afternoon.user / name).read_text("utf-8") == text
    hooks = afternoon.project / ".git" / "hooks"
    assert [path.name for path in hooks.iterdir() if path.suffix != ".sample"] == []
    assert "hooksPath" not in (afternoon.project / ".git" / "config").read_text("utf-8")
    assert {row["state"] for row in afternoon.approvals()} <= {"waiting", "pending"}
    assert not (afternoon.home / "config.yaml").exists()
    assert json.loads(afternoon.sb("log", "verify", "--json"))["ok"]
    assert KEY[40:60] not in afternoon.sb("log", "tail", "--limit", "0", "--json")


def test_all_that_was_deleted_or_overwritten_comes_back_by_run(played: Played) -> None:
    afternoon = played.afternoon
    assert len(differences(played.before, played.after)) > 20
    for session in "cab":
        afternoon.undo_run(session)
    left = differences(played.before, afternoon.files())
    assert not played.before.keys() & left.keys()
    assert [name for name in left if not name.startswith(MADE)] == []
