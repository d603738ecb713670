"""The data that a core, its stacks, plugins and model exchange, memories apart.

Source: the core protocol, and for models the `ModelProtocol`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from datetime import datetime
from typing import Any

from sb.base.values.frozen import mutable


@mutable
class SyncResult:
    """The result of one synchronization.

    Args:
        pushed, pulled: how many changes went out and came in. conflicts: how many records were changed on
            both sides and wait for somebody to choose.
        errors, notes: one line each; notes are what people have to know although nothing is wrong.
    """

    pushed: int = 0
    pulled: int = 0
    conflicts: int = 0
    errors: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def conflict_count(self) -> int:
        """Another name of `conflicts`."""
        return self.conflicts


@mutable
class StackInfo:
    """An attached stack; `stats` says how many memories of each kind it has."""

    stack_id: str
    alias: str | None = None
    schema_version: int = 0
    stats: dict[str, int] = field(default_factory=dict)
    is_active: bool = False


@mutable
class PluginInfo:
    """A plugin that is loaded, or that could be."""

    name: str
    version: str
    description: str
    capabilities: list[str] = field(default_factory=list)
    is_loaded: bool = False


@mutable
class PluginHealth:
    """Health of a plugin."""

    healthy: bool
    message: str = ""
    details: dict[str, Any] = field(default_factory=dict)


@mutable
class Binding:
    """The composition of a core at a moment.

    Args:
        model_config: `provider` and `model_id`; empty without a model.
        stacks: stack_id to alias. plugins: their names, in the order in which they were loaded.
        stack_locations: stack_id to what it takes to open that stack again.
    """

    core_id: str
    model_config: dict[str, Any]
    stacks: dict[str, str | None]
    active_stack_id: str | None = None
    plugins: list[str] = field(default_factory=list)
    created_at: datetime | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    stack_locations: dict[str, dict[str, Any]] = field(default_factory=dict)


@mutable
class ModelCapabilities:
    """The capabilities of a model; sizes are in tokens."""

    model_id: str
    provider: str
    context_window: int
    max_output_tokens: int = 4096
    supports_tools: bool = False
    supports_vision: bool = False
    supports_streaming: bool = True


@mutable
class ModelMessage:
    """One turn of a conversation.

    Args:
        role: system, user, assistant or tool. content: text, or a list of parts.
        name, tool_call_id: of a tool's answer, which tool and which call. tool_calls: what an assistant asked for.
    """

    role: str
    content: str | list[dict[str, Any]]
    name: str | None = None
    tool_call_id: str | None = None
    tool_calls: list[dict[str, Any]] | None = None


@mutable
class ModelResponse:
    """The response of a model; `usage` counts tokens, `stop_reason` is the provider's word."""

    content: str
    tool_calls: list[dict[str, Any]] = field(default_factory=list)
    usage: dict[str, int] = field(default_factory=dict)
    stop_reason: str | None = None
    model_id: str | None = None


@mutable
class ModelChunk:
    """A part of an answer; the last one has `is_final`, and `usage` where the provider counts."""

    content: str = ""
    tool_call: dict[str, Any] | None = None
    is_final: bool = False
    usage: dict[str, int] | None = None


@mutable
class ModelStatus:
    """Status of a provider; error_class is rate_limit, auth, timeout, server or unknown."""

    provider: str
    available: bool
    error_class: str | None = None
    error_message: str | None = None
    degraded: bool = False


@mutable
class ToolDefinition:
    """A tool of a plugin, or one that a model may ask for.

    Args:
        input_schema: a JSON Schema of an object, whose properties are handed to the handler by keyword.
        safety_class: the most that the tool may do: read_only, local_write, network or destructive. One that does not
            say counts as network.
    """

    name: str
    description: str
    input_schema: dict[str, Any]
    handler: Callable[..., Any] | None = None
    safety_class: str | None = None
