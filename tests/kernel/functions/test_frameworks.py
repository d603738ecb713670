"""Governed functions as tools of LangGraph, the OpenAI Agents SDK and pydantic-ai: the real packages, without a model.

`make test` installs them; where one is not installed its tests are skipped.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import pytest

from sb.kernel import RunBudget, SafetyClass, ToolCallRefused, governed, register_governed
from sb.runtime import Runtime, open_runtime
from tests.conftest import CommandLine, approve_tools

ROOT = Path(__file__).parents[3]
EXAMPLES = {
    "langgraph_tool": "langgraph",
    "openai_agents_tool": "agents",
    "pydantic_ai_tool": "pydantic_ai",
}
# What the packages warn of is theirs.
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Runtime]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with open_runtime() as opened:
        yield opened


def example(name: str) -> ModuleType:
    pytest.importorskip(EXAMPLES[name])
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@governed(tool_id="shop.price", on_refusal="return")
def price(item: str, amount: int = 1) -> str:
    """The price of so many of an item."""
    return f"{amount} {item}: {2.5 * amount}"


@governed(tool_id="shop.stock", on_refusal="return")
async def stock(item: str) -> int:
    """The number of an item in stock."""
    await asyncio.sleep(0)
    return len(item)


@governed(safety_class=SafetyClass.DESTRUCTIVE, tool_id="shop.close")
def close_shop() -> str:
    """Close the shop."""
    return "closed"


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_is_tested(name: str) -> None:
    assert {path.stem for path in (ROOT / "examples").glob("*_tool.py")} == set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_refused_until_its_contract_is_approved_and_then_works(
    name: str, sb: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = example(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    refused = module.main()
    command = refused.rpartition(": ")[2]
    assert command == "sb runtime-guard approve-contract kernel notes.append"
    assert not (tmp_path / "notes.txt").exists()
    assert sb(*command.split()[1:], "--reason", "notes are ours").code == 0
    waits = re.search(r"sb (approvals approve apr_\w+) --reason", module.main())
    assert waits, "what cannot be undone asks a person, once for all"
    assert sb(*waits[1].split(), "--reason", "notes are ours").code == 0
    assert module.main() == "8 characters written"
    assert (tmp_path / "notes.txt").read_text("utf-8") == "buy milk\n"


def test_langgraph_runs_parallel_calls_in_the_run_that_it_was_called_in(runtime: Runtime) -> None:
    pytest.importorskip("langgraph")
    from langchain_core.messages import AIMessage
    from langchain_core.tools import tool
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode

    shop = [tool(price), tool(stock)]
    schema = shop[0].tool_call_schema.model_json_schema()
    assert schema["required"] == ["item"]
    assert schema["properties"]["amount"] == {"default": 1, "title": "Amount", "type": "integer"}
    assert shop[0].description == "The price of so many of an item."
    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode(shop))
    graph.add_edge(START, "tools")
    names = ["price", "stock", "price", "stock"]
    calls = [
        {"name": name, "args": {"item": "tea"}, "id": f"c{i}", "type": "tool_call"}
        for i, name in enumerate(names)
    ]

    async def run() -> Any:
        with runtime.run("clerk", budget=RunBudget(max_tool_calls=3)) as ctx:
            answer = await graph.compile().ainvoke({"messages": [AIMessage("", tool_calls=calls)]})
        assert ctx.budget.tool_calls_used == 3
        return [str(message.content) for message in answer["messages"][1:]]

    answers = asyncio.run(run())
    assert len([answer for answer in answers if "budget is used up" in answer]) == 1
    assert {answer for answer in answers if "budget" not in answer} == {"1 tea: 2.5", "3"}


def test_a_refusal_that_is_raised_ends_a_run_of_langgraph_and_of_pydantic_ai(runtime: Runtime) -> None:
    pytest.importorskip("langgraph")
    pytest.importorskip("pydantic_ai")
    from langchain_core.messages import AIMessage
    from langchain_core.tools import tool
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode
    from pydantic_ai import Agent
    from pydantic_ai.models.test import TestModel

    register_governed(runtime.registry, close_shop)
    approve_tools(runtime)
    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode([tool(close_shop)]))
    graph.add_edge(START, "tools")
    call = {"name": "close_shop", "args": {}, "id": "c1", "type": "tool_call"}
    with runtime.run("clerk"), pytest.raises(ToolCallRefused) as refused:
        graph.compile().invoke({"messages": [AIMessage("", tool_calls=[call])]})
    assert refused.value.approval_id.startswith("apr_")
    with runtime.run("clerk"), pytest.raises(ToolCallRefused):
        asyncio.run(Agent(TestModel(), tools=[close_shop]).run("go"))


def test_what_langgraph_injects_is_passed_on_and_neither_shown_nor_recorded(runtime: Runtime) -> None:
    pytest.importorskip("langgraph")
    from langchain_core.messages import AIMessage
    from langchain_core.runnables import RunnableConfig
    from langchain_core.tools import tool
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import InjectedState, ToolNode, ToolRuntime

    def look(item: str, state: Any, config: Any, runtime: Any) -> str:
        """Look for an item."""
        return f"{item} {len(state['messages'])} {config['configurable']['thread']} {runtime.tool_call_id}"

    look.__annotations__ = {
        "item": str,
        "state": Annotated[dict[str, Any], InjectedState],
        "config": RunnableConfig,
        "runtime": ToolRuntime,
        "return": str,
    }
    injected = ("state", "config", "runtime")
    looking = tool(governed(tool_id="shop.look", injected=injected)(look))
    assert list(looking.tool_call_schema.model_json_schema()["properties"]) == ["item"]
    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode([looking]))
    graph.add_edge(START, "tools")
    call = {"name": "look", "args": {"item": "tea"}, "id": "c1", "type": "tool_call"}
    with runtime.run("clerk"):
        answer = graph.compile().invoke(
            {"messages": [AIMessage("", tool_calls=[call])]}, {"configurable": {"thread": "secret-thread"}}
        )
    assert answer["messages"][-1].content == "tea 1 secret-thread c1"
    (event,) = runtime.log.events(kind="kernel.tool.dispatch")
    assert (event.payload or {})["args"] == {"item": "tea"}


def test_pydantic_models_of_a_tool_s_arguments_arrive_as_such(runtime: Runtime) -> None:
    pytest.importorskip("langgraph")
    from langchain_core.tools import tool

    address_of = model_of_an_address()
    seen = []

    def post(to: Any, tags: list[str]) -> Any:
        """Post a parcel."""
        seen.append(to)
        return to

    post.__annotations__ = {"to": address_of, "tags": list[str], "return": address_of}
    parcel = tool(governed(tool_id="parcel.post")(post))
    with runtime.run("clerk"):
        given = parcel.invoke({"to": {"street": "Elm", "number": 3}, "tags": ["a"]})
    assert seen == [address_of(street="Elm", number=3)] == [given]


def model_of_an_address() -> Any:
    pydantic = pytest.importorskip("pydantic")
    return pydantic.create_model("Address", street=(str, ...), number=(int, 1))


def test_the_openai_sdk_reads_the_schema_and_calls_the_function(runtime: Runtime) -> None:
    pytest.importorskip("agents")
    from agents import RunContextWrapper, function_tool
    from agents.tool_context import ToolContext

    seen = []

    def basket(ctx: Any, item: str) -> str:
        """Put an item into the basket.

        Args:
            item: what to put there.
        """
        seen.append(ctx.context)
        return item

    basket.__annotations__["ctx"] = RunContextWrapper[Any]
    basket.__annotations__ |= {"item": str, "return": str}
    tools = [
        function_tool(governed(tool_id="shop.basket", injected=("ctx",))(basket)),
        function_tool(stock),
        function_tool(close_shop),
    ]
    assert tools[0].params_json_schema["properties"]["item"]["description"] == "what to put there."
    assert list(tools[0].params_json_schema["properties"]) == ["item"]

    async def call(tool: Any, **arguments: Any) -> Any:
        text = json.dumps(arguments)
        context = ToolContext("mine", tool_name=tool.name, tool_call_id="c1", tool_arguments=text)
        return await tool.on_invoke_tool(context, text)

    async def run() -> list[Any]:
        with runtime.run("clerk"):
            return list(await asyncio.gather(call(tools[0], item="tea"), call(tools[1], item="tea")))

    assert asyncio.run(run()) == ["tea", 3]
    assert seen == ["mine"]
    # Why `on_refusal="return"`: the SDK does not tell a model what a tool raised.
    with runtime.run("clerk"):
        answer = asyncio.run(call(tools[2]))
    assert "shop.close" not in answer


def test_pydantic_ai_calls_sync_and_async_tools_and_hears_their_own_exceptions(runtime: Runtime) -> None:
    pytest.importorskip("pydantic_ai")
    from pydantic_ai import Agent, ModelRetry
    from pydantic_ai.messages import ModelResponse, RetryPromptPart, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import FunctionModel

    @governed(tool_id="shop.find")
    def find(item: str) -> str:
        """Find an item."""
        raise ModelRetry("say it in lower case")

    contents: list[Any] = []

    def model(messages: Any, info: Any) -> Any:
        last = messages[-1].parts
        if any(isinstance(part, ToolReturnPart | RetryPromptPart) for part in last):
            contents.extend(part.content for part in last)
            return ModelResponse([TextPart("done")])
        assert [tool.name for tool in info.function_tools] == ["price", "stock", "find"]
        names = ("price", "stock", "find")
        return ModelResponse([ToolCallPart(name, {"item": "tea"}) for name in names])

    agent = Agent(FunctionModel(model), tools=[price, stock, find])
    with runtime.run("clerk") as ctx:
        assert asyncio.run(agent.run("go")).output == "done"
    assert contents == ["1 tea: 2.5", 3, "say it in lower case"]
    assert ctx.budget.tool_calls_used == 3


def test_pydantic_ai_s_context_is_passed_on_and_not_recorded(runtime: Runtime) -> None:
    pytest.importorskip("pydantic_ai")
    from pydantic_ai import Agent, RunContext
    from pydantic_ai.models.test import TestModel

    def who(ctx: Any, item: str) -> str:
        """The agent that asks for an item."""
        return f"{ctx.deps} asks"

    who.__annotations__ = {"ctx": RunContext[str], "item": str, "return": str}
    agent = Agent(TestModel(), deps_type=str)
    agent.tool(governed(tool_id="shop.who", injected=("ctx",))(who))
    with runtime.run("clerk"):
        assert "ada asks" in asyncio.run(agent.run("go", deps="ada")).output
    (event,) = runtime.log.events(kind="kernel.tool.dispatch")
    assert "ada" not in str((event.payload or {})["args"])
