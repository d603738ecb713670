"""Decide the requests of a run that runs again as people decided them in its packet."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from sb.errors import SBError
from sb.kernel.approvals.decisions import Approvals
from sb.kernel.authority.signing import Label
from sb.kernel.calls.call import ToolCall
from sb.kernel.replay.packet import RAN, MemoryCapture, Step

_WHO = Label("replay")
_DENIED = "approval_denied"  # the rule of a call that a person denied


class DecidedCapture(MemoryCapture):
    """Takes down a run in memory, and gives each request the answer that the same call got in the packet.

    Args:
        captured: the calls of the packet.
    """

    def __init__(self, captured: Iterable[Step]) -> None:
        super().__init__()
        self._captured: defaultdict[tuple[str, bytes], list[Step]] = defaultdict(list)
        for step in captured:
            self._captured[step.key].append(step)

    def decide(self, approvals: Approvals, approval_id: str, call: ToolCall) -> bool:
        """Answer a request; True if its call ran at once in the packet, and its refusal is not part of the run."""
        key = Step(call.tool_id, call.args, RAN).key
        made = Counter(step.key for step in self.steps)[key]
        now, later = (*self._captured[key][made - 1 : made + 1], None, None)[:2]
        if now is not None and _agreed(now):
            if not _answered(approvals, approval_id, agreed=True):
                return False
            self.steps.remove(next(step for step in reversed(self.steps) if step.key == key))
            return True
        if later is not None and (_agreed(later) or later.rule == _DENIED):
            _answered(approvals, approval_id, agreed=_agreed(later))
        return False


def _answered(approvals: Approvals, approval_id: str, *, agreed: bool) -> bool:
    decide = approvals.approve if agreed else approvals.deny
    try:
        decide(approval_id, _WHO, "as in the packet")
    except SBError:  # the call stays refused, which is the divergence
        return False
    return True


def _agreed(step: Step) -> bool:
    return step.verdict == RAN and bool(step.asked)
