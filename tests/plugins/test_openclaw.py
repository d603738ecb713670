"""The plugin for OpenClaw: what its Gateway gets from hooks and tools, and that OpenClaw itself loads it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.plugins.conftest import BOTH, INSTALLED, ROOT, copied, drive

HERE = Path(__file__).parent
NODE = shutil.which("node")
MODULES = INSTALLED / "openclaw" / "node_modules"
TOOLS = ["sb_search", "sb_remember", "sb_decide", "sb_list_tools", "sb_call_tool", "sb_request_status"]


@pytest.mark.skipif(NODE is None, reason="needs node")
def test_two_sessions_remember_hand_over_and_are_governed(shop: Path, tmp_path: Path) -> None:
    copied("openclaw", tmp_path / "plugin")
    shutil.copy(HERE / "openclaw_drive.mjs", tmp_path)
    (tmp_path / "node_modules").symlink_to(HERE / "standins" / "openclaw")
    answers = drive([str(NODE), str(tmp_path / "openclaw_drive.mjs")], {}, shop)
    assert answers["tools"] == TOOLS
    assert "SecondBrain remembers" in answers["first"]["prependContext"]
    assert "is governed here" in answers["exec"]["blocked"]
    assert answers["remembered"]["details"]["merged"] is False
    assert answers["written"]["details"]["state"] == "done"
    assert (shop / "a.txt").read_text("utf-8") == "paid\n"
    assert answers["refused"]["details"]["state"] in ("refused", "failed")
    assert not (tmp_path / "outside.txt").exists()
    assert "apr_none" in answers["unknown"]["error"]
    assert "The books are closed up to May." in answers["second"]["prependContext"]
    assert "- The till closes at six." in answers["second"]["prependContext"]


def test_manifest_names_every_tool_that_is_registered() -> None:
    manifest = json.loads((ROOT / "examples" / "openclaw" / "openclaw.plugin.json").read_bytes())
    assert manifest["contracts"]["tools"] == TOOLS


@pytest.mark.parametrize("where", BOTH[1:])
def test_openclaw_loads_the_plugin_with_its_tools_and_hooks(where: str, shop: Path, tmp_path: Path) -> None:
    copied("openclaw", tmp_path / "plugin")
    env = {"OPENCLAW_STATE_DIR": str(tmp_path / "state"), "HOME": str(tmp_path)}
    openclaw = [str(MODULES / ".bin" / "node"), str(MODULES / "openclaw" / "openclaw.mjs"), "plugins"]

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [*openclaw, *arguments],
            env={"PATH": "/usr/bin:/bin", **env},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-2_000:]
        return done.stdout

    run("install", "--link", str(tmp_path / "plugin"), "--force", "--accept-capabilities")
    run("enable", "secondbrain")
    inspected: dict[str, Any] = json.loads(run("inspect", "secondbrain", "--runtime", "--json"))
    text = json.dumps(inspected)
    for name in (*TOOLS, "before_tool_call", "session_end", "gateway_stop"):
        assert name in text, name


@pytest.mark.parametrize("where", BOTH[1:])
def test_plugin_has_the_types_of_the_framework(where: str, tmp_path: Path) -> None:
    copied("openclaw", tmp_path / "plugin")
    (tmp_path / "node_modules").symlink_to(MODULES)
    compiler = [str(MODULES / ".bin" / "node"), str(MODULES / "typescript" / "bin" / "tsc")]
    strict = (
        "--noEmit --allowJs --checkJs --strict --module nodenext --target es2023 --skipLibCheck --types node"
    )
    done = subprocess.run(
        [*compiler, *strict.split(), "plugin/index.js"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
