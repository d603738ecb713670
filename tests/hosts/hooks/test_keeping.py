"""Command lines that delete or overwrite in the project: a snapshot is taken, nobody is asked, all of it comes back."""

from __future__ import annotations

import subprocess

from sb.hosts.hooks.event import Decision, Verdict
from sb.kernel.authority.signing import Label
from tests.hosts.hooks.conftest import Host

ADA = Label("ada")


def run(host: Host, command: str, use_id: str, **given: object) -> Verdict:
    """The agent runs a command line in bash, if it may."""
    verdict = host.before("Bash", use_id, command=command, **given)
    if verdict.decision is Decision.NONE:
        done = subprocess.run(
            ["bash", "-c", command], cwd=host.project, capture_output=True, text=True, check=False
        )
        event = "PostToolUse" if done.returncode == 0 else "PostToolUseFailure"
        fields = (
            {"tool_response": {"stdout": done.stdout}}
            if done.returncode == 0
            else {"error": done.stderr or "failed"}
        )
        host.tell(
            event, tool_name="Bash", tool_use_id=use_id, tool_input={"command": command, **given}, **fields
        )
    return verdict


def undo_all(host: Host) -> list[str]:
    with host.open() as runtime:
        run_id = host.events(limit=1)[0].subject.run_id
        refs = runtime.recovery.mutations.of_run(run_id)
        return [str(one.state) for one in runtime.recovery.undo_all(refs, ADA, "not wanted")]


def test_deleted_folder_comes_back_and_nobody_is_asked(host: Host) -> None:
    folder = host.project / "src" / "deep"
    folder.mkdir(parents=True)
    (folder / "run.sh").write_bytes(b"#!/bin/sh\xff\n")
    (folder / "run.sh").chmod(0o750)
    (folder / "link").symlink_to("run.sh")
    (folder / "empty").mkdir()
    assert run(host, "rm -rf src", "t1") == Verdict()
    assert not folder.exists()
    assert undo_all(host) == ["reversed"]
    assert (folder / "run.sh").read_bytes() == b"#!/bin/sh\xff\n"
    assert (folder / "run.sh").stat().st_mode & 0o777 == 0o750
    assert (folder / "link").readlink().name == "run.sh"
    assert (folder / "empty").is_dir()
