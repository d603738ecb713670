"""The runs that recovery makes its calls in: one for each thing that it looks at or reverses, ended when that is done."""

from __future__ import annotations

from sb.kernel.execution.executor import ToolExecutor
from sb.kernel.run_context import RECOVERY_AGENT, RunBudget, RunContext

_BUDGET = 1_000_000  # calls: one look asks about every reason there is
_CALL_MS = 60_000


class OwnRuns:
    """Begins runs of recovery; one that previews or reverses ends when the next one begins, or by `finish`.

    Args:
        executor: makes the calls, and records the ends.
    """

    def __init__(self, executor: ToolExecutor) -> None:
        self._executor = executor
        self._about = ""
        self._open: RunContext | None = None

    def begin(self, intent: str, about: str = "") -> RunContext:
        """A run for this intent; the open one if that is about the same.

        Args:
            about: the mutation that it looks at or reverses, so that a preview and the reversal after it are one run.
        """
        if about and about == self._about and self._open is not None:
            return self._open
        self.finish()
        log = self._executor.event_log
        budget = RunBudget(max_tool_calls=_BUDGET, max_latency_ms=_BUDGET * _CALL_MS)
        made = RunContext.create(RECOVERY_AGENT, intent=intent, budget=budget, clock=log.clock, ids=log.ids)
        self._about, self._open = about, made
        return made

    def finish(self) -> None:
        """Record the end of the open run, if anything of it is on record; one that only asks stays open."""
        ended, about = self._open, self._about
        self._open, self._about = None, ""
        if ended is not None and about:
            self._executor.finish_run(ended)
