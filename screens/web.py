"""Show the console in a browser of this machine."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from sb.errors import UsageError

if TYPE_CHECKING:
    from sb.kernel.decision_desk import DecisionDesk

TEXTUAL_SERVE = "1.1.3"  # our checks wrap its parts; the extra `web` in pyproject.toml pins the same
_ADDRESSES = {"127.0.0.1": "127.0.0.1", "localhost": "127.0.0.1", "::1": "::1"}


def serve(
    command: list[str],
    *,
    home: Path,
    desk: DecisionDesk | None,
    announce: Callable[[str], None],
    waiting: Callable[[], int],
    host: str = "127.0.0.1",
    port: int = 0,
) -> None:
    """Serve a Textual app to one browser on this machine, a process for each tab, until ctrl-c.

    Args:
        command: starts the app. No shell reads it, and everybody on this machine can: no secrets. Python is
            best given -P, or `-m` would import what lies in the current folder.
        home: SB_HOME.
        desk: decides for the apps, which ask through SOCKET_VARIABLE of sb.screens.signing_agent; None to
            start them with --read-only.
        announce: called with the one-time address as soon as it works, later with a line for each sign-in,
            and with what a failed app wrote.
        waiting: counts what needs a person; called in a thread, every second.
        port: 0 for a free one.

    Raises:
        UsageError: the host is not this machine alone, the port cannot be had, or textual-serve is missing.
    """
    import asyncio

    if host not in _ADDRESSES:
        raise UsageError(f"{host} is not a loopback address", f"use one of {', '.join(_ADDRESSES)}")
    _check_textual_serve()
    from sb.screens.signing_agent import SigningAgent
    from sb.screens.web_server import ConsoleServer

    with ExitStack() as open_things:
        listener = open_things.enter_context(_listen(_ADDRESSES[host], port))
        agent = None
        if desk is None:
            command = [*command, "--read-only"]
        else:
            agent = open_things.enter_context(SigningAgent(desk, home))
        asyncio.run(ConsoleServer(command, listener, agent, announce, waiting).run())


def _check_textual_serve() -> None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        found = version("textual-serve")
    except PackageNotFoundError:
        found = "not installed"
    if found != TEXTUAL_SERVE:
        raise UsageError(
            f"the console in a browser needs textual-serve {TEXTUAL_SERVE} ({found})",
            "pip install 'secondbrain-sb[web]'",
        )


def _listen(address: str, port: int) -> socket.socket:
    if not 0 <= port <= 65_535:
        raise UsageError(f"{port} is not a port", "ports go from 1 to 65535; 0 takes a free one")
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        return socket.create_server((address, port), family=family)
    except OSError as error:
        reason = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be had: {error.strerror}"
        raise UsageError(f"port {port} of {address} {reason}", "choose another; 0 takes a free one") from None
