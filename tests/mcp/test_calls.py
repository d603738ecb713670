"""Guarantees for an agent that acts over MCP: policy, requests to people, undo."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sb.kernel.authority.signing import Label
from sb.kernel.incident_response.kill import KillScope
from sb.mcp import kernel_tools
from sb.mcp.toolsets import Toolset
from tests.mcp.client import Session, session

ADA = Label("ada")
REMOVE = {"argv": ["rm", "-rf", "exports"]}


@pytest.fixture
def folder(home: Path, tmp_path: Path) -> Path:
    home.mkdir(mode=0o700)
    (tmp_path / "exports").mkdir()
    (tmp_path / "exports" / "2025.csv").write_text("order,cents\n", encoding="utf-8")
    (tmp_path / "notes.md").write_text("old\n", encoding="utf-8")
    (home / "config.yaml").write_text(
        f"files:\n  roots: [{tmp_path}]\nagents:\n  scribe:\n"
        "    tools: [files.read, files.write, shell.run]\n    ceiling: destructive\n",
        encoding="utf-8",
    )
    return tmp_path


def kernel(scene: Any, **more: Any) -> None:
    session(scene, Toolset.CORE, Toolset.KERNEL, **more)


def test_an_agent_is_listed_what_it_may_call(folder: Path) -> None:
    async def scene(s: Session) -> None:
        tools = {tool["tool"]: tool for tool in await s.call("list_tools")}
        assert set(tools) == {"files.read", "files.write", "shell.run"}
        assert tools["files.read"]["effect"] == "read_only"
        assert [arg["name"] for arg in tools["files.read"]["args"] if arg["required"]] == ["path"]

    kernel(scene)


def test_tools_that_only_a_host_performs_are_not_listed(home: Path) -> None:
    home.mkdir(mode=0o700)

    async def scene(s: Session) -> None:
        assert s.runtime.registry.get("host.write") is not None
        listed = {tool["tool"] for tool in await s.call("list_tools")}
        assert "files.read" in listed
        assert not {tool for tool in listed if tool.startswith("host.")}

    kernel(scene)


def test_what_a_call_changed_is_undone_by_whoever_made_it(folder: Path) -> None:
    notes = folder / "notes.md"

    async def scene(s: Session) -> None:
        done = await s.call("call_tool", tool="files.write", args={"path": "notes.md", "content": "new\n"})
        assert (done["state"], notes.read_text(encoding="utf-8")) == ("done", "new\n")
        assert [item["change"] for item in await s.call("recent_calls")] == [done["change"]]
        undone = await s.call("undo_call", change=done["call_id"], reason="wrong file")
        if undone["state"] == "waiting":
            s.runtime.approvals.approve(undone["request"], ADA, "yes, take it back")
            undone = await s.call("undo_call", change=done["call_id"], reason="wrong file")
        assert undone["state"] == "reversed"
        assert notes.read_text(encoding="utf-8") == "old\n"
        assert "before" in await s.error("undo_call", change=done["call_id"], reason="again")

    kernel(scene)


def test_a_call_that_waits_runs_once_a_person_agreed_and_only_once(folder: Path) -> None:
    async def scene(s: Session) -> None:
        waiting = await s.call("call_tool", tool="shell.run", args=REMOVE)
        assert waiting["state"] == "waiting"
        assert (
            waiting["reason"]
            == "shell.run can destroy or change for good, so a person must approve each call"
        )
        assert f"`sb approvals approve {waiting['request']} --reason WHY`" in waiting["next"]
        assert "Do not work around it" in waiting["next"]
        assert (await s.call("request_status", request=waiting["request"]))["decision"] == "waiting"
        assert (folder / "exports").exists()
        s.runtime.approvals.approve(waiting["request"], ADA, "the books are closed")
        status = await s.call("request_status", request=waiting["request"])
        assert (status["decision"], status["reason"]) == ("approved", "the books are closed")
        assert (await s.call("call_tool", tool="shell.run", args=REMOVE))["state"] == "done"
        assert not (folder / "exports").exists()
        again = await s.call("call_tool", tool="shell.run", args=REMOVE)
        assert again["state"] == "waiting"
        assert again["request"] != waiting["request"]

    kernel(scene)


def test_a_denial_says_why_and_not_to_work_around_it(folder: Path) -> None:
    async def scene(s: Session) -> None:
        waiting = await s.call("call_tool", tool="shell.run", args=REMOVE)
        s.runtime.approvals.deny(waiting["request"], ADA, "they are needed")
        status = await s.call("request_status", request=waiting["request"])
        assert (status["decision"], status["reason"]) == ("denied", "they are needed")
        assert "work around" in status["next"]
        refused = await s.call("call_tool", tool="shell.run", args=REMOVE)
        assert (refused["state"], refused["next"][:22]) == ("refused", "The user decided this:")

    kernel(scene)


def test_a_client_that_waits_is_told_of_the_progress(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        kernel_tools, "_TOLD_EVERY_S", 0.05
    )  # many times, of which a busy machine leaves some
    heard: list[float] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    async def scene(s: Session) -> None:
        args = {"tool": "shell.run", "args": REMOVE, "wait_s": 1.5}
        answer = await s.client.call_tool("call_tool", args, progress_callback=on_progress)
        assert answer.structured_content is not None
        assert answer.structured_content["state"] == "waiting"

    kernel(scene, mode="legacy")
    assert heard


def test_an_agent_reads_how_it_stands_and_nothing_of_others(folder: Path) -> None:
    async def owner(s: Session) -> None:
        before = await s.call("budget")
        waiting = await s.call("call_tool", tool="shell.run", args=REMOVE)
        await s.call("call_tool", tool="files.write", args={"path": "notes.md", "content": "new\n"})
        assert (await s.call("budget"))["tool_calls_used"] == before["tool_calls_used"] + 1
        s.runtime.approvals.deny(waiting["request"], ADA, "they are needed")
        listed = await s.call("list_requests")
        assert [(item["request"], item["tool"], item["decision"]) for item in listed] == [
            (waiting["request"], "shell.run", "denied")
        ]
        status = await s.call("status")
        assert (status["agent"], status["stopped"]) == ("scribe", "")
        assert (status["requests"]["asked"], status["requests"]["denied"]) == (1, 1)
        assert await s.call("list_escalations") == []
        s.runtime.executor.kill.throw(KillScope.AGENT, "scribe", ADA, "it loops")
        assert (await s.call("status"))["stopped"] == "it loops"

    async def other(s: Session) -> None:
        assert await s.call("list_requests") == []
        status = await s.call("status")
        assert (status["requests"]["asked"], status["stopped"]) == (0, "")

    session(owner, Toolset.KERNEL, Toolset.ADMIN)
    session(other, Toolset.ADMIN, agent="stranger")


def test_requests_and_changes_of_other_agents_are_not_there(folder: Path) -> None:
    ids: dict[str, str] = {}

    async def owner(s: Session) -> None:
        ids["request"] = (await s.call("call_tool", tool="shell.run", args=REMOVE))["request"]
        written = await s.call("call_tool", tool="files.write", args={"path": "notes.md", "content": "new\n"})
        ids["change"], ids["call"] = written["change"], written["call_id"]

    async def other(s: Session) -> None:
        error = await s.error("request_status", request=ids["request"])
        assert error == f"you have no request {ids['request']}"
        assert await s.error("request_status", request="apr_0000") == "you have no request apr_0000"
        for reference in (ids["change"], ids["call"]):
            assert "that can be undone" in await s.error("undo_call", change=reference, reason="mine")
        assert await s.call("recent_calls") == []

    kernel(owner)
    kernel(other, agent="stranger")


def test_what_is_not_allowed_is_refused_with_the_reason(folder: Path) -> None:
    async def scene(s: Session) -> None:
        for tool in ("files.delete", "nothing.there"):
            refused = await s.call("call_tool", tool=tool, args={"path": "notes.md"})
            assert refused["state"] in ("refused", "failed")
            assert refused["reason"]
        wrong = await s.call("call_tool", tool="files.read", args={"paths": 3})
        assert (wrong["state"], wrong["code"]) == ("failed", "VALIDATION_ERROR")

    kernel(scene)


def test_a_call_that_belongs_to_no_run_is_refused_with_the_reason(folder: Path) -> None:
    async def scene(s: Session) -> None:
        assert "must not be empty" in await s.error("call_tool", tool="files.read", args={"path": "notes.md"})

    kernel(scene, agent="")


def test_a_killed_agent_can_call_nothing(folder: Path) -> None:
    async def scene(s: Session) -> None:
        s.runtime.kill.throw("agent", "scribe", ADA, "it runs wild")
        refused = await s.call("call_tool", tool="files.read", args={"path": "notes.md"})
        assert refused["state"] == "refused"
        assert refused["next"].startswith("Stop working")

    kernel(scene)


def test_a_named_step_that_is_asked_for_twice_happens_once(folder: Path) -> None:
    async def scene(s: Session) -> None:
        args = {"path": "log.txt", "content": "once"}
        first = await s.call("call_tool", tool="files.write", args=args, step="write the log")
        (folder / "log.txt").write_text("changed since", encoding="utf-8")
        again = await s.call("call_tool", tool="files.write", args=args, step="write the log")
        assert (first["state"], again["state"]) == ("done", "done")
        assert (folder / "log.txt").read_text(encoding="utf-8") == "changed since"

    kernel(scene)


def test_the_calls_of_a_session_are_one_run_on_the_log(folder: Path) -> None:
    async def scene(s: Session) -> None:
        for _ in range(2):
            await s.call("call_tool", tool="files.read", args={"path": "notes.md"})
        rows = s.runtime.database.query("SELECT DISTINCT run_id FROM events WHERE tool_id = 'files.read'")
        assert len(rows) == 1

    kernel(scene)
