"""A plugin, as somebody else would write one: it offers a tool, and remembers what it was asked."""

from __future__ import annotations

from typing import Any

from sb.protocols import PluginContext, PluginHealth, ToolDefinition

TOWN = {
    "type": "object",
    "properties": {"town": {"type": "string", "description": "where"}},
    "required": ["town"],
}


class Weather:
    """Args: fails: hooks that raise."""

    name = "weather"
    version = "1.2"
    protocol_version = 1
    description = "what it is like outside"

    def __init__(self, *fails: str) -> None:
        self.fails = fails
        self.context: PluginContext | None = None
        self.called: list[str] = []
        self.tools = [ToolDefinition("forecast", "What it will be like", TOWN, self.forecast)]

    def forecast(self, town: str) -> str:
        assert self.context is not None
        self.context.note(f"asked about {town}")
        return f"drizzle in {town}"

    def _hook(self, hook: str) -> None:
        self.called.append(hook)
        if hook in self.fails:
            raise RuntimeError(f"no {hook} today")

    def capabilities(self) -> list[str]:
        self._hook("capabilities")
        return ["forecasts"]

    def activate(self, context: PluginContext) -> None:
        self.context = context
        self._hook("activate")

    def deactivate(self) -> None:
        self._hook("deactivate")

    def register_cli(self, subparsers: Any) -> None:
        self._hook("register_cli")
        subparsers.add_parser("weather")

    def register_tools(self) -> list[ToolDefinition]:
        self._hook("register_tools")
        return self.tools

    def on_load(self, context: dict[str, Any]) -> None:
        self._hook("on_load")
        context["weather"] = "drizzle"

    def on_status(self, status: dict[str, Any]) -> None:
        self._hook("on_status")
        status["weather"] = "drizzle"

    def health_check(self) -> PluginHealth:
        self._hook("health_check")
        return PluginHealth(True, "all fine", {"stations": 3})

    def handle_cli(self, args: Any, k: Any) -> None:
        self._hook("handle_cli")

    def cli_commands(self) -> list[str]:
        return ["weather"]


class Umbrella(Weather):
    name = "umbrella"
