"""The HTTP requests that may reach the console in the browser.

Those of the one browser that opened the announced address, from pages of this server only. What others try:

- another website asks our port, under its own name (DNS rebinding) or across origins: we compare Host, Origin
  and Sec-Fetch-Site;
- another user of this machine asks our port, which is open to all of them: the token, then the cookie;
- another server on this host lures the browser to its port. Cookies know no ports, so ours would go there
  too: it is bound to a path that only this server and the browser know.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self'; font-src 'self';"
        # the terminal widget writes its own <style> elements
        " style-src 'self' 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "clipboard-read=()",  # the widget hands the clipboard to an app that asks
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Guard:
    """The checks of one server, and the two secrets they compare with.

    Args:
        port: where the server listens.
        announce: told when a browser signs in, and when somebody tries to once more.
    """

    def __init__(self, port: int, announce: Callable[[str], None]) -> None:
        self.base = f"/{secrets.token_urlsafe(16)}/"
        self.token = secrets.token_urlsafe(32)
        self._announce = announce
        self._used = False
        self._cookie_name = f"sb-console-{port}"
        self._cookie = secrets.token_urlsafe(32)
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}

    @web.middleware
    async def check(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse what is not ours, sign in at `/`, and pass on what has the cookie."""
        if request.method != "GET":
            return page(405, "Only GET is understood here.")
        if foreign := self._foreign(request):
            return page(403, f"{foreign} Paste the address that the terminal shows into the address bar.")
        if request.path == "/":
            return self._sign_in(request)
        if not _same(request.cookies.get(self._cookie_name, ""), self._cookie):
            return page(401, "Not signed in. Open the address that the terminal shows.")
        return await handler(request)

    async def protect(self, request: web.Request, response: web.StreamResponse) -> None:
        """Add the headers that bind the browser, to every response."""
        response.headers.update(_HEADERS)

    def _foreign(self, request: web.Request) -> str:
        """The sign that a request comes from another site, or ""."""
        hosts = request.headers.getall("Host", [])
        origins = request.headers.getall("Origin", [])
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return "This is not the console's address."
        if any(origin != f"http://{hosts[0].lower()}" for origin in origins):
            return "Another page asked for this."
        # "same-site" is foreign too: it is any other port of this machine
        if request.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            return "Another page asked for this."
        if not origins and "Upgrade" in request.headers:
            return "A WebSocket has to say where it comes from."
        return ""

    def _sign_in(self, request: web.Request) -> web.Response:
        if not _same(request.query.get("token", ""), self.token):
            return page(401, "Not signed in. Open the whole address that the terminal shows.")
        if self._used:
            self._announce("The address was opened again and refused: it works once.")
            return page(
                403,
                "This address was used already: it works once. To get a new one, stop the server with ctrl-c"
                " and start it again. If it was not you who used it, do so now.",
            )
        self._used = True
        self._announce("A browser has signed in.")
        response = web.Response(status=303, headers={"Location": self.base})
        response.set_cookie(self._cookie_name, self._cookie, path=self.base, httponly=True, samesite="Strict")
        return response


def page(status: int, text: str) -> web.Response:
    """A response that only says something."""
    return web.Response(status=status, text=text + "\n")


def _same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode())
