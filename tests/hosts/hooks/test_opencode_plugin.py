"""The plugin for opencode that the documentation gives, run by Node."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hosts.hooks.conftest import Host

DOCS = Path(__file__).parents[3] / "docs" / "reference" / "hosts.md"
NODE = shutil.which("node")

# What opencode does with a plugin, as far as it is documented: it calls the hooks one after the other.
OPENCODE = """
import { SecondBrain } from "./plugin.mjs"
const [directory, file] = process.argv.slice(2)
const hooks = await SecondBrain({ directory })
const told = { sessionID: "ses_1", tool: "write" }
const args = { filePath: file, content: "new" }
await hooks.event({ event: { type: "session.created", properties: { info: { id: "ses_1" } } } })
await hooks["chat.message"]({ sessionID: "ses_1" }, {})
await hooks["tool.execute.before"]({ ...told, callID: "c1" }, { args })
await hooks["tool.execute.after"]({ ...told, callID: "c1", args }, { title: "", output: "ok", metadata: {} })
let refused = ""
try {
  await hooks["tool.execute.before"]({ ...told, tool: "bash", callID: "c2" }, { args: { command: "rm -rf /data/build" } })
} catch (error) {
  refused = error.message
}
await hooks.event({ event: { type: "session.idle", properties: { sessionID: "ses_1" } } })
console.log(JSON.stringify(refused))
"""


def play(host: Host, folder: Path, programs: Path) -> str:
    """The reason why opencode is told that it may not remove a folder; "" if it may."""
    found = re.search(r"^```js\n(.*?)^```$", DOCS.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert found is not None
    (folder / "plugin.mjs").write_text(found[1], encoding="utf-8")
    (folder / "opencode.mjs").write_text(OPENCODE, encoding="utf-8")
    env = {"PATH": str(programs), "HOME": "/data/nobody", "SB_HOME": str(host.home)}
    command = [str(NODE), str(folder / "opencode.mjs"), str(host.project), str(host.project / "a.txt")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env, timeout=120)
    assert done.stderr == ""
    return str(json.loads(done.stdout))


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_plugin_reports_calls_and_throws_when_one_is_denied(host: Host, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "sb").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m sb "$@"\n', encoding="utf-8")
    (programs / "sb").chmod(0o755)
    assert "Needs approval" in play(host, tmp_path, programs)
    with host.open() as runtime:
        calls = list(runtime.log.events(agent="opencode", kind="kernel.tool.dispatch"))
    phases = [(call.subject.tool_id, (call.payload or {})["phase"]) for call in calls]
    assert phases == [("host.write", "intent"), ("host.write", "outcome")]


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_plugin_prefers_the_installed_wrapper_to_sb_in_the_path(host: Host, tmp_path: Path) -> None:
    planted, hook = tmp_path / "bin" / "sb", host.home / "bin" / "sb-hook"
    for program, does in ((planted, "exit 0"), (hook, f'exec "{sys.executable}" -m sb hook "$@"')):
        program.parent.mkdir(parents=True, mode=0o700)
        program.write_text(f"#!/bin/sh\n{does}\n", encoding="utf-8")
        program.chmod(0o755)
    host.home.chmod(0o700)
    assert "Needs approval" in play(host, tmp_path, planted.parent)


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_plugin_without_sb_lets_calls_run(host: Host, tmp_path: Path) -> None:
    assert play(host, tmp_path, tmp_path / "nothing") == ""


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_plugin_refuses_calls_when_the_wrapper_cannot_be_started(host: Host, tmp_path: Path) -> None:
    hook = host.home / "bin" / "sb-hook"
    hook.parent.mkdir(parents=True, mode=0o700)
    for does in ("kill -TERM $$", "exit 1", "echo unreadable; exit 126"):
        hook.write_text(f"#!/bin/sh\n{does}\n", encoding="utf-8")
        with pytest.raises(subprocess.CalledProcessError):  # of the first call already
            play(host, tmp_path, tmp_path / "nothing")
    hook.parent.rename(hook.parent.with_name("moved"))
    hook.parent.write_text("", encoding="utf-8")  # no folder: what is behind it cannot be told
    with pytest.raises(subprocess.CalledProcessError):
        play(host, tmp_path, tmp_path / "nothing")


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_plugin_needs_no_execute_permission(host: Host, tmp_path: Path) -> None:
    hook = host.home / "bin" / "sb-hook"
    hook.parent.mkdir(parents=True, mode=0o700)
    hook.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m sb hook "$@"\n', encoding="utf-8")
    hook.chmod(0o600)
    assert "Needs approval" in play(host, tmp_path, tmp_path / "nothing")
