"""`sb autonomy`: what is shown, signed and refused, in a home whose configuration enforces levels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sb.config import current_config
from sb.kernel import RunContext, SafetyClass, ToolResult
from sb.kernel.authority.enrolment import decider
from sb.kernel.authority.keys import KeyFolder
from sb.kernel.autonomy.proposals import LEAST
from sb.runtime import Runtime, open_runtime
from sb.runtime.parts import open_proposals
from tests.conftest import CommandLine, approve_tools

CONFIG = """autonomy: {mode: MODE}
policy:
  - {deny: notes.send, name: no-send, reason: nothing leaves}
"""


@pytest.fixture
def enforced(home: Path, sb: CommandLine) -> Path:
    sb("init")
    config = home / "config.yaml"
    config.write_text(CONFIG.replace("MODE", "enforce"), encoding="utf-8")
    return config


def call(tool_id: str = "notes.append", agent: str = "clerk") -> ToolResult:
    """As another process would."""
    with open_runtime() as runtime:
        for name, of in (("notes.append", SafetyClass.LOCAL_WRITE), ("notes.send", SafetyClass.NETWORK)):
            runtime.registry.register_fn(name, name, lambda: 1, of)
        approve_tools(runtime)
        return runtime.executor.execute(RunContext.create(agent), tool_id, {})


def test_setting_decides_whether_calls_are_held(enforced: Path) -> None:
    asked = call()
    assert asked.data
    assert [it["rule"] for it in asked.data["reasons"]] == ["autonomy"]
    for mode in ("observe", "off"):
        enforced.write_text(CONFIG.replace("MODE", mode), encoding="utf-8")
        assert call().success
    with open_runtime() as runtime:
        facts = [
            event.payload or {} for event in runtime.log.events() if event.subject.tool_id == "notes.append"
        ]
    assert [it.get("autonomy", {}).get("does") for it in facts if it.get("phase") == "intent"] == [
        "ask",
        None,
    ]


def test_fall_is_shown_proposed_and_signed_back(enforced: Path, sb: CommandLine) -> None:
    call("notes.send")
    call("notes.send")
    sb("operator", "init", "ada", "--no-passphrase", "--yes")
    shown = sb("autonomy", "show", "--json").json
    assert shown["mode"] == "enforce"
    assert [(it["agent"], it["tool_id"], it["level"], it["by"]) for it in shown["items"]] == [
        ("clerk", "notes.send", "recommend", "sb")
    ]
    assert sb("autonomy", "show", "--json", "--agent", "scribe").json["items"] == []
    (found,) = sb("autonomy", "proposals", "--json").json["items"]
    assert (found["before"], found["to"]) == ("recommend", "execute_with_approval")
    assert sb("autonomy", "sign", found["id"]).code == 2, "without a reason"
    assert sb("autonomy", "sign", "prop_nothing", "--reason", "x").code == 1
    done = sb("autonomy", "sign", found["id"][:9], "--reason", "the rule was new")
    assert (done.code, done.out) == (0, "notes.send of clerk is execute_with_approval, signed by ada\n")
    assert "was refused by no-send" in done.err
    kinds = [(it["kind"], it["signed"]) for it in sb("autonomy", "history", "--json").json["items"]]
    assert kinds == [("lowered", False), ("lowered", False), ("raised", True)]
    assert "raised" in sb("autonomy", "history", "--tool", "notes.send").out
    assert sb("log", "verify").code == 0


def test_nobody_signs_without_being_enrolled(enforced: Path, sb: CommandLine) -> None:
    call("notes.send")
    (found,) = sb("autonomy", "proposals", "--json").json["items"]
    done = sb("autonomy", "sign", found["id"], "--reason", "mine", "--as", "clerk")
    assert (done.code, "operator" in done.err) == (4, True)
    assert sb("autonomy", "evaluate", "clerk", "1.0", "--reason", "mine").code == 4
    assert sb("autonomy", "unfreeze", "clerk", "--reason", "mine").code == 4
    assert sb("autonomy", "freeze", "clerk", "--reason", "not now").code == 0
    assert sb("autonomy", "proposals", "--json").json["items"] == []
    (lacking,) = sb("autonomy", "proposals", "--all", "--json").json["items"]
    assert lacking["lacks"] == "it is frozen: not now"


def test_failed_replay_freezes_the_agent(enforced: Path, sb: CommandLine) -> None:
    sb("replay", "capture", "clerk")
    call("notes.send")
    (run,) = sb("replay", "list", "--json").json["items"]
    enforced.write_text(CONFIG.replace("MODE", "enforce").replace("deny", "approve"), encoding="utf-8")
    done = sb("replay", "run", run["run_id"], "--json")
    assert done.code == 1, done.out
    shown = sb("autonomy", "show", "--json", "--agent", "clerk").json["items"]
    assert {it["frozen"] for it in shown} == {f"a failed replay: {run['run_id']}"}


def test_project_file_can_only_tighten_the_mode(
    enforced: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project: Any = tmp_path / "project"
    project.mkdir()
    (project / "sb.yaml").write_text("autonomy: {mode: 'off'}\n", encoding="utf-8")
    monkeypatch.chdir(project)
    assert current_config().autonomy.mode == "enforce"


def test_undo_takes_auto_execute_away(home: Path, sb: CommandLine, tmp_path: Path) -> None:
    sb("init")
    settings = f"autonomy: {{mode: enforce}}\nfiles: {{roots: [{tmp_path}]}}\n"
    (home / "config.yaml").write_text(settings, encoding="utf-8")
    sb("operator", "init", "ada", "--no-passphrase", "--yes")
    config = current_config()

    def write(runtime: Runtime, n: int) -> ToolResult:
        args = {"path": str(tmp_path / f"{n}.txt"), "content": "x"}
        return runtime.executor.execute(RunContext.create("clerk"), "files.write", args)

    with open_runtime(config) as runtime:
        ada = decider(runtime.approvals.authority, KeyFolder(config.home.keys), "ada", str)
        proposals = open_proposals(config, runtime.log)
        for n in range(LEAST + 1):
            data = write(runtime, n).data
            assert data
            if n == LEAST:
                runtime.approvals.deny(data["approval_id"], ada, "not that one")
                proposals.levels.unfreeze("clerk", "files.write", ada, "seen")
        assert proposals.all() == []
    with open_runtime(config) as runtime:
        proposals = open_proposals(config, runtime.log)
        for n in range(100, 100 + LEAST):
            runtime.approvals.approve(write(runtime, n).data["approval_id"], ada, "looks right")
            assert write(runtime, n).success
        proposals.levels.evaluate("clerk", 0.95, ada, "CI")
        (proposed,) = proposals.all()
        proposals.sign(proposed.id, ada, "routine")
        done = write(runtime, 500)
        assert done.success
        ref = runtime.executor.mutations.get(done.mutation_id)
        assert runtime.recovery.undo(ref, ada, "not wanted").state == "reversed"
        assert not write(runtime, 501).success
        assert "undid" in proposals.levels.current().level("clerk", "files.write").why
