"""A pydantic-ai agent's tool whose calls the kernel governs.

`pip install '.[pydantic-ai]'`, then `python examples/pydantic_ai_tool.py`. The model is a function that calls the tool
and repeats what it is told.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from sb.kernel import SafetyClass, governed
from sb.runtime import open_runtime

NOTES = Path("notes.txt")


@governed(safety_class=SafetyClass.LOCAL_WRITE, tool_id="notes.append", on_refusal="return")
def append_note(text: str) -> str:
    """Append one line to the notes."""
    with NOTES.open("a", encoding="utf-8") as notes:
        notes.write(text + "\n")
    return f"{len(text)} characters written"


def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Call the tool, then say what it answered."""
    last = messages[-1].parts[-1]
    if isinstance(last, ToolReturnPart):
        return ModelResponse([TextPart(str(last.content))])
    return ModelResponse([ToolCallPart("append_note", {"text": "buy milk"})])


def main() -> str:
    """Let an agent call the tool once; what the model was told."""
    agent = Agent(FunctionModel(model), tools=[append_note])
    with open_runtime() as runtime, runtime.run("clerk", intent="keep the notes"):
        return str(asyncio.run(agent.run("note that milk is out")).output)


if __name__ == "__main__":
    print(main())
