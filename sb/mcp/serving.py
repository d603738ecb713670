"""Serves over stdio to the program that started us, and over HTTP to agents with a token."""

from __future__ import annotations

import errno
import ipaddress
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken as VerifiedToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.transport_security import TransportSecuritySettings

from sb.base.sources import MICROSECONDS
from sb.config import Config
from sb.errors import DeniedError, SBError, UsageError
from sb.kernel.boundaries.tokens import AccessTokens
from sb.mcp.desk import AgentDesk
from sb.mcp.server import build_server
from sb.mcp.toolsets import Toolset, toolsets
from sb.runtime import Runtime, open_runtime
from sb.runtime.parts import open_authority

if TYPE_CHECKING:
    from starlette.applications import Starlette

PATH = "/mcp"
_EVERY_ADDRESS = ("0.0.0.0", "::")
_NOT_HERE = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)  # of ::1 where IPv6 is off
_BACKLOG = 2048  # connections that may wait to be accepted, as uvicorn has it
MAX_BODY = 4 << 20  # bytes of one request


def serve_stdio(config: Config, agent: str, offered: Sequence[Toolset]) -> None:
    """Answer on stdin and stdout until stdin ends.

    Raises:
        ConfigError, StoreError: the home cannot be used. ValueError: the agent's name is none.
    """
    with open_runtime(config) as runtime, closing(AgentDesk(runtime, agent, offered)) as desk:
        with desk.memory():  # a name that cannot be is refused now, not by the first call
            pass
        build_server(lambda: desk, offered).run("stdio")


class HttpDesks:
    """The desks of agents that connect by token, each made by its first request."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._tokens = AccessTokens(runtime.log, open_authority(runtime.config, runtime.log))
        self._lock = threading.Lock()
        self._desks: dict[str, AgentDesk] = {}
        self._open = ExitStack()

    async def verify_token(self, token: str) -> VerifiedToken | None:
        """Verify a request's token for the SDK; None refuses it."""
        try:
            known = self._tokens.verify(token)
        except SBError:  # what cannot be read admits nobody
            return None
        if known is None:
            return None
        ends = None if known.expires_at is None else known.expires_at // MICROSECONDS
        return VerifiedToken(
            token=known.id,
            client_id=known.agent,
            scopes=list(known.toolsets),
            expires_at=ends,
            subject=known.id,
        )

    def current(self) -> AgentDesk:
        """The desk of the token that the present request came with; raises DeniedError without one."""
        token = get_access_token()
        if token is None:
            raise DeniedError("this request came without a token")
        key = str(token.subject)
        with self._lock:
            if key not in self._desks:
                desk = AgentDesk(self._runtime, token.client_id, toolsets(token.scopes))
                self._desks[key] = self._open.enter_context(closing(desk))
            return self._desks[key]

    def close(self) -> None:
        self._open.close()


def http_app(
    runtime: Runtime, desks: HttpDesks, host: str, port: int, proxied: Sequence[str] = ()
) -> Starlette:
    """The application that answers HTTP: a bearer token for each request, `Host` and `Origin` checked.

    Args:
        proxied: further names that `Host` may have, those of a proxy that speaks TLS before it.
    """
    name = f"[{host}]" if ":" in host else host
    url = f"http://{name}:{port}"
    own = {"issuer_url": url, "resource_server_url": f"{url}{PATH}", "validate_token_resource": False}
    auth = AuthSettings.model_validate(own)  # every token that is verified was made for this home
    from starlette.middleware import Middleware

    from sb.mcp.http_limits import IDLE_S, TokenLimits

    server = build_server(desks.current, tuple(Toolset), verifier=desks, auth=auth)
    local = is_loopback(host) or host in _EVERY_ADDRESS
    names = [name, *(("localhost", "127.0.0.1", "[::1]") if local else ())]
    security = TransportSecuritySettings(
        allowed_hosts=[f"{item}:{port}" for item in names] + _any_port("", proxied),
        allowed_origins=[f"http://{item}:{port}" for item in names] + _any_port("https://", proxied),
    )
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=MAX_BODY,
        transport_security=security,
        host=host,
        session_idle_timeout=IDLE_S,
        max_sessions=None,  # one limit for all would let one token shut out the others
    )
    app.user_middleware.append(Middleware(TokenLimits))  # the last: it sees who was authenticated
    return app


def _any_port(scheme: str, names: Sequence[str]) -> list[str]:
    return [f"{scheme}{name}{port}" for name in names for port in ("", ":*")]


def serve_http(
    config: Config,
    host: str,
    port: int,
    proxied: Sequence[str] = (),
    *,
    on_listening: Callable[[], None],
) -> None:
    """Answer HTTP until interrupted.

    Args:
        proxied: as in `http_app`.
        on_listening: is called once connections are accepted.

    Raises:
        ConfigError, StoreError: the home cannot be used. UsageError: nobody has a token, or something else listens there.
    """
    import uvicorn

    with open_runtime(config) as runtime, closing(HttpDesks(runtime)) as desks:
        if not AccessTokens(runtime.log, open_authority(config, runtime.log)).all():
            raise UsageError("nobody could connect: there is no token", "sb serve token create AGENT")
        settings = uvicorn.Config(
            http_app(runtime, desks, host, port, proxied),
            host=host,
            port=port,
            log_level="warning",
            access_log=False,
        )
        with ExitStack() as stack:
            listening = _listen(host, port, stack)
            on_listening()
            uvicorn.Server(settings).run(listening)


def _listen(host: str, port: int, stack: ExitStack) -> list[socket.socket]:
    """Listening sockets, since uvicorn, left to itself, logs that it cannot listen and ends as if all were well.

    `localhost` is two addresses, and each client takes the one it prefers.
    """
    listening = []
    failure: OSError | None = None
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, address in dict.fromkeys((family, address) for family, *_, address in found):
            try:
                bound = socket.create_server(address[:2], family=family, backlog=_BACKLOG)
            except OSError as error:
                if error.errno not in _NOT_HERE:
                    raise
                failure = error
            else:
                listening.append(stack.enter_context(bound))
        if failure and not listening:
            raise failure
    except OSError as error:
        reason = error.strerror or error
        raise UsageError(
            f"cannot listen on {host}:{port}: {reason}", "name another address with --http"
        ) from None
    return listening


def is_loopback(host: str) -> bool:
    """True if only this machine reaches the address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
