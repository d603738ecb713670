"""An agent's own calls, as far as it may see and undo them."""

from __future__ import annotations

from sb.errors import NotFoundError
from sb.kernel.calls.approval import Approval
from sb.kernel.contracts import ToolSpec
from sb.kernel.execution.admission import PERFORMED_BY_HOST
from sb.kernel.execution.executor import ToolExecutor
from sb.kernel.recovery_loop.answers import Undone
from sb.kernel.recovery_loop.escalations import Escalation
from sb.kernel.recovery_loop.service import Recovery
from sb.kernel.reversibility.contracts import MutationRef


class OwnCalls:
    """The calls of one agent.

    Args:
        recovery: takes calls back.
        agent: whose they are; the caller vouches for the name.
    """

    def __init__(self, executor: ToolExecutor, recovery: Recovery, agent: str) -> None:
        self._executor = executor
        self._recovery = recovery
        self._agent = agent

    def tools(self) -> list[ToolSpec]:
        """The tools that it may call here; those that only a coding agent's host performs are refused to all others."""
        specs = self._executor.registry.filter_for_agent(self._agent)
        return [spec for spec in specs if not spec.metadata.get(PERFORMED_BY_HOST)]

    def request(self, reference: str) -> Approval:
        """A request for a call of this agent, or to undo one.

        Raises:
            NotFoundError: there is none; it names no request of others.
        """
        try:
            approval = self._executor.approvals.get(reference)
        except NotFoundError:  # which would suggest requests of others
            raise NotFoundError(f"you have no request {reference}") from None
        if approval.agent == self._agent or (approval.reverses and self._made(approval.reverses)):
            return approval
        raise NotFoundError(f"you have no request {reference}")

    def requests(self, limit: int) -> list[Approval]:
        """Its requests, newest first."""
        return self._executor.approvals.page(agent=self._agent, limit=limit)

    def escalations(self, limit: int) -> list[Escalation]:
        """Its calls that people have to look at, newest first."""
        return self._recovery.escalations.page(agent=self._agent, limit=limit)

    def stopped(self) -> str:
        """The reason why all of its calls are stopped, or ""; raises like `KillSwitch.check`."""
        active = self._executor.kill.in_force()
        kill = active.get("global") or active.get(f"agent:{self._agent}")
        return "" if kill is None else kill.reason or "no reason given"

    def changes(self, limit: int) -> list[MutationRef]:
        """The undo records of its calls, newest first."""
        return self._executor.mutations.newest(limit=limit, agent=self._agent)

    def undo(self, reference: str, reason: str) -> Undone:
        """Take back a call, by its id or that of its change: at once where nobody has to agree, else by a request.

        Raises:
            NotFoundError: this agent made no such call, or it changed nothing.
            NoReversalToken: there is no undo, or not any more.
        """
        if (ref := self._made(reference)) is None:
            raise NotFoundError(f"you made no call {reference} that can be undone")
        return self._recovery.undo_own(ref, reason)

    def _made(self, reference: str) -> MutationRef | None:
        ref = self._executor.mutations.for_call(reference)
        return ref if ref is not None and ref.agent == self._agent else None
