"""Events of the recorder for the capture of runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from sb.kernel.calls.call import Refused, ToolCall
    from sb.kernel.execution.outcome import Outcome
    from sb.kernel.run_context import RunContext


class Capturing(Protocol):
    """Takes down runs while they happen; what cannot be taken down is said in the log, and stops no call.

    Each method returns facts for the event of the log: {} unless something is missing.
    """

    def began(self, ctx: RunContext, facts: dict[str, Any]) -> dict[str, Any]:
        """A run began."""
        ...

    def refused(self, call: ToolCall, refusal: Refused) -> dict[str, Any]:
        """A call did not run."""
        ...

    def ended(self, call: ToolCall, outcome: Outcome) -> dict[str, Any]:
        """A call ran."""
        ...

    def finished(self, ctx: RunContext, error: str) -> dict[str, Any]:
        """A run ended."""
        ...
