"""Limits of one token over HTTP: requests at once and open sessions. One agent cannot shut out the others."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_REQUESTS = 250  # of one token at once, open streams included
MAX_SESSIONS = 200  # of one token
IDLE_S = 1_800.0  # seconds after which a session without a request ends, as the SDK has it
_SESSION = "mcp-session-id"
_VERSION = "mcp-protocol-version"
_WITHOUT_SESSIONS = "2026-07-28"  # the first revision of the protocol that has none
_BUSY = -32_000
_FAILED = 400  # and above: statuses of HTTP


class TokenLimits:
    """Refuses what is too much of one token. It stands behind what verifies tokens.

    Args:
        clock: monotonic, in seconds.
    """

    def __init__(self, app: ASGIApp, clock: Callable[[], float] = time.monotonic) -> None:
        self._app = app
        self._clock = clock
        self._requests: Counter[str] = Counter()
        self._sessions: defaultdict[str, dict[str, float]] = defaultdict(
            dict
        )  # by token: when each was last used

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        user = scope.get("user")
        if scope["type"] != "http" or not isinstance(user, AuthenticatedUser):
            await self._app(scope, receive, send)  # where it ends is refused, as it has no token
            return
        token = str(user.access_token.subject)
        if self._requests[token] >= MAX_REQUESTS:
            await _refusal(f"{MAX_REQUESTS} requests of this token are open")(scope, receive, send)
            return
        self._requests[token] += 1
        try:
            await self._within_sessions(token, scope, receive, send)
        finally:
            self._requests[token] -= 1

    async def _within_sessions(self, token: str, scope: Scope, receive: Receive, send: Send) -> None:
        headers, sessions = Headers(scope=scope), self._sessions[token]
        named = headers.get(_SESSION, "")
        opens = scope["method"] == "POST" and not named and headers.get(_VERSION, "") < _WITHOUT_SESSIONS
        place = f"opening {id(scope)}"
        if opens:
            oldest = self._clock() - IDLE_S
            for idle in [name for name, used in sessions.items() if used < oldest]:
                del sessions[idle]
            if len(sessions) >= MAX_SESSIONS:
                await _refusal(f"{MAX_SESSIONS} sessions of this token are open")(scope, receive, send)
                return
            sessions[place] = self._clock()

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                if opens:
                    sessions.pop(place, None)
                    if opened := Headers(raw=message["headers"]).get(_SESSION):
                        sessions[opened] = self._clock()
                elif scope["method"] == "DELETE" and message["status"] < _FAILED:  # else it goes on
                    sessions.pop(named, None)
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            sessions.pop(place, None)
            if named in sessions:
                sessions[named] = self._clock()


def _refusal(reason: str) -> JSONResponse:
    error = {"code": _BUSY, "message": f"{reason}: end one, or try again later"}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, status_code=429)
