"""Start and end sessions, and hand work over between agents.

Source: the memory whitepaper, "retrieval in the session lifecycle".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sb.base.text import storable
from sb.memory.access import READ, SHARE
from sb.memory.lazy import lazy
from sb.memory.operations import Operations
from sb.protocols.types import Handoff

if TYPE_CHECKING:  # a process that asks one question has no need of them
    from sb.memory.context_package import ContextPackage
    from sb.memory.handoffs import HandoffPacket, Handoffs

DEFAULT_TOKENS = 2_000  # that a context package may take
PAST_SESSION = "past:"  # before the host and its id of a session that was read from a transcript


class Sessions(Operations):
    """The session operations of a Brain."""

    _named: str | None  # the session's name by whoever made this Brain, until that session ends

    @lazy
    def handoffs(self) -> Handoffs:
        """The handoffs that this agent sends and receives."""
        from sb.memory.handoffs import Handoffs

        return Handoffs(self.writer, self.config.home)

    def orient(
        self,
        project: str | None = None,
        *,
        scope: str | None = None,
        query: str | None = None,
        token_budget: int = DEFAULT_TOKENS,
        session: str | None = None,
        repeat: bool = False,
    ) -> ContextPackage:
        """Start a session; returns the context package for it.

        Args:
            project, scope: the session's scope from now on, by default the one that there is.
            query: what the session is about; what answers it comes first.
            token_budget: tokens that the package may take as text, at least 100.
            session: the name of a session to go on in, such as a coding agent's own id; by default a new one begins.
            repeat: show also what that session has seen before, since it was lost from its context.

        Raises:
            ValueError: a value that cannot be, or a session of another agent.
        """
        from sb.memory.context_package import Orienting
        from sb.memory.housekeeping import tidy_a_little

        chosen = self.writer.chosen(project, scope)
        self.writer.check_right(READ, chosen)
        self.writer.begin(chosen, session or self._named)
        package = Orienting(self.writer, self.searcher, self.handoffs).package(
            None if query is None else storable(query), token_budget, repeat=repeat
        )
        tidy_a_little(self.space)
        return package

    def handoff(
        self,
        goal: str,
        current_state: str,
        open_loops: str | Sequence[str],
        next_step: str,
        *,
        recipient: str = "",
        project: str | None = None,
        scope: str | None = None,
    ) -> HandoffPacket:
        """Send a signed handoff to another agent, or to the next session; the session goes on.

        Args:
            recipient: the agent it is for; "" for anyone.

        Raises:
            ValueError: the goal is empty. ConfigError: the home's secret cannot be used.
        """
        from sb.memory.handoffs import loops

        packet = Handoff(goal, current_state, loops(open_loops), next_step, recipient)
        return self.handoffs.send(packet, self._shared(project, scope, recipient))

    def resume(self, project: str | None = None, *, scope: str | None = None) -> HandoffPacket | None:
        """Accept the newest handoff that waits for this agent, or for anyone; None if there is none.

        Look at `verified` first: of a packet that cannot be verified the content is left out, and it goes on waiting.
        """
        chosen = self.writer.chosen(project, scope)
        self.writer.check_right(READ, chosen)
        return self.handoffs.resume(chosen)

    def _shared(self, project: str | None, scope: str | None, recipient: str) -> str:
        """The scope of a handoff, which takes the right to share for another agent."""
        chosen = self.writer.chosen(project, scope)
        if recipient not in ("", self.agent_id):
            self.writer.check_right(SHARE, chosen)
        return chosen

    def wrap_up(
        self,
        summary: str,
        *,
        project: str | None = None,
        scope: str | None = None,
        goal: str | None = None,
        open_loops: str | Sequence[str] | None = None,
        next_step: str | None = None,
        recipient: str = "",
    ) -> HandoffPacket:
        """End the session with a signed packet for the next one.

        Args:
            summary: where things stand.
            goal, open_loops, next_step: derived from what the session wrote where they are not given; docs/guides/memory.md
                says how.
            recipient: the agent it is for; "" for anyone.

        Raises:
            ValueError: the summary is empty. ConfigError: the home's secret cannot be used.
        """
        from sb.memory.wrap_up import wrap_up

        given = {"goal": goal, "open_loops": open_loops, "next_step": next_step}
        made = wrap_up(
            self.writer, self.handoffs, summary, self._shared(project, scope, recipient), given, recipient
        )
        self._named = None
        return made
