"""One agent at the server: its memory, its run, and its calls through the kernel."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property

from anyio import CapacityLimiter

from sb.errors import DeniedError
from sb.kernel.review.host_sessions import MCP_HOST
from sb.kernel.review.own_calls import OwnCalls
from sb.kernel.run_context import INTENT_UNSTATED, RunBudget, RunContext
from sb.mcp.toolsets import Toolset
from sb.memory import Brain
from sb.runtime import Runtime

IDLE_S = 1_800  # seconds without a call after which the next one begins a new run, with a budget of its own
_MEMORY_WAIT_S = 30  # seconds that one request waits for those before it
TURNS = 3  # requests of one agent in worker threads; two of them may wait for its memory


class AgentDesk:
    """The desk of one agent: its allowed calls.

    Args:
        agent: whose memory it is, and whose permissions apply. The client does not choose it.
        toolsets: what it is offered.
    """

    def __init__(self, runtime: Runtime, agent: str, toolsets: Sequence[Toolset]) -> None:
        self.runtime = runtime
        self.agent = agent
        self.toolsets = tuple(toolsets)
        self.oriented = False  # once it called orient, its memory has the scope that it asked for
        self._busy = threading.Lock()  # of the memory
        self._calling = threading.Lock()  # of the run: calls do not wait for the memory
        self.turns = CapacityLimiter(TURNS)
        self._run: RunContext | None = None
        self._called_at = 0.0

    @cached_property
    def _brain(self) -> Brain:
        return self.runtime.brain(self.agent)

    @contextmanager
    def memory(self) -> Iterator[Brain]:
        """The agent's memory, for one request at a time: a session has one scope, and says what its last write masked."""
        if not self._busy.acquire(timeout=_MEMORY_WAIT_S):
            raise DeniedError("the memory is busy with another request of yours", "try again")
        try:
            yield self._brain
        finally:
            self._busy.release()

    def run(self) -> RunContext:
        """The run that calls belong to now."""
        now = self.runtime.log.clock.now()
        with self._calling:
            if self._run is not None and now - self._called_at > IDLE_S:
                self._end()
            if self._run is None:
                self._run = self.runtime.context(
                    self.agent, "calls over MCP", metadata={"host": MCP_HOST, INTENT_UNSTATED: True}
                )
            self._called_at = now
            return self._run

    def budget(self) -> RunBudget:
        """That of the present run, or of the one that its next call would begin."""
        with self._calling:
            return self.runtime.budget() if self._run is None else self._run.budget

    @property
    def calls(self) -> OwnCalls:
        """The agent's calls, with their requests and what they changed."""
        return OwnCalls(self.runtime.executor, self.runtime.recovery, self.agent)

    def close(self) -> None:
        """End the run and the memory's session."""
        self._end()
        if "_brain" in self.__dict__:
            self._brain.close()

    def _end(self) -> None:
        if self._run is not None:
            self.runtime.executor.finish_run(self._run)
            self._run = None
