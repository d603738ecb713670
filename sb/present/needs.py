"""What needs a person, line by line: a badge, the object, why, who, and since when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sb.fitting import relative_age, short_span
from sb.frozen import frozen
from sb.kernel.approvals.disclosure import Disclosure
from sb.kernel.baselines.store import BaselineStatus, ContractEntry
from sb.kernel.calls.intents import Intent
from sb.kernel.recovery.escalations import Escalation, EscalationState
from sb.kernel.review.needs import Need
from sb.present.approvals import late_by, short_call, state_word
from sb.present.calls import call_object
from sb.present.contracts import changed_fields
from sb.present.effects import BETWEEN, request_effect, request_why
from sb.present.recovery import UNKNOWN
from sb.present.states import State, state
from sb.sources import MICROSECONDS
from sb.text import plain

if TYPE_CHECKING:  # stacks take long to import, for who reads requests alone
    from sb.stack.review_queue import ReviewItem

APPROVED_NOT_RUN = "its undo is approved, and was not run yet"
_CONTRACTS = {
    BaselineStatus.NEW: "never approved",
    BaselineStatus.CHANGED: "changed since it was approved",
    BaselineStatus.UNREADABLE: "its approval cannot be read",
}


@frozen
class NeedLine:
    """One thing that needs a person, cell by cell.

    Args:
        kind: request, unknown, reversal, contract or review.
        reference: the id under which its screen finds it.
        left: until it is too late, or "". age: since when. late: by how much it is overdue, or "".
        effect: of a request what its call would do, in a word; else "".
    """

    kind: str
    reference: str
    state: State
    object: str
    why: str
    agent: str
    project: str
    left: str
    age: str
    effect: str = ""
    late: str = ""

    @property
    def who(self) -> str:
        """The agent and its project."""
        return BETWEEN.join(filter(None, (self.agent, self.project)))

    @property
    def when(self) -> str:
        """How late it is, else the time left where it runs out, else the age."""
        if self.late:
            return f"{self.late} late"
        return f"{self.left} left" if self.left else self.age


def need_line(need: Need, now: int) -> NeedLine:
    """A request, a call with an unknown outcome or a reversal as lists show it; `now` in microseconds."""
    about, ends_at, effect, late = need.about, None, "", ""
    if isinstance(about, Disclosure):
        asked = about.approval
        reference, word, ends_at = asked.id, state_word(asked, now), asked.expires_at
        text, why, agent = short_call(about), request_why(about), asked.agent
        effect, late = request_effect(about), late_by(asked, now)
    elif isinstance(about, Intent):
        reference, word, agent = about.call_id, UNKNOWN, about.agent
        text, why = call_object(about.tool_id, need.args), need.why or "no outcome reported"
    else:
        reference, agent, why = about.id, about.agent, about.why or about.cause
        if about.state is EscalationState.APPROVED:
            why = APPROVED_NOT_RUN
        word, text = _reversal_word(about), call_object(about.tool_id, need.args)
        ends_at = about.expires_at if about.undecided else None
    return NeedLine(
        str(need.kind),
        reference,
        state(word),
        text,
        plain(why, one_line=True),
        plain(agent, one_line=True),
        plain(need.origin.project_name, one_line=True),
        _left(ends_at, now),
        relative_age(need.at, now),
        effect,
        late,
    )


def _left(ends_at: int | None, now: int) -> str:
    return "" if ends_at is None or ends_at <= now else short_span((ends_at - now) / MICROSECONDS)


def _reversal_word(about: Escalation) -> str:
    return "reversal" if about.state is EscalationState.WAITING else str(about.state)


def contract_need(entry: ContractEntry, now: int) -> NeedLine | None:
    """A contract that has to be approved; None for one that need not."""
    why = _CONTRACTS.get(entry.status)
    if why is None:
        return None
    fields = changed_fields(entry)
    if entry.status is BaselineStatus.CHANGED and fields:
        why = f"{len(fields)} fields changed" if len(fields) > 1 else f"{fields[0]} changed"
    age = "" if entry.first_seen_at is None else relative_age(entry.first_seen_at, now)
    text = plain(entry.tool_id, one_line=True)
    return NeedLine("contract", entry.tool_id, state(str(entry.status)), text, why, "", "", "", age)


def review_need(item: ReviewItem, now: int) -> NeedLine:
    """Something in memory that waits; `now` in microseconds since the epoch."""
    from sb.present.memories import review_line  # 40 ms of memory's modules, for who reads requests alone

    line = review_line(item, now)
    return NeedLine("review", line.reference, line.state, line.text, line.origin, "", "", "", line.age)
