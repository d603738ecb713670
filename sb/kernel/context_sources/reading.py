"""Calls and results that bring context in: held to the registered sources."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from sb.errors import SBError
from sb.kernel.calls.call import PATH_FIELDS, Refused, ToolCall
from sb.kernel.context_sources.fetched import addresses_of
from sb.kernel.context_sources.sources import ContextSource, ContextSourceRegistry, SourceRefused
from sb.kernel.contracts import ToolErrorCode, ToolProvenance

_FETCHING = "host.fetch"
_READING = "host.read"
# Classes of command lines that may talk to the network.
_OF_LINES = frozenset(
    "host.shell.network host.shell.destructive host.shell.kept host.shell.kept_network host.shell.kept_in_part".split()
)
_OF_SERVERS = ("host.mcp", "host.mcp.destructive")


class SourceGuard:
    """Holds what programs and hosts read to the registered sources.

    Args:
        load: the registered sources as they are now; raises SBError where they cannot be read, which refuses.
        enforce: whether what is refused is kept out, rather than only recorded.
    """

    def __init__(self, load: Callable[[], ContextSourceRegistry], *, enforce: bool) -> None:
        self.load = load
        self.enforce = enforce

    def judge_call(self, call: ToolCall) -> dict[str, Any]:
        """Facts about the source that a call reads from; raises Refused where it may not."""
        uris = uris_of(call)
        if uris:
            return self._judged(lambda: self._least_trusted(uris))
        if call.tool_id == _READING:
            return self._judged(lambda: self._source_of_file(call.args.get("input")))
        written = paths_of(call) if call.side_effecting else []
        return self._judged(lambda: self._checked_writes(written)) if written else {}

    def describe_call(self, call: ToolCall) -> dict[str, Any]:
        """Facts about the source of a call that was made: what would refuse it is only recorded."""
        try:
            return self.judge_call(call)
        except Refused as refused:
            return {"source_would_refuse": refused.rule}

    def judge_result(self, provenance: ToolProvenance) -> dict[str, Any]:
        """Facts about the source of a result that was just read; raises Refused where it may not be used."""
        uri, fresh = provenance.source_uri, provenance.freshness_s
        return self._judged(lambda: self.load().check_read(uri, freshness_s=fresh)) if uri else {}

    def _least_trusted(self, uris: list[str]) -> ContextSource:
        """The least trusted source of these addresses, all of them readable."""
        sources = self.load()
        return min((sources.check_read(uri) for uri in uris), key=lambda source: source.trust)

    def _source_of_file(self, given: Any) -> ContextSource | None:
        """The source that a file belongs to that is read; other files are nobody's source."""
        given = [given.get(name) for name in PATH_FIELDS] if isinstance(given, dict) else []
        sources = self.load()
        paths = [os.path.normpath(path) for path in given if isinstance(path, str)]
        named = [path for path in paths if sources.find(path) is not None]
        return sources.check_read(named[0]) if named else None

    def _checked_writes(self, paths: list[str]) -> None:
        """Refuse what would change a source that is only read; other files are nobody's source."""
        sources = self.load()
        for path in paths:
            if sources.find(path) is not None:
                sources.check_write(path)

    def _judged(self, check: Callable[[], ContextSource | None]) -> dict[str, Any]:
        try:
            source = check()
        except SBError as error:
            rule = error.rule if isinstance(error, SourceRefused) else "source_unreadable"
            if self.enforce:
                raise Refused(ToolErrorCode.PERMISSION_DENIED, error.message, rule) from error
            return {"source_would_refuse": rule}
        return {} if source is None else {"source": source.source_id, "source_trust": source.trust}


def uris_of(call: ToolCall) -> list[str]:
    """The addresses that a call reads from; none for calls that bring nothing in from outside."""
    args = call.args
    if call.tool_id == _FETCHING:
        given = args.get("input")
        url = given.get("url") if isinstance(given, dict) else None
        return [url if isinstance(url, str) and url else f"host:{args.get('tool')}"]
    if call.tool_id in _OF_SERVERS:
        return [f"mcp:{args.get('tool')}"]
    if call.tool_id in _OF_LINES and isinstance(args.get("command"), str):
        return addresses_of(args["command"])
    url = args.get("url")
    return [url] if call.tool_id == "http.get" and isinstance(url, str) else []


def paths_of(call: ToolCall) -> list[str]:
    """The files that a call names, without dots and double slashes, which would hide whose they are."""
    named = call.args.get("path"), call.args.get("paths")
    given = [named[0], *(named[1] if isinstance(named[1], list) else ())]
    return [os.path.normpath(item) for item in given if isinstance(item, str)]
