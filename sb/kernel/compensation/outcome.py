"""Input and result types of the compensation dispatcher."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Any

from sb.base.secrets.redaction import one_line
from sb.base.values.frozen import frozen
from sb.kernel.contracts import Assumption, ToolResult
from sb.kernel.error_classifier.verdicts import CompensationAction, Verdict, safe_line
from sb.kernel.run_context import RunContext
from sb.log.event import Subject


class CompensationKind(StrEnum):
    """Kind of compensation. RETRIED, REVERSED: done, and it worked. The `_scheduled` kinds are left to the caller."""

    RETRY_SCHEDULED = "retry_scheduled"
    RETRIED = "retried"
    EVIDENCE_REFRESHED = "evidence_refreshed"
    DEPRECATED = "deprecated"
    ESCALATED = "escalated"
    REVERSAL_SCHEDULED = "reversal_scheduled"
    REVERSED = "reversed"
    REVERSAL_REFUSED = "reversal_refused"
    REPLAN = "replan"
    ABORTED = "aborted"


@frozen
class CompensationOutcome:
    """The decision about a failure.

    Args:
        directive: what its caller has to do now, {} for nothing; plain JSON: ``action`` (a CompensationAction), ``say`` (that in a
            sentence), ``tool_id``, ``call_id``, and where they apply ``after_s``, ``attempt``, ``approval_id``,
            ``mutation_id``, ``reversal_tool``.
        verdict: on the last failure; None when there was none.
        result: of the last repetition, if it was repeated here.
        performed: whether what `kind` names was carried out here. False: it is the directive that says it.
    """

    kind: CompensationKind
    reason: str
    directive: dict[str, Any]
    verdict: Verdict | None = None
    result: ToolResult | None = None
    performed: bool = False


@frozen
class FailedCall:
    """A call that failed, as callables get it.

    Args:
        attempt: which attempt of it failed, from 1.
        step, assumptions: as they were given to `ToolExecutor.execute`.
        result: what it gave, None if it raised.
    """

    ctx: RunContext
    tool_id: str
    call_id: str
    args: Mapping[str, Any]
    verdict: Verdict
    attempt: int
    step: str = ""
    assumptions: Sequence[Assumption | str] = ()
    result: ToolResult | None = None
    refreshed: bool = field(default=False, repr=False)

    @property
    def subject(self) -> Subject:
        tool_id = one_line(self.tool_id, 200)
        return Subject(self.ctx.run_id, self.ctx.trace_id, self.ctx.agent_name, tool_id, self.call_id)


@frozen
class FailureNotice:
    """Notice of a failure for a person.

    Args:
        subject: of the call that it is about.
        verdict: on its failure, or on that of its reversal.
        reason: one redacted line.
    """

    subject: Subject
    reason: str
    verdict: Verdict


Retry = Callable[[FailedCall, float], ToolResult]
Refresh = Callable[[FailedCall], bool]
Escalate = Callable[[FailureNotice], object]
InDoubt = Callable[[FailedCall], bool]


def outcome_of(
    kind: CompensationKind,
    call: FailedCall,
    reason: str,
    action: CompensationAction,
    say: str,
    *,
    performed: bool = False,
    **more: Any,
) -> CompensationOutcome:
    directive = {"action": str(action), "say": say, "tool_id": call.tool_id, "call_id": call.call_id, **more}
    return CompensationOutcome(kind, reason, directive, call.verdict, call.result, performed)


def refused(call_id: str, why: str, tool_id: str = "") -> CompensationOutcome:
    directive = {
        "action": str(CompensationAction.ESCALATE_TO_HUMAN),
        "say": "Nothing was reversed, and nothing may be: a person has to look at it.",
        "tool_id": tool_id,
        "call_id": call_id,
    }
    return CompensationOutcome(CompensationKind.REVERSAL_REFUSED, safe_line(why), directive)
