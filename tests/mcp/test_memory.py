"""Memory of an agent that speaks MCP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.to_thread import current_default_thread_limiter
from mcp import Client, MCPError
from mcp_types import INVALID_PARAMS

from sb.config import current_config
from sb.errors import UsageError
from sb.mcp import desk
from sb.mcp.desk import TURNS, AgentDesk
from sb.mcp.server import build_server
from sb.mcp.toolsets import DEFAULT, Toolset, toolsets
from sb.runtime import open_runtime
from tests.mcp.client import Session, session


@pytest.mark.parametrize("mode", ["legacy", "auto"])  # the revisions before and since 2026-07-28
def test_what_one_session_learns_the_next_begins_with(home: Path, mode: str) -> None:
    async def first(s: Session) -> None:
        assert "Nothing is remembered" in await s.call("orient", project="shop")
        saved = await s.call("remember", content="The shop ships on Tuesdays and Fridays.")
        again = await s.call("remember", content="The shop ships on Fridays and Tuesdays.")
        assert (again["id"], again["merged"]) == (saved["id"], True)
        hits = await s.call("search", query="when does the shop ship?")
        assert [hit["id"] for hit in hits] == [saved["id"]]
        assert (await s.call("get_memory", id=saved["id"]))["restated"] == [
            "The shop ships on Fridays and Tuesdays."
        ]
        await s.call("decide", title="Refund by hand", rationale="The provider is down.")
        await s.call("log_event", summary="The refund of 1002 failed.", event_type="error")
        await s.call("wrap_up", summary="1002 is open", open_loops=["refund 1002"], next_step="ask Ada")

    async def second(s: Session) -> None:
        text = await s.call("orient", project="shop")
        assert "ask Ada" in text
        assert "Refund by hand" in text

    session(first, mode=mode)
    session(second, mode=mode)


def test_a_search_before_orient_and_one_in_vain_answer_with_words(home: Path) -> None:
    async def texts(s: Session, **arguments: Any) -> list[str]:
        answer = await s.client.call_tool("search", arguments)
        assert not answer.is_error
        return [getattr(part, "text", "") for part in answer.content]

    async def scene(s: Session) -> None:
        await s.call("remember", content="The till opens at nine.", project="shop")
        asked = {"query": "when does the till open?"}
        (before,) = await texts(s, **asked)
        assert before == (
            "orient was not called yet, so only global was searched. Call orient with your project."
        )
        (hit,) = await texts(s, **asked, project="shop")
        assert json.loads(hit)["text"] == "The till opens at nine."
        assert await texts(s, query="zebra crossing", project="garden") == [
            "Nothing is remembered of this in project garden. Try other words."
        ]
        await s.call("orient", project="shop")
        (found,) = await texts(s, **asked)
        assert json.loads(found)["text"] == "The till opens at nine."

    session(scene)


def test_a_wrong_argument_is_named_in_one_line_without_its_value(home: Path) -> None:
    async def scene(s: Session) -> None:
        assert await s.error("search", query="") == "search: query: String should have at least 1 character"
        error = await s.error("remember", content="x", category="my-password-hunter2")
        assert error.startswith("remember: category: Input should be 'convention'")
        assert "hunter2" not in error
        assert "no memory" in await s.error("get_memory", id="mem_none")

    session(scene)


def test_a_memory_of_another_agent_that_is_private_is_not_there(home: Path) -> None:
    saved: dict[str, str] = {}

    async def owner(s: Session) -> None:
        saved.update(await s.call("remember", content="My own plan is to leave.", private=True))

    async def other(s: Session) -> None:
        assert await s.call("search", query="plan to leave") == []
        assert await s.error("get_memory", id=saved["id"])
        with pytest.raises(Exception, match="no memory"):
            await s.client.read_resource(f"sb://record/{saved['id']}")

    session(owner)
    session(other, agent="stranger")


def test_a_server_for_calls_alone_reads_no_memory(home: Path) -> None:
    saved: dict[str, str] = {}

    async def keep(s: Session) -> None:
        saved.update(await s.call("remember", content="The vault is blue."))
        await s.call("wrap_up", summary="The vault was painted.")

    async def read(s: Session) -> None:
        for uri in (f"sb://record/{saved['id']}", "sb://handoff/latest"):
            with pytest.raises(Exception, match="memories are not offered to scribe"):
                await s.client.read_resource(uri)

    session(keep)
    session(read, Toolset.KERNEL)


def test_a_prompt_that_is_none_or_not_offered_is_an_error_of_the_caller(home: Path) -> None:
    async def scene(s: Session) -> None:
        assert [prompt.name for prompt in (await s.client.list_prompts()).prompts] == ["session_start"]
        with pytest.raises(MCPError, match="no prompt 'begin'; there are session_start") as refused:
            await s.client.get_prompt("begin")
        assert refused.value.error.code == INVALID_PARAMS

    async def calls(s: Session) -> None:
        assert (await s.client.list_prompts()).prompts == []
        with pytest.raises(MCPError, match="no prompt"):
            await s.client.get_prompt("session_start")

    session(scene, Toolset.CORE)
    session(calls, Toolset.KERNEL)


def test_a_memory_of_a_megabyte_does_not_fill_a_search(home: Path) -> None:
    long = "The vault is blue. " * 50_000

    async def scene(s: Session) -> None:
        saved = await s.call("remember", content=long)
        hit = (await s.call("search", query="vault"))[0]
        assert len(hit["text"]) < 2_200
        assert f"sb://record/{saved['id']}" in hit["text"]
        whole = (await s.client.read_resource(f"sb://record/{saved['id']}")).contents[0]
        assert json.loads(getattr(whole, "text", ""))["content"] == long

    session(scene)


def test_a_secret_is_masked_and_the_agent_is_told(home: Path) -> None:
    async def scene(s: Session) -> None:
        saved = await s.call("remember", content="The key is sk-ant-api03-" + "a" * 93 + "AA")
        assert saved["notes"]
        assert "sk-ant" not in json.dumps(await s.call("get_memory", id=saved["id"]))

    session(scene)


def test_beliefs_things_and_relations_are_tools_too(home: Path) -> None:
    async def scene(s: Session) -> None:
        fact = (await s.call("remember", content="The vault uses Argon2."))["id"]
        vault = (await s.call("describe", name="vault", type="service", observations=["It holds keys."]))[
            "id"
        ]
        await s.call("relate", source=fact, relation="describes", target=vault)
        around = json.dumps(await s.call("neighbours", id=fact))
        assert vault in around
        assert {item["id"] for item in await s.call("think", query="Argon2")} >= {fact, vault}
        before = (await s.call("get_memory", id=fact))["confidence"]
        await s.call("refute", id=fact, reason="it is scrypt")
        assert (await s.call("get_memory", id=fact))["confidence"] < before
        assert [change["operation"] for change in await s.call("history", id=fact)]
        assert (await s.call("why", id=fact))["memory"]["id"] == fact
        error = await s.error("forget", memory=fact, reason="wrong")
        assert error == "forget has no argument memory; it takes id, reason"
        await s.call("forget", id=fact, reason="wrong")
        assert fact not in json.dumps(await s.call("search", query="Argon2"))
        await s.call("recover", id=fact, reason="right after all")
        assert fact in json.dumps(await s.call("search", query="Argon2"))

    session(scene)


def test_work_is_handed_to_another_agent_and_read_as_a_resource(home: Path) -> None:
    async def sender(s: Session) -> None:
        packet: Any = {"goal": "ship", "current_state": "packed", "open_loops": [], "next_step": "post it"}
        await s.call("hand_off", recipient="courier", **packet)

    async def recipient(s: Session) -> None:
        shown = (await s.client.read_resource("sb://handoff/latest")).contents[0]
        assert "post it" in getattr(shown, "text", "")
        assert (await s.call("resume"))["handoff"]["next_step"] == "post it"

    session(sender)
    session(recipient, agent="courier")


def test_a_client_sees_the_tools_that_it_was_offered_and_can_call_no_other(home: Path) -> None:
    async def scene(s: Session) -> None:
        names = [tool.name for tool in (await s.client.list_tools()).tools]
        assert names == ["orient", "search", "remember", "decide", "log_event", "wrap_up"]
        assert "call_tool" in await s.error("call_tool", tool="files.read", args={})

    session(scene, Toolset.CORE)


def test_every_tool_says_what_it_does_and_whether_it_only_reads(home: Path) -> None:
    async def scene(s: Session) -> None:
        tools = (await s.client.list_tools()).tools
        assert len({tool.name for tool in tools}) == len(tools) > 20
        for tool in tools:
            assert tool.description is not None
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint is not None
        reading = {tool.name for tool in tools if tool.annotations and tool.annotations.read_only_hint}
        assert {"search", "orient", "why", "request_status"} <= reading
        assert not reading & {"remember", "forget", "call_tool", "undo_call", "relate"}

    session(scene)


def test_a_toolset_that_is_none_is_named_with_the_nearest_one() -> None:
    assert toolsets([]) == DEFAULT
    assert toolsets(["all"]) == tuple(Toolset)[:-1]
    assert toolsets(["all", "admin"]) == tuple(Toolset)
    assert toolsets(["kernel", "core"]) == (Toolset.CORE, Toolset.KERNEL)
    with pytest.raises(UsageError, match="no toolset 'kernl'"):
        toolsets(["kernl"])


def test_requests_of_an_agent_that_wait_for_its_memory_leave_threads_to_others(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk, "_MEMORY_WAIT_S", 300)  # longer than the other one may take on a busy machine

    async def asked(client: Client) -> None:
        assert not (await client.call_tool("search", {"query": "anything"})).is_error

    async def played() -> None:
        current_default_thread_limiter().total_tokens = TURNS + 1
        with open_runtime(current_config()) as runtime:
            greedy, other = (AgentDesk(runtime, name, [Toolset.CORE]) for name in ("greedy", "other"))
            async with (
                Client(build_server(lambda: greedy, [Toolset.CORE])) as crowd,
                Client(build_server(lambda: other, [Toolset.CORE])) as client,
                anyio.create_task_group() as waiting,
            ):
                with greedy.memory(), anyio.fail_after(120):
                    for _ in range(TURNS + 2):
                        waiting.start_soon(asked, crowd)
                    while greedy.turns.statistics().tasks_waiting < 2:
                        await anyio.sleep(0.01)
                    await asked(client)
            greedy.close()
            other.close()

    anyio.run(played)


def test_what_is_saved_in_another_project_is_saved(home: Path) -> None:
    async def scene(s: Session) -> None:
        saved = await s.call("remember", content="the cache is warm by nine", project="elsewhere")
        assert saved["notes"] == []

    session(scene, Toolset.CORE)


def test_lesson_is_shown_over_mcp_at_its_call(home: Path) -> None:
    async def scene(s: Session) -> None:
        given = {"call": "npm run biuld", "lesson": "the script is called build", "project": "shop"}
        saved = await s.call("lesson_add", **given)
        await s.call("orient", project="shop")
        assert await s.call("trigger_check", text="npm run lint") == []
        [line] = await s.call("trigger_check", text="npm run biuld")
        assert line.startswith("[lesson] the script is called build\n")
        assert saved["id"] in line

    session(scene, Toolset.CORE, Toolset.MEMORY)


def test_agent_is_reminded_over_mcp_once(home: Path) -> None:
    async def scene(s: Session) -> None:
        saved = await s.call(
            "trigger_create", when="billing schema", action="read the runbook", project="shop"
        )
        await s.call("orient", project="shop")
        assert await s.call("trigger_check", text="the weather") == []
        [line] = await s.call("trigger_check", text="migrate the billing schema")
        assert "read the runbook" in line
        assert saved["id"] in line
        assert await s.call("trigger_check", text="migrate the billing schema") == []

    session(scene, Toolset.CORE, Toolset.MEMORY)
