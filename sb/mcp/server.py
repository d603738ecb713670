"""Builds the server of a runtime: the tools of the chosen toolsets, resources, a prompt."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

import anyio.to_thread
from mcp.server.auth.provider import TokenVerifier
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, Prompt, Resource, ResourceTemplate, Tool, ToolAnnotations
from pydantic import ValidationError

from sb import __version__
from sb.base.text import json_text
from sb.errors import NotFoundError, SBError
from sb.mcp.admin_tools import AdminTools
from sb.mcp.answers import error_line, plain_errors
from sb.mcp.desk import AgentDesk
from sb.mcp.kernel_tools import KernelTools
from sb.mcp.memory_tools import MemoryTools
from sb.mcp.stdio import bounded_stdio
from sb.mcp.toolsets import Offer, Toolset
from sb.memory.views import plain_json

_P = ParamSpec("_P")
_T = TypeVar("_T")
NAME = "secondbrain"
_INSTRUCTIONS = {
    Toolset.CORE: "A memory that outlives this session. Call orient first, search before you ask the user what they"
    " told an agent before, remember what will matter later, and wrap_up at the end.",
    Toolset.KERNEL: "call_tool makes governed calls: one that is refused is not to be worked around; one that waits is"
    " repeated unchanged once a person agreed.",
}
_PROMPT = "Call orient{about}, and work from what it tells. Search memories before asking the user. At the end call wrap_up."


_READS_MEMORY = frozenset(
    (Toolset.CORE, Toolset.MEMORY)
)  # the toolsets that resources, which are memories, come with


class _Server(MCPServer[Any]):
    """Offers each client the tools of its own toolsets alone, and resources with those of memory."""

    desk: Callable[[], AgentDesk]
    toolset_of: Mapping[str, Toolset]
    arguments_of: Mapping[str, Collection[str]]

    async def run_stdio_async(self) -> None:
        async with bounded_stdio() as (messages, answers):
            options = self._lowlevel_server.create_initialization_options()
            await self._lowlevel_server.run(messages, answers, options)

    async def list_tools(self) -> list[Tool]:
        allowed = self.desk().toolsets
        tools = [tool for tool in await super().list_tools() if self.toolset_of[tool.name] in allowed]
        return [
            tool.model_copy(
                update={
                    "input_schema": _untitled(tool.input_schema),
                    "output_schema": _untitled(tool.output_schema),
                }
            )
            for tool in tools
        ]

    async def call_tool(self, name: str, arguments: dict[str, Any], *args: Any, **more: Any) -> Any:
        if self.toolset_of.get(name) not in (None, *self.desk().toolsets):
            raise ToolError(f"{name} is not offered to {self.desk().agent}")
        if unknown := arguments.keys() - (taken := self.arguments_of.get(name, arguments.keys())):
            raise ToolError(f"{name} has no argument {min(unknown)}; it takes {', '.join(taken) or 'none'}")
        try:
            return await super().call_tool(name, arguments, *args, **more)
        except ToolError as error:
            cause = error.__cause__
            if isinstance(cause, ValidationError):
                raise ToolError(_wrong_arguments(name, cause)) from error
            raise (cause if isinstance(cause, ToolError) else error) from None

    async def list_resources(self) -> list[Resource]:
        return await super().list_resources() if self._reads_memory() else []

    async def list_resource_templates(self) -> list[ResourceTemplate]:
        return await super().list_resource_templates() if self._reads_memory() else []

    async def read_resource(self, uri: Any, *args: Any, **more: Any) -> Any:
        if not self._reads_memory():
            raise ResourceNotFoundError(f"memories are not offered to {self.desk().agent}")
        return await super().read_resource(uri, *args, **more)

    async def list_prompts(self) -> list[Prompt]:
        # The prompt names tools of core.
        return await super().list_prompts() if Toolset.CORE in self.desk().toolsets else []

    async def get_prompt(self, name: str, *args: Any, **more: Any) -> Any:
        if name not in (known := [prompt.name for prompt in await self.list_prompts()]):
            raise MCPError(INVALID_PARAMS, f"no prompt {name!r}; there are {', '.join(known) or 'none'}")
        return await super().get_prompt(name, *args, **more)

    def _reads_memory(self) -> bool:
        return not _READS_MEMORY.isdisjoint(self.desk().toolsets)


def _untitled(schema: Any) -> Any:
    """A schema without the titles that repeat its names: each would cost every request of a model."""
    if isinstance(schema, dict):
        return {
            key: _untitled(value)
            for key, value in schema.items()
            if not (key == "title" and isinstance(value, str))
        }
    return [_untitled(item) for item in schema] if isinstance(schema, list) else schema


def _wrong_arguments(name: str, error: ValidationError) -> str:
    """The fault in a tool's arguments, without their values."""
    wrong = [f"{'.'.join(map(str, item['loc'])) or 'arguments'}: {item['msg']}" for item in error.errors()]
    return error_line(ValueError(f"{name}: {'; '.join(wrong)}"))


def build_server(
    desk: Callable[[], AgentDesk],
    offered: Sequence[Toolset],
    *,
    verifier: TokenVerifier | None = None,
    auth: AuthSettings | None = None,
) -> MCPServer:
    """A server; its transport is the caller's choice.

    Args:
        desk: the agent that asks now.
        offered: what clients see.
        verifier, auth: who may connect over HTTP; without them anybody who reaches it, as over stdio.
    """
    instructions = " ".join(text for toolset, text in _INSTRUCTIONS.items() if toolset in offered)
    server = _Server(
        NAME,
        title="SecondBrain",
        instructions=instructions or None,
        version=__version__,
        token_verifier=verifier,
        auth=auth,
        log_level="WARNING",
    )
    every = offers(desk, offered)
    server.desk = desk
    server.toolset_of = {offer.function.__name__: offer.toolset for offer in every}
    server.arguments_of = {offer.function.__name__: _arguments(offer) for offer in every}
    for offer in every:
        server.add_tool(
            _answering(offer, desk),
            title=offer.title,
            description=inspect.cleandoc(offer.function.__doc__ or "").replace("\n", " "),
            annotations=ToolAnnotations(
                title=offer.title,
                read_only_hint=offer.reads,
                destructive_hint=offer.removes,
                idempotent_hint=offer.again or offer.reads,
                open_world_hint=offer.function.__name__ == "call_tool",
            ),
        )
    _add_resources(server, desk)
    return server


def offers(desk: Callable[[], AgentDesk], offered: Sequence[Toolset]) -> list[Offer]:
    """The tools of these toolsets."""
    every = (*MemoryTools(desk).offers(), *KernelTools(desk).offers(), *AdminTools(desk).offers())
    return [offer for offer in every if offer.toolset in offered]


def _arguments(offer: Offer) -> list[str]:
    return [name for name in inspect.signature(offer.function).parameters if name != "ctx"]


def _answering(offer: Offer, desk: Callable[[], AgentDesk]) -> Callable[..., Any]:
    """The tool's function, with errors that a model can act on."""
    if not inspect.iscoroutinefunction(offer.function):
        return _in_turn(desk, plain_errors(offer.function))
    function: Callable[..., Awaitable[Any]] = offer.function

    @wraps(function)
    async def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            return await function(*args, **kwargs)
        except (SBError, ValueError, TypeError) as error:
            raise ToolError(error_line(error)) from error

    return wrapped


def _in_turn(desk: Callable[[], AgentDesk], function: Callable[_P, _T]) -> Callable[_P, Awaitable[_T]]:
    """The function in a worker thread; each agent has few, so that all can share them."""

    @wraps(function)
    async def wrapped(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        async with desk().turns:
            return await anyio.to_thread.run_sync(partial(function, *args, **kwargs))

    return wrapped


def _add_resources(server: MCPServer, desk: Callable[[], AgentDesk]) -> None:
    @server.resource(
        "sb://handoff/latest",
        title="Latest handoff",
        mime_type="application/json",
        description="The newest handoff.",
    )
    @partial(_in_turn, desk)
    def latest_handoff() -> str:
        with desk().memory() as brain:
            newest = brain.handoffs.newest(brain.scope).packet
            if newest is None or not newest.verified:
                return json_text(None)
            shown = replace(
                brain.handoffs.for_reader(newest), outdated=()
            )  # which is told once, by orient and resume
        return json_text(plain_json(shown))

    @server.resource(
        "sb://record/{id}", title="Memory", mime_type="application/json", description="One memory by its id."
    )
    @partial(_in_turn, desk)
    def record(id: str) -> str:
        try:
            with desk().memory() as brain:
                return json_text(plain_json(brain.get(id)))
        except NotFoundError as error:
            raise ResourceNotFoundError(error_line(error)) from error

    @server.prompt(title="Begin a session", description="Begin with what is remembered.")
    def session_start(project: str = "") -> str:
        return _PROMPT.format(about=f" with project {project!r}" if project else "")
