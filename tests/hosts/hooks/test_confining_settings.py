"""Settings of hosts that a confined line makes in its project: which stay, and what later calls ask for them."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from sb.hosts.confinement import bubblewrap, processes
from sb.hosts.confinement.store import ConfineStore
from sb.hosts.hooks.calls.context import SHELL_PREFIX
from sb.hosts.hooks.event import Decision, HookVerdict
from tests.hosts.confinement.conftest import git
from tests.hosts.hooks.conftest import Host
from tests.resident.conftest import wait_for
from tests.rows import rows

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is a program for Linux")


_IDS = itertools.count()


def made(host: Host, line: str, *names: str) -> str:
    """Have a line that goes on make files; returns what the agent is told."""
    use_id = f"made-{next(_IDS)}"
    assert host.before("Bash", use_id, command=line) == HookVerdict()
    for name in names:
        path = host.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    fields = {"tool_name": "Bash", "tool_use_id": use_id, "tool_input": {"command": line}}
    return host.tell("PostToolUse", **fields, tool_response={"stdout": "", "stderr": ""}).context


def test_folder_of_settings_that_a_line_makes_lets_its_programs_put_no_settings_there(apart: Host) -> None:
    message = made(apart, "mkdir -p .vscode && python3 t.py", ".vscode/tasks.json")
    assert f"moved {apart.project}/.vscode/tasks.json away" in message
    assert os.listdir(apart.project / ".vscode") == []


MADE = (
    ("mkdir -p .vscode && echo {} > .vscode/extensions.json", ".vscode/extensions.json"),
    ("mkdir -p .cursor/rules && echo x > .cursor/rules/a.mdc", ".cursor/rules/a.mdc"),
    ("mkdir .windsurf; cp x.md .windsurf/rules.md", ".windsurf/rules.md"),
)


@rows("line, name", MADE)
def test_harmless_file_beside_settings_has_no_later_call_ask(
    line: str, name: str, apart: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        ConfineStore, "is_alive", lambda _: True
    )  # a server in the background, of any project
    assert apart.before("Bash", command="ls") == HookVerdict()
    (apart.project / "x.md").write_text("x")
    assert made(apart, line, name) == ""
    for command in ("ls", f"cat {name}", "make"):
        assert apart.before("Bash", command=command) == HookVerdict()
    assert (apart.project / name).exists()
    assert "moved" in made(apart, "python3 t.py", f"{Path(name).parts[0]}/hooks.json")
    assert (apart.project / name).exists()


def test_question_about_settings_that_could_be_moved_names_the_program_and_the_path(apart: Host) -> None:
    path = apart.project / ".github" / "agents"
    path.mkdir(parents=True)
    apart.before("Bash", "t1", command="make")
    confine = apart.home / "confine"
    program = bubblewrap.find()
    processes.begin(confine, program)
    code = "import os, sys; from sb.hosts.confinement import processes as p; from pathlib import Path; os.execvp((w := p.enter(Path(sys.argv[1]), sys.argv[2]))[0], [*w, 'sleep', '61'])"
    with subprocess.Popen([sys.executable, "-c", code, str(confine), program], close_fds=True) as running:
        wait_for(lambda: processes.is_alive(confine))
        path.parent.rename(apart.project / "old")
        path.mkdir(parents=True)
        reason = apart.before("Bash", "t2", command="make").reason
        running.kill()
        processes.end_all(confine)
    assert f"could replace the project's folder or its settings: {path} (`kill " in reason
    assert "` ends sleep 61)" in reason


@pytest.fixture
def branches(apart: Host) -> Host:
    """Branches main without settings, and `ide` with some."""
    shutil.rmtree(apart.project / ".git")
    git(apart.project, "init", "-q", "-b", "main")
    git(apart.project, "commit", "-q", "--allow-empty", "-m", "begin")
    git(apart.project, "switch", "-qc", "ide")
    for name in (".vscode/extensions.json", ".vscode/tasks.json", ".cursor/rules/a.mdc"):
        (apart.project / name).parent.mkdir(parents=True, exist_ok=True)
        (apart.project / name).write_text("{}")
    git(apart.project, "add", "-A")
    git(apart.project, "commit", "-qm", "settings")
    git(apart.project, "switch", "-q", "main")
    return apart


def test_branch_with_settings_asks_once_and_stays_after_a_yes(branches: Host) -> None:
    for line, there in (("git switch ide", True), ("git switch -q main", False)):
        verdict = branches.before("Bash", line, command=line)
        assert verdict.decision is Decision.ASK
        does = "brings" if there else "takes away"
        assert (
            f"{line} {does} .cursor/rules/a.mdc, .vscode/extensions.json, .vscode/tasks.json"
            in verdict.reason
        )
        assert "writes" not in verdict.reason
        git(branches.project, *line.split()[1:])
        if there:
            (branches.project / ".vscode" / "mcp.json").write_text("{}")  # by a hook of git
        fields = {"tool_name": "Bash", "tool_use_id": line, "tool_input": {"command": line}}
        context = branches.tell("PostToolUse", **fields, tool_response={"stdout": ""}).context
        assert ("mcp.json" in context) is there
        assert "tasks.json" not in context
        assert (branches.project / ".vscode" / "tasks.json").exists() is there
        assert branches.before("Bash", command="git add -A && git commit -m x") == HookVerdict()
    assert (
        branches.before("Bash", command="git switch ide") == HookVerdict()
    )  # the same settings, agreed to before


def test_line_that_also_runs_a_program_is_to_be_split(branches: Host) -> None:
    for line in (
        "git switch ide && python3 x.py",
        "git switch ide && npm test",
        "git switch ide && git -c alias.x='!./x' x",
        "git rebase -x ./x ide",
        "git switch ide && awk 'BEGIN {system(\"./x\")}'",
        "git switch ide && git bisect run ./x",
        "./x.sh; git checkout ide -- .vscode",
    ):
        verdict = branches.before("Bash", command=line)
        assert verdict.decision is Decision.DENY
        assert "in a call of its own" in verdict.reason
    for line in ("cd . && git switch ide 2>&1 | tail -1", "git switch ide; echo $?; ls"):
        assert branches.before("Bash", command=line).decision is Decision.ASK


def test_settings_that_nobody_was_asked_about_are_moved_away_and_their_deletion_asks(branches: Host) -> None:
    line = "git switch $(cat branch)"
    branches.before("Bash", "t1", command=line)
    git(branches.project, "switch", "-q", "ide")
    fields = {"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": line}}
    context = branches.tell("PostToolUse", **fields, tool_response={"stdout": ""}).context
    assert "`git checkout -- .cursor/rules/a.mdc`, in a call of its own, has the user asked" in context
    for command in ("git add -A", "git commit -qam x"):
        reason = branches.before("Bash", command=command).reason
        assert "would record that .cursor/rules/a.mdc is deleted, which is only missing here" in reason
    assert branches.before("Bash", command="git commit -m x") == HookVerdict()
    back = branches.before("Bash", command="git checkout -- .vscode .cursor")
    assert back.decision is Decision.ASK
    assert "git checkout -- .vscode brings .cursor/rules/a.mdc, .vscode/extensions.json" in back.reason


ASKED = (
    "mkdir -p .vscode && echo '{}' > .vscode/settings.json", "tee .vscode/mcp.json < x", "cp x .vscode/tasks.json", "sed -i s/a/b/ .vscode/settings.json",
    "python -c 'open(\".vscode/settings.json\", \"w\").write(\"{}\")'", "cd .vscode && echo x > settings.json", "rm -rf .vscode", "rm .vscode/settings.json", "mv x .vscode",
    "mkdir .vscode && printf '{}' > .vscode/launch.json", "mkdir -p .claude/agents && echo x > .claude/agents/a.md", "echo x > .devcontainer.json",
)  # fmt: skip


@pytest.mark.parametrize("is_confined", [True, False])
def test_settings_of_an_editor_in_the_project_ask_and_are_not_refused(
    is_confined: bool, apart: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_confined:
        monkeypatch.delenv(SHELL_PREFIX)
    (apart.project / "x").write_text("x")
    for line in ASKED:
        assert apart.before("Bash", command=line).decision is Decision.ASK, line
    for line in (
        "echo x > .claude/settings.json",
        "rm -rf .claude",
        "echo {} > .mcp.json",
        "cp x .cursor/mcp.json",
    ):
        assert apart.before("Bash", command=line).decision is Decision.DENY, line
    for line in (
        "cat .vscode/settings.json",
        "git add .vscode/settings.json",
        "mkdir -p .vscode && echo {} > .vscode/extensions.json",
    ):
        assert apart.before("Bash", command=line) == HookVerdict(), line
    apart.configure("hooks: {approval: queue}\n")
    assert apart.before("Bash", command=ASKED[0]).decision is Decision.DENY


def test_editor_settings_that_were_agreed_to_stay(apart: Host) -> None:
    line = "mkdir -p .vscode && echo '{}' > .vscode/settings.json; python3 t.py"
    assert apart.before("Bash", "t1", command=line).decision is Decision.ASK
    (apart.project / ".vscode").mkdir()
    for name in ("settings.json", "tasks.json"):
        (apart.project / ".vscode" / name).write_text("{}")
    fields = {"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": line}}
    assert "tasks.json away" in apart.tell("PostToolUse", **fields, tool_response={"stdout": ""}).context
    assert os.listdir(apart.project / ".vscode") == ["settings.json"]


def test_file_that_is_opened_alone_beside_settings_is_mounted_over_them(apart: Host) -> None:
    """Else a yes would be worth nothing: the folder around it stays as it is."""
    (apart.project / ".vscode").mkdir()
    lines = (
        (
            "echo '{}' > .vscode/settings.json; cat .vscode/settings.json",
            ".vscode/settings.json",
            "an editor",
        ),
        ("echo '{}' > .vscode/extensions.json", ".vscode/extensions.json", "beside settings of a host"),
        ("mkdir -p .claude/commands; ls -A .claude", ".claude/commands", "gives a host agents"),
    )
    for number, (line, name, reason) in enumerate(lines):
        asked = apart.before("Bash", f"t{number}", command=line)
        assert asked.decision is Decision.ASK
        assert reason in asked.reason
        path = apart.project / name
        [options] = (apart.home / "confine" / "tickets").glob("*.options")
        mounts = [*pairwise(options.read_bytes().split(b"\0"))][::-1]
        own, around = os.fsencode(path), os.fsencode(path.parent)
        assert mounts.index((b"--bind-try", own)) < mounts.index((b"--ro-bind-try", around))
        apart.after("Bash", f"t{number}", command=line)


def test_destructive_line_names_what_its_last_run_could_not_write(apart: Host) -> None:
    line = "git push --force; python3 x.py"
    verdict = apart.before("Bash", "t1", command=line)
    assert verdict.decision is Decision.ASK
    assert "settings" not in verdict.reason
    error = "OSError: [Errno 30] Read-only file system: '/srv/sb-none.txt'"
    fields = {"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": line}}
    apart.tell("PostToolUseFailure", **fields, error=error)
    reason = apart.before("Bash", "t2", command=line).reason
    assert "writes /srv/sb-none.txt, outside of the project, as the output of its last run says" in reason
