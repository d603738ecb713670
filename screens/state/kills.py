"""Choices and questions about stopping calls and letting them run again."""

from __future__ import annotations

from sb.screens.state.question import Question

from sb.base.text import counted, revealed_line
from sb.base.values.frozen import frozen
from sb.kernel.approvals.queue import ApprovalQueue
from sb.kernel.incident_response.kill import Kill, KillScope
from sb.kernel.incident_response.kill_switch import Thrown
from sb.log.event import Subject
from sb.log.event_log import EventLog
from sb.log.search import events_at
from sb.present.decisions import lifting, stopping

Pointed = (
    str | int | Subject | None
)  # an approval's or call's id, a row of the log, what is known, or nothing
MOST_RUNNING = 5


@frozen
class Choice:
    """Something that can be stopped."""

    scope: KillScope
    target: str = ""

    @property
    def text(self) -> str:
        return (
            f"{self.scope} {revealed_line(self.target)}"
            if self.target
            else "everything: every agent and tool"
        )

    @property
    def consequence(self) -> str:
        """The consequence of a kill of it."""
        return stopping(self.scope, self.target, lifts="L")


def choices(log: EventLog, pointed: Pointed) -> list[Choice]:
    """Scopes to stop: those of the record under the cursor first, then everything."""
    subject = _subject(log, pointed)
    own = [
        Choice(KillScope.AGENT, subject.agent),
        Choice(KillScope.TOOL, subject.tool_id),
        Choice(KillScope.RUN, subject.run_id),
    ]
    return [*(choice for choice in own if choice.target), Choice(KillScope.GLOBAL)]


def _subject(log: EventLog, pointed: Pointed) -> Subject:
    if isinstance(pointed, int):
        event = events_at(log, [pointed]).get(pointed)
        return event.subject if event else Subject()
    if not isinstance(pointed, str):
        return pointed or Subject()
    if pointed.startswith("apr_"):
        approval = ApprovalQueue(log).get(pointed)
        return Subject(approval.run_id, "", approval.agent, approval.tool_id)
    return next((event.subject for event in log.events(call_id=pointed, limit=1)), Subject())


def stopped(thrown: Thrown) -> str:
    """The message once it is done."""
    tools = list(dict.fromkeys(intent.tool_id for intent in thrown.running))
    more = f" and {len(tools) - MOST_RUNNING} more tools" if len(tools) > MOST_RUNNING else ""
    calls = counted(len(thrown.running), "call")
    still = f"; {calls} of {', '.join(tools[:MOST_RUNNING])}{more} had begun" if tools else ""
    return f"{thrown.kill.sentence}{still}"


def lift_question(kill: Kill) -> Question:
    """The question before a kill is lifted."""
    facts = [
        ("Stopped", kill.sentence + ("" if kill.signed else " (unsigned)")),
        ("Since", f"{kill.at[:19]}Z"),
    ]
    if kill.people > 1:
        agreed = ", ".join(kill.lifted_by) or "none yet"
        facts.append(("Needs", f"{kill.people} operators; so far: {agreed}"))
    return Question(
        "Lift this stop", (kill.name,), tuple(facts), lifting(kill.target), (f"kill {kill.number}",)
    )
