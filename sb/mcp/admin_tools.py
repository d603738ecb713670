"""The tools for an agent's own standing: what it may use, what it asked for, what people look at. They only read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Annotated, Any

from pydantic import Field

from sb.base.sources import MICROSECONDS
from sb.kernel.review.agents import agent_requests
from sb.mcp.answers import when
from sb.mcp.desk import AgentDesk
from sb.mcp.kernel_tools import request_answer
from sb.mcp.toolsets import Offer, Toolset

_RECENT_S = 7 * 86_400
_Limit = Annotated[int, Field(ge=1, le=50)]


class AdminTools:
    """The tools of one server.

    Args:
        desk: the agent that asks now.
    """

    def __init__(self, desk: Callable[[], AgentDesk]) -> None:
        self._desk = desk

    def offers(self) -> Iterator[Offer]:
        yield Offer(Toolset.ADMIN, "See who you are", self.status, reads=True)
        yield Offer(Toolset.ADMIN, "See the budget", self.budget, reads=True)
        yield Offer(Toolset.ADMIN, "List requests", self.list_requests, reads=True)
        yield Offer(Toolset.ADMIN, "List escalations", self.list_escalations, reads=True)

    def status(self) -> dict[str, Any]:
        """See who you are here, whether your calls are stopped, and how your requests of the last week ended."""
        desk = self._desk()
        since = int((desk.runtime.log.clock.now() - _RECENT_S) * MICROSECONDS)
        return {
            "agent": desk.agent,
            "toolsets": list(map(str, desk.toolsets)),
            "stopped": desk.calls.stopped(),
            "requests": asdict(agent_requests(desk.runtime.log, desk.agent, since)),
        }

    def budget(self) -> dict[str, Any]:
        """See the limits of your run, and what it has used of them."""
        return self._desk().budget().to_dict()

    def list_requests(self, limit: _Limit = 10) -> list[dict[str, Any]]:
        """List your requests to people, the newest first, and what they decided."""
        requests = self._desk().calls.requests(limit)
        return [request_answer(request) | {"tool": request.tool_id} for request in requests]

    def list_escalations(self, limit: _Limit = 10) -> list[dict[str, Any]]:
        """List your calls that people have to look at, since what they relied on turned out false."""
        return [
            {
                "call_id": escalation.call_id,
                "tool": escalation.tool_id,
                "why": escalation.why,
                "state": str(escalation.state),
                "at": when(escalation.opened_at / MICROSECONDS),
            }
            for escalation in self._desk().calls.escalations(limit)
        ]
