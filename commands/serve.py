"""`sb serve`: memory and governed calls over MCP."""

from __future__ import annotations

import importlib.util
import re
from typing import TYPE_CHECKING, Annotated

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.options import group
from sb.commands.serve_tokens import app as token_app
from sb.commands.session import configuration

from sb.base.text import checked_name
from sb.errors import UsageError

if TYPE_CHECKING:
    from sb.config import Config
    from sb.mcp.toolsets import Toolset

app = group()
app.add_typer(token_app, name="token")
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?")
AGENT = "mcp"  # who connects over stdio, unless told


@app.command(epilog="Example: sb serve mcp --agent claude-desktop --toolset core --toolset kernel")
def mcp(
    ctx: typer.Context,
    agent: Annotated[str, typer.Option(metavar="NAME", help="Over stdio: the agent that connects.")] = AGENT,
    toolset: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="core, memory, graph, beliefs, kernel, admin, all."),
    ] = None,
    http: Annotated[
        str, typer.Option(metavar="[HOST:]PORT", help="Answer HTTP here, agents by their tokens.")
    ] = "",
    public: Annotated[
        bool, typer.Option("--public", help="Allow an address that other machines reach.")
    ] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A proxy's name, allowed as Host over HTTP; repeatable."),
    ] = None,
    doctor: Annotated[
        bool, typer.Option("--doctor", help="Check that it would work, and show what it offers.")
    ] = False,
) -> None:
    """Serve MCP on stdin and stdout, or over HTTP.

    Over stdio one agent connects, whom --agent names. Over HTTP each
    agent has a token of its own: sb serve token create.
    """
    require_sdk()
    from sb.mcp.toolsets import toolsets

    offered = toolsets(toolset or ())
    config = configuration(ctx, quietly=not doctor)
    if doctor:
        _check(config, agent, offered)
    elif http:
        _serve_http(config, http, public, allow_host or [])
    else:
        from sb.mcp.serving import serve_stdio

        try:
            checked_name("agent", agent)
        except ValueError as error:
            raise UsageError(f"--agent: {error}") from None
        serve_stdio(config, agent, offered)


def _serve_http(config: Config, address: str, public: bool, proxied: list[str]) -> None:
    from sb.mcp.serving import PATH, is_loopback, serve_http

    host, port = _address(address)
    if not public and not is_loopback(host):
        raise UsageError(
            f"{host} may be reached from other machines, and this is HTTP without encryption",
            "put a proxy with TLS before 127.0.0.1, or add --public",
        )
    for name in proxied:
        if not _HOST.fullmatch(name):
            raise UsageError(
                f"--allow-host: {name!r} is no host's name", "for example --allow-host brain.example.com"
            )
    line = f"MCP at http://{host}:{port}{PATH}; Ctrl+C ends it"
    serve_http(config, host, port, proxied, on_listening=lambda: note(line))


def _check(config: Config, agent: str, offered: tuple[Toolset, ...]) -> None:
    from sb.mcp.checking import check

    for line in check(config, agent, offered):
        output.line(line)


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or not 0 < int(port) < 65_536:
        raise UsageError(
            f"--http: {text!r} is no address", "for example --http 8765, or --http 127.0.0.1:8765"
        )
    return host.strip("[]") or "127.0.0.1", int(port)


def require_sdk() -> None:
    """Raise UsageError unless the package that the server needs is installed."""
    if importlib.util.find_spec("mcp") is None:
        raise UsageError("MCP needs the package mcp", "pip install 'secondbrain-sb[mcp]'")
