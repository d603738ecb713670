"""A LangGraph agent's tool whose calls the kernel governs.

`pip install '.[langchain]'`, then `python examples/langgraph_tool.py`. The message that a model would write is made by
hand, so that no model is needed.
"""

from __future__ import annotations

from pathlib import Path

from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from sb.kernel import SafetyClass, governed
from sb.runtime import open_runtime

NOTES = Path("notes.txt")


@tool
@governed(safety_class=SafetyClass.LOCAL_WRITE, tool_id="notes.append", on_refusal="return")
def append_note(text: str) -> str:
    """Append one line to the notes."""
    with NOTES.open("a", encoding="utf-8") as notes:
        notes.write(text + "\n")
    return f"{len(text)} characters written"


def main() -> str:
    """Let the graph call the tool once; what the model would be told."""
    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode([append_note]))
    graph.add_edge(START, "tools")
    call = {"name": "append_note", "args": {"text": "buy milk"}, "id": "call_1", "type": "tool_call"}
    with open_runtime() as runtime, runtime.run("clerk", intent="keep the notes"):
        answer = graph.compile().invoke({"messages": [AIMessage("", tool_calls=[call])]})
    return str(answer["messages"][-1].content)


if __name__ == "__main__":
    print(main())
