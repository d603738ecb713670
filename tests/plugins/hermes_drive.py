"""Drives the provider through Hermes's own manager, or its stand-in, for two sessions; prints what came of it as JSON."""

from __future__ import annotations

import json
from typing import Any

from agent.memory_manager import MemoryManager
from plugins.memory import load_memory_provider


def first_session(answers: dict[str, Any]) -> None:
    manager, provider = MemoryManager(), load_memory_provider("secondbrain")
    answers["available"] = provider.is_available()
    manager.add_provider(provider)
    manager.initialize_all("s1", platform="cli", agent_context="primary", agent_workspace="shop")
    answers["first prompt"] = manager.build_system_prompt()
    answers["has tool"] = manager.has_tool("sb_remember")
    fact = {"content": "The till closes at six.", "project": "shop"}
    answers["remembered"] = manager.handle_tool_call("sb_remember", fact)
    manager.on_memory_write("add", "user", "Ada prefers short answers.")
    for name, path in (("written", "a.txt"), ("refused", "../outside.txt")):
        call = {"tool": "files.write", "args": {"path": path, "content": "paid\n"}}
        answers[name] = manager.handle_tool_call("sb_call_tool", call)
    answers["unknown"] = manager.handle_tool_call("sb_search", {"query": ""})
    manager.sync_all("Close the books.", "The books are closed up to May.", session_id="s1")
    manager.flush_pending(timeout=20)
    manager.on_session_end([])
    manager.shutdown_all()


def second_session(answers: dict[str, Any]) -> None:
    manager = MemoryManager()
    manager.add_provider(load_memory_provider("secondbrain"))
    manager.initialize_all("s2", platform="cli", agent_context="subagent", agent_workspace="shop")
    answers["second prompt"] = manager.build_system_prompt()
    answers["recalled"] = manager.prefetch_all("when does the till close?", session_id="s2")
    manager.on_memory_write("add", "memory", "A subagent was here.")
    manager.flush_pending(timeout=20)
    answers["of the subagent"] = manager.prefetch_all("was a subagent here?", session_id="s2")
    manager.shutdown_all()


if __name__ == "__main__":
    answers: dict[str, Any] = {}
    first_session(answers)
    second_session(answers)
    print(json.dumps(answers))
