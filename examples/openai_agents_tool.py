"""An OpenAI Agents SDK tool whose calls the kernel governs.

`pip install '.[openai-agents]'`, then `python examples/openai_agents_tool.py`. The tool is invoked as the SDK's runner
does it, so that no model is needed.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from agents import function_tool
from agents.tool_context import ToolContext

from sb.kernel import SafetyClass, governed
from sb.runtime import open_runtime

NOTES = Path("notes.txt")


@function_tool
@governed(safety_class=SafetyClass.LOCAL_WRITE, tool_id="notes.append", on_refusal="return")
def append_note(text: str) -> str:
    """Append one line to the notes."""
    with NOTES.open("a", encoding="utf-8") as notes:
        notes.write(text + "\n")
    return f"{len(text)} characters written"


async def call(text: str) -> str:
    """One call of the tool; what the model would be told."""
    arguments = json.dumps({"text": text})
    context = ToolContext(None, tool_name=append_note.name, tool_call_id="call_1", tool_arguments=arguments)
    return str(await append_note.on_invoke_tool(context, arguments))


def main() -> str:
    """Let an agent call the tool once; what the model would be told."""
    with open_runtime() as runtime, runtime.run("clerk", intent="keep the notes"):
        return asyncio.run(call("buy milk"))


if __name__ == "__main__":
    print(main())
