"""Settings of hosts that a confined line makes in its project: which stay, and what later calls ask for them."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sb.hosts.confinement import bubblewrap, processes
from sb.hosts.confinement.store import ConfineStore
from sb.hosts.hooks.event import HookVerdict
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
    told = made(apart, "mkdir -p .vscode && python3 t.py", ".vscode/tasks.json")
    assert f"moved {apart.project}/.vscode/tasks.json away" in told
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
