"""Make calls from a packet: each gets the outcome that it had, and no tool is called."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from typing import TYPE_CHECKING

from sb.base.sources import Clock, Ids
from sb.kernel.calls.call import ToolCall
from sb.kernel.contracts import ToolErrorCode
from sb.kernel.execution.attempts import Attempts
from sb.kernel.execution.outcome import Outcome
from sb.kernel.registry.workers import Workers
from sb.kernel.replay.packet import RAN, Step

if TYPE_CHECKING:
    import asyncio

NOT_CAPTURED = "no such call was captured, and a replay makes none"


class ServedAttempts(Attempts):
    """Answers calls with the outcomes of equal ones, in the order of those.

    Args:
        max_result_bytes: as for Attempts.
    """

    def __init__(self, steps: Iterable[Step], clock: Clock, ids: Ids, max_result_bytes: int) -> None:
        super().__init__(Workers(), clock, ids, max_result_bytes, lambda call: None)
        self._steps: defaultdict[tuple[str, bytes], deque[Step]] = defaultdict(deque)
        for step in steps:
            if step.verdict == RAN:
                self._steps[step.key].append(step)

    def run(self, call: ToolCall, loop: asyncio.AbstractEventLoop | None) -> Outcome:
        """The outcome of the next equal call; a failure where none is left."""
        captured = self._steps[Step(call.tool_id, call.args, RAN).key]
        if not captured:
            return Outcome(code=ToolErrorCode.UNEXPECTED, message=NOT_CAPTURED, done=False, final=True)
        step = captured.popleft()
        if step.code:
            outcome = Outcome(code=ToolErrorCode(step.code), message=step.message, done=False, final=True)
        else:
            outcome = self.judge(call, step.value)
        outcome.latency_ms = step.latency_ms
        return outcome
