"""Needs of a person: one shape for Home, `sb status`, `sb watch` and notifications, and the words for each kind."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sb.base.fitting import Cut
from sb.base.secrets.redaction import one_line
from sb.base.sources import MICROSECONDS, iso_micros
from sb.base.text import plain, revealed_line
from sb.base.values.frozen import frozen
from sb.kernel.approvals.disclosure import Disclosure
from sb.kernel.approvals.watching import Change
from sb.kernel.baselines.store import BaselineStatus, ContractEntry
from sb.kernel.calls.approval import ApprovalState
from sb.kernel.calls.intents import Intent
from sb.kernel.incident_response.kill import Kill
from sb.kernel.recovery_loop.escalations import Escalation, EscalationState
from sb.kernel.review.findings import Finding, Status, kill_finding
from sb.kernel.review.needs import first_args
from sb.log.event import Event
from sb.present.approvals import short_call, state_word
from sb.present.calls import call_object
from sb.present.contracts import change_text, class_change
from sb.present.effects import BETWEEN, is_grave, request_effect, request_why, telling_words
from sb.present.kind import Cell, Column, Field, Kind
from sb.present.recovery import REVERSAL, UNKNOWN
from sb.present.states import DANGER, SOFT, WARN, State, state
from sb.present.times import ago, lateness, left

if TYPE_CHECKING:  # stacks take long to import, for who reads requests alone
    from sb.kernel.autonomy.proposals import Proposal
    from sb.stack.review_queue import ReviewItem

SOON_S = 1800  # left to what is red because it lapses
LONGEST = 400  # characters of an object or a reason
APPROVED_NOT_RUN = "its undo is approved, and was not run yet"
_CONTRACTS = {
    BaselineStatus.NEW: "never approved",
    BaselineStatus.CHANGED: "changed since it was approved",
    BaselineStatus.UNREADABLE: "its approval cannot be read",
}


@frozen
class Need:
    """One thing that needs a person.

    Args:
        kind: request, unknown, reversal, contract, review, level, kill, finding, log or more.
        reference: the id under which its screen finds it.
        key: tells it from all others; what needs a person anew has another key.
        command: shows it, or of a kill ends it.
        since, ends_at: microseconds since the epoch, as far as they are known.
        left: until it is too late, or "". age: since when. lateness: both, in words.
        effect: of a request what its call would do, in a word. lifted: of a kill who agreed to lift it.
        about: a kill or a finding itself.
    """

    kind: str
    reference: str
    state: State
    object: str
    why: str = ""
    key: str = ""
    command: str = ""
    agent: str = ""
    project: str = ""
    since: int | None = None
    ends_at: int | None = None
    left: str = ""
    age: str = ""
    lateness: str = ""
    effect: str = ""
    lifted: str = ""
    about: Kill | Finding | None = None

    @property
    def who(self) -> str:
        """The agent and its project."""
        return BETWEEN.join(filter(None, (self.agent, self.project, self.lifted)))

    @property
    def when(self) -> str:
        """The time left, else the age."""
        return f"{self.left} left" if self.left else self.age

    @property
    def reason(self) -> str:
        """The reason, unless the object says it."""
        return "" if self.kind == "kill" else self.why

    @property
    def id(self) -> str:
        """The id that a line ends with; "" for what its object names."""
        return "" if self.kind in ("kill", "contract") else self.reference

    def text(self) -> str:
        """A line of its own: state, object, why, who, time left, id."""
        parts = (self.object, self.reason, self.who, self.lateness, self.id)
        return f"{self.state.word:<9} {BETWEEN.join(filter(None, parts))}"

    def masked(self) -> Need:
        """The same without secrets, and with texts of bounded length: for lists by which nobody decides."""
        reference, text = one_line(self.reference, LONGEST), one_line(self.object, LONGEST)
        why, agent = one_line(self.why, LONGEST), one_line(self.agent, LONGEST)
        return replace(self, reference=reference, object=text, why=why, agent=agent)


def _badge(need: Need, now: int) -> State:
    """Its state; of a request that waits, and does not lapse soon, what it would do."""
    tone = DANGER if is_grave(need.effect) or _lapses_soon(need, now) else WARN
    if need.effect and need.state.word in (ApprovalState.WAITING, Change.OVERDUE):
        return replace(need.state, word=need.effect, tone=tone)
    return replace(need.state, tone=tone) if need.state.word == Change.EXPIRING else need.state


def _lapses_soon(need: Need, now: int) -> bool:
    return need.ends_at is not None and 0 < need.ends_at - now <= SOON_S * MICROSECONDS


def _object(need: Need, now: int) -> Cell:
    """A kill without who threw it, which stands beside it."""
    kill = need.about
    if not isinstance(kill, Kill):
        return Cell(need.object, keeps=telling_words(need.object, need.why))
    return Cell(f"{f'{kill.scope} {kill.target}' if kill.target else 'every agent'}: {kill.reason}")


def _who(need: Need, now: int) -> str:
    by = need.about.by if isinstance(need.about, Kill) else ""
    return ", ".join(filter(None, (by, need.who)))


def _when(need: Need, now: int) -> Cell:
    return Cell(need.when, DANGER if _lapses_soon(need, now) else SOFT)


def _expires_at(need: Need, now: int) -> str | None:
    return iso_micros(need.ends_at) if need.ends_at is not None and need.left else None


NEED = Kind[Need](
    Field("state", _badge, Column(12, badges=True)),
    Field("object", _object, Column(cut=Cut.MIDDLE)),
    Field("why", lambda it, now: it.reason, Column(28, 128, SOFT, most=80)),
    Field("who", _who, Column(12, 40, SOFT, most=22), title="agent"),
    Field("when", _when, Column(8, right=True)),
    Field("id", lambda it, now: it.id),
    faces={"list": "state,object,why,who,when", "plain": "id,state,object,why,who,when"},
    json={
        "kind id state object why agent project command": "string",
        "since expires_at": "time|null",
    },
    computed={
        "id": lambda need, now: need.reference,
        "state": lambda need, now: need.state.word,
        "expires_at": _expires_at,
    },
)


def request_need(about: Disclosure, project: str, now: int) -> Need:
    """A request; `now` in microseconds since the epoch, here and below."""
    asked = about.approval
    return _timed(
        Need(
            "request",
            asked.id,
            state(state_word(asked, now)),
            short_call(about),
            request_why(about),
            f"request {asked.number}",
            f"sb approvals show {asked.id}",
            asked.agent,
            project,
            asked.requested_at,
            asked.expires_at,
            effect=request_effect(about),
        ),
        now,
    )


def unknown_need(intent: Intent, events: Sequence[Event], project: str, now: int) -> Need:
    """A call of unknown outcome, with its events in the log."""
    last = (events[-1].payload or {}) if events else {}
    shown = f"sb workflow show {shlex.quote(intent.workflow)}" if intent.workflow else ""
    return _timed(
        Need(
            "unknown",
            intent.call_id,
            state(UNKNOWN),
            call_object(intent.tool_id, intent.named or first_args(events)),
            str(last.get("error") or last.get("cause") or "no outcome reported"),
            f"unknown {intent.call_id}",
            shown or f"sb log show {intent.call_id}",
            intent.agent,
            project,
            events[-1].at if events else intent.deadline or None,
        ),
        now,
    )


def reversal_need(about: Escalation, args: object, project: str, now: int) -> Need:
    """A reversal, with the arguments of its call."""
    approved, waits = about.state is EscalationState.APPROVED, about.state is EscalationState.WAITING
    return _timed(
        Need(
            "reversal",
            about.id,
            state(REVERSAL if waits else str(about.state)),
            call_object(about.tool_id, args),
            APPROVED_NOT_RUN if approved else about.why or about.cause,
            f"reversal {about.id} {about.state}",
            f"sb recovery show {about.id}",
            about.agent,
            project,
            about.opened_at,
            about.expires_at if about.undecided else None,
        ),
        now,
    )


def _timed(need: Need, now: int) -> Need:
    """The same with its age and the time left, and with texts on one line."""
    ends = left(need.ends_at, now)
    why, project = (plain(text, one_line=True) for text in (need.why, need.project))
    agent = revealed_line(need.agent)
    ends = "" if ends == "-" else ends
    late = "" if need.since is None else lateness(need.since, need.ends_at, now)
    return replace(
        need, why=why, agent=agent, project=project, left=ends, age=ago(need.since, now), lateness=late
    )


def contract_need(entry: ContractEntry, now: int) -> Need | None:
    """A contract that has to be approved; None for one that need not."""
    why = _CONTRACTS.get(entry.status)
    if why is None:
        return None
    if entry.status is BaselineStatus.CHANGED and entry.changes:
        why = class_change(entry) or f"{change_text(entry)} changed"
    return Need(
        "contract",
        entry.tool_id,
        state(str(entry.status)),
        plain(entry.tool_id, one_line=True),
        why,
        f"contract {entry.tool_id} {entry.status} {entry.live_fingerprint}",
        "sb runtime-guard mismatches",
        since=entry.first_seen_at,
        age=ago(entry.first_seen_at, now),
    )


def review_need(item: ReviewItem, now: int) -> Need:
    """Something in memory that waits for an operator; `now` in microseconds since the epoch."""
    from sb.present.memories import REVIEW  # 40 ms of memory's modules, for who reads requests alone

    stack = shlex.quote(item.stack)
    _, text, origin, age = (cell.text for cell in REVIEW.cells(item, now, "list"))
    commands = {
        "conflict": f"sb stack conflicts {stack}"
        if item.is_of_copies
        else f"sb memory conflicts show {item.reference}",
        "quarantine": f"sb {'memory pending' if item.held else 'quarantine'} show {item.reference}",
        "ignored": f"sb memory {item.record['kind']} show {item.reference}",
        "suggested": f"sb suggestions show {item.reference} --stack {stack}",
    }
    at = int(item.at * MICROSECONDS)
    return Need(
        "review",
        item.reference,
        state(str(item.kind)),
        text,
        item.held or origin,
        item.key,
        commands[item.kind],
        since=at,
        age=age,
    )


def level_need(it: Proposal, now: int) -> Need:
    """A proposal of higher autonomy; `now` in microseconds since the epoch."""
    need = Need(
        "level",
        it.id,
        state("proposed"),
        f"{it.tool_id}: {it.before} to {it.to}",
        it.why,
        f"level {it.id}",
        "sb autonomy proposals",
        it.agent,
        since=it.at,
    )
    return _timed(need, now)


def kill_need(kill: Kill) -> Need:
    """The kill switch."""
    lifted = f"{len(kill.lifted_by)} of {kill.people} lifted it" if kill.lifted_by else ""
    key = f"kill {kill.number} {len(kill.lifted_by)}"
    why = kill_finding(kill).detail
    return Need(
        "kill",
        kill.name,
        state("stopped"),
        kill.sentence,
        why,
        key,
        kill.lift_command,
        lifted=lifted,
        about=kill,
    )


def finding_need(found: Finding) -> Need:
    """The need of a finding: missing or partial enforcement."""
    look = State("broken", DANGER) if found.status is Status.FAIL else State("weak", WARN)
    return Need("finding", found.name, look, f"{found.name}: {found.detail}", found.hint, about=found)


def broken(kind: str, name: str, found: Finding, command: str) -> Need:
    """A check that fails, as something that needs a person."""
    return Need(kind, "", state("broken"), name, found.detail, f"{kind} {found.detail}", command).masked()
