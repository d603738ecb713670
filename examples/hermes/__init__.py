"""SecondBrain as Hermes's memory provider: recall at the start, a handoff at the end, and governed tools between."""

from __future__ import annotations

import json
import os
import shutil
from typing import Any

from agent.memory_provider import MemoryProvider

from .client import Client, ServerError

AGENT = "hermes"
PREFIX = "sb_"  # of its tools, which must not take the names of Hermes's own
LONGEST = 1_000  # characters of a message that go into a handoff
USE = (
    "SecondBrain remembers across sessions; its tools begin with sb_. Save a fact that a later session needs with "
    "sb_remember, a choice and its reason with sb_decide. sb_call_tool makes governed calls: `waiting` means that a "
    "person has to agree first; `refused` means no, so do not work around it, ask the user."
)


class SecondBrain(MemoryProvider):
    """Memory of `sb`, through its MCP server."""

    def __init__(self) -> None:
        self._client = Client(AGENT)
        self._project = AGENT
        self._writes = True
        self._oriented = ""
        self._last = ("", "")

    @property
    def name(self) -> str:
        return "secondbrain"

    def is_available(self) -> bool:
        return shutil.which(os.environ.get("SECONDBRAIN_SB", "sb")) is not None

    def initialize(self, session_id: str, **kwargs: Any) -> None:
        self._writes = kwargs.get("agent_context", "primary") == "primary"
        self._project = kwargs.get("agent_workspace") or AGENT
        self._orient()

    def system_prompt_block(self) -> str:
        return f"{USE}\n\n{self._oriented}".strip()

    def prefetch(self, query: str, *, session_id: str = "") -> str:
        if not query.strip():
            return ""
        arguments = {"query": query[:2_000], "limit": 5, "project": self._project}
        worked, text = self._client.call("search", arguments)
        return text if worked else ""

    def sync_turn(self, user_content: str, assistant_content: str, **_: Any) -> None:
        self._last = (user_content, assistant_content)

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        return [
            {
                "name": PREFIX + tool["name"],
                "description": tool["description"],
                "parameters": tool["inputSchema"],
            }
            for tool in self._client.tools()
        ]

    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        worked, text = self._client.call(tool_name.removeprefix(PREFIX), args)
        return json.dumps({"result": text} if worked else {"error": text})

    def on_memory_write(self, action: str, target: str, content: str, metadata: Any = None) -> None:
        """Remember here too what Hermes's own memory tool adds."""
        if self._writes and action in ("add", "replace"):
            category = "preference" if target == "user" else "project"
            arguments = {"content": content, "category": category, "project": self._project}
            self._client.call("remember", arguments)

    def on_session_end(self, messages: list[dict[str, Any]]) -> None:
        asked, answered = self._last
        if self._writes and answered:
            summary = f"The user asked: {asked[:LONGEST]}\nHermes answered: {answered[:LONGEST]}"
            self._client.call("wrap_up", {"summary": summary, "project": self._project})
            self._last = ("", "")

    def on_session_switch(self, new_session_id: str, *, reset: bool = False, **_: Any) -> None:
        if reset:
            self._client.close()  # the next request begins a session of its own
            self._orient()

    def shutdown(self) -> None:
        self._client.close()

    def _orient(self) -> None:
        worked, text = self._client.call("orient", {"project": self._project})
        if not worked:
            raise ServerError(text)
        self._oriented = text


def register(ctx: Any) -> None:
    """Register the provider; Hermes calls this when it loads the plugin."""
    ctx.register_memory_provider(SecondBrain())
