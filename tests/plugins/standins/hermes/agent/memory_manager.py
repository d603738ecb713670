"""The caller of providers: the order of calls and the handling of errors that the guide describes."""

from __future__ import annotations

import json
from typing import Any


class MemoryManager:
    """Calls one provider."""

    def __init__(self) -> None:
        self._provider: Any = None
        self._tools: set[str] = set()

    def add_provider(self, provider: Any) -> None:
        self._provider = provider
        self._tools = {schema["name"] for schema in provider.get_tool_schemas()}

    def initialize_all(self, session_id: str, **kwargs: Any) -> None:
        self._provider.initialize(session_id, **kwargs)

    def build_system_prompt(self) -> str:
        return str(self._provider.system_prompt_block())

    def prefetch_all(self, query: str, *, session_id: str = "") -> str:
        return str(self._provider.prefetch(query, session_id=session_id))

    def sync_all(self, user: str, assistant: str, *, session_id: str = "") -> None:
        self._provider.sync_turn(user, assistant, session_id=session_id, messages=[])

    def has_tool(self, name: str) -> bool:
        return name in self._tools

    def handle_tool_call(self, name: str, args: dict[str, Any], **kwargs: Any) -> str:
        try:
            return str(self._provider.handle_tool_call(name, args, **kwargs))
        except RuntimeError as error:
            return json.dumps({"error": str(error)})

    def on_memory_write(self, action: str, target: str, content: str) -> None:
        self._provider.on_memory_write(action, target, content, metadata={})

    def flush_pending(self, timeout: float | None = None) -> bool:
        return True

    def on_session_end(self, messages: list[dict[str, Any]]) -> None:
        self._provider.on_session_end(messages)

    def shutdown_all(self) -> None:
        self._provider.shutdown()
