"""Needs of a person: one shape for Home, `sb status`, `sb watch` and notifications, and the words for each kind."""

from __future__ import annotations

import shlex
from collections.abc import Collection
from dataclasses import field, replace
from typing import TYPE_CHECKING

from sb.base.fitting import Cut, short_span
from sb.base.secrets.redaction import one_line
from sb.base.sources import MICROSECONDS, iso_micros
from sb.base.text import plain
from sb.base.values.frozen import frozen
from sb.kernel.approvals.disclosure import Disclosure
from sb.kernel.approvals.queue import ApprovalQueue, Order
from sb.kernel.baselines.store import BaselineStatus, ContractEntry
from sb.kernel.calls.approval import ApprovalState
from sb.kernel.calls.intents import Intent
from sb.kernel.durable_execution.doubt import in_doubt
from sb.kernel.incident_response.kill import Kill
from sb.kernel.recovery_loop.escalations import UNSETTLED, Escalation, Escalations, EscalationState
from sb.kernel.review.findings import Finding, Status, kill_finding
from sb.kernel.review.needs import CallOrigin, call_args, call_origins, first_args
from sb.log.event_log import EventLog
from sb.present.approvals import late_by, short_call, state_word
from sb.present.calls import call_object
from sb.present.contracts import changed_fields
from sb.present.effects import BETWEEN, request_effect, request_why, telling_words
from sb.present.kind import Cell, Column, Field, Kind
from sb.present.recovery import UNKNOWN
from sb.present.states import DANGER, SOFT, WARN, State, state
from sb.present.times import ago

if TYPE_CHECKING:  # stacks take long to import, for who reads requests alone
    from sb.stack.review_queue import ReviewItem

LONGEST = 400  # characters of an object or a reason
APPROVED_NOT_RUN = "its undo is approved, and was not run yet"
_CONTRACTS = {
    BaselineStatus.NEW: "never approved",
    BaselineStatus.CHANGED: "changed since it was approved",
    BaselineStatus.UNREADABLE: "its approval cannot be read",
}
# What can need a person: its name in JSON, and what one of it is called.
NOUNS = {
    "kills": "kill",
    "requests": "request",
    "unknown": "unknown outcome",
    "reversals": "reversal",
    "contracts": "contract",
    "reviews": "memory review",
}
# Reversals that a person looks at; those with an unknown outcome are among the calls with one.
_REVERSALS = frozenset(UNSETTLED) - {EscalationState.IN_DOUBT}


@frozen
class Need:
    """One thing that needs a person.

    Args:
        kind: request, unknown, reversal, contract, review, kill, finding, log or more.
        reference: the id under which its screen finds it.
        key: tells it from all others; what needs a person anew has another key.
        command: shows it, or of a kill ends it.
        since, ends_at: microseconds since the epoch, as far as they are known.
        left: until it is too late, or "". age: since when. late: by how much it is overdue, or "".
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
    late: str = ""
    effect: str = ""
    lifted: str = ""
    about: Kill | Finding | None = None

    @property
    def who(self) -> str:
        """The agent and its project."""
        return BETWEEN.join(filter(None, (self.agent, self.project, self.lifted)))

    @property
    def when(self) -> str:
        """The lateness, else the time left, else the age."""
        if self.late:
            return f"{self.late} late"
        return f"{self.left} left" if self.left else self.age

    @property
    def reason(self) -> str:
        """Why, unless the object says it."""
        return "" if self.kind == "kill" else self.why

    @property
    def id(self) -> str:
        """The id that a line ends with; "" for what its object names."""
        return "" if self.kind in ("kill", "contract") else self.reference

    def text(self) -> str:
        """A line of its own: state, object, why, who, time left, id."""
        parts = (self.object, self.reason, self.who, self.left and f"{self.left} left", self.id)
        return f"{self.state.word:<9} {BETWEEN.join(filter(None, parts))}"

    def masked(self) -> Need:
        """The same without secrets, and with texts of bounded length: for lists by which nobody decides."""
        reference, text = one_line(self.reference, LONGEST), one_line(self.object, LONGEST)
        why, agent = one_line(self.why, LONGEST), one_line(self.agent, LONGEST)
        return replace(self, reference=reference, object=text, why=why, agent=agent)


def _badge(need: Need, now: int) -> State:
    """Its state; of a request that waits like most, what it would do."""
    waits = need.effect and need.state.word == ApprovalState.WAITING
    return replace(need.state, word=need.effect) if waits else need.state


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
    return Cell(need.when, DANGER if need.state.word in ("expiring", "overdue") else SOFT)


def _expires_at(need: Need, now: int) -> str | None:
    return iso_micros(need.ends_at) if need.ends_at is not None and need.left else None


NEED = Kind[Need](
    Field("state", _badge, Column(12, badges=True)),
    Field("object", _object, Column(cut=Cut.MIDDLE)),
    Field("why", lambda it, now: it.reason, Column(28, 100, SOFT, most=80)),
    Field("who", _who, Column(18, 70, SOFT)),
    Field("when", _when, Column(8, right=True)),
    faces={"list": "state,object,why,who,when"},
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


@frozen
class NeedsNow:
    """Needs of a person now.

    Args:
        counts: by kind, true ones, where `items` has only the first of each.
        problems: what could not be read.
        keys: of all that needs a person.
    """

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(NOUNS, 0))
    items: tuple[Need, ...] = ()
    problems: tuple[Finding, ...] = ()
    keys: frozenset[str] = frozenset()

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self.counts.values())


def needs(log: EventLog, most: int = 50, known: Collection[str] = ()) -> NeedsNow:
    """The calls that wait for a person: requests, by effect; then those with unknown outcomes and reversals.

    Args:
        most: of each kind, that are described. known: keys of what is not described again.
    """
    queue = ApprovalQueue(log)
    reversals = {
        f"reversal {it.id} {it.state}": it for it in Escalations(log).page(limit=0) if it.state in _REVERSALS
    }
    asked = {it.approval_id for it in reversals.values() if it.approval_id}
    waiting = {
        f"request {number}": number
        for number in queue.numbers(states=[ApprovalState.WAITING], order=Order.EFFECT)
    }
    fresh = [number for key, number in waiting.items() if key not in known][: most + len(asked)]
    found = queue.numbered(fresh)
    requests = [found[number] for number in fresh if number in found and found[number].id not in asked]
    doubtful = {f"unknown {it.call_id}": it for it in in_doubt(log)[::-1]}
    described: list[Disclosure | Intent | Escalation] = [
        *map(queue.disclose, requests[:most]),
        *[it for key, it in doubtful.items() if key not in known][:most],
        *[it for key, it in reversals.items() if key not in known][:most],
    ]
    origins = call_origins(log, {_run_of(it) for it in described})
    now = int(log.clock.now() * MICROSECONDS)
    counts = {
        "requests": len(waiting) - sum(it.state is EscalationState.WAITING for it in reversals.values()),
        "unknown": len(doubtful),
        "reversals": len(reversals),
    }
    return NeedsNow(
        dict.fromkeys(NOUNS, 0) | counts,
        tuple(_call_need(log, it, origins.get(_run_of(it), CallOrigin()), now) for it in described),
        keys=frozenset({*waiting, *doubtful, *reversals}),
    )


def _run_of(about: Disclosure | Intent | Escalation) -> str:
    return about.approval.run_id if isinstance(about, Disclosure) else about.run_id


def _call_need(log: EventLog, about: Disclosure | Intent | Escalation, origin: CallOrigin, now: int) -> Need:
    """A request, a call with an unknown outcome or a reversal; `now` in microseconds since the epoch."""
    if isinstance(about, Disclosure):
        asked = about.approval
        need = Need(
            "request",
            asked.id,
            state(state_word(asked, now)),
            short_call(about),
            request_why(about),
            f"request {asked.number}",
            f"sb approvals show {asked.id}",
            asked.agent,
            since=asked.requested_at,
            ends_at=asked.expires_at,
            effect=request_effect(about),
            late=late_by(asked, now),
        )
    elif isinstance(about, Intent):
        need = _unknown(log, about)
    else:
        approved, waits = about.state is EscalationState.APPROVED, about.state is EscalationState.WAITING
        need = Need(
            "reversal",
            about.id,
            state("reversal" if waits else str(about.state)),
            call_object(about.tool_id, call_args(log, about.run_id, about.call_id)),
            APPROVED_NOT_RUN if approved else about.why or about.cause,
            f"reversal {about.id} {about.state}",
            f"sb recovery show {about.id}",
            about.agent,
            since=about.opened_at,
            ends_at=about.expires_at if about.undecided else None,
        )
    ends_at = need.ends_at
    return replace(
        need,
        why=plain(need.why, one_line=True),
        agent=plain(need.agent, one_line=True),
        project=plain(origin.project_name, one_line=True),
        left="" if ends_at is None or ends_at <= now else short_span((ends_at - now) / MICROSECONDS),
        age=ago(need.since, now),
    )


def _unknown(log: EventLog, intent: Intent) -> Need:
    events = list(log.events(run_id=intent.run_id, call_id=intent.call_id))
    last = (events[-1].payload or {}) if events else {}
    return Need(
        "unknown",
        intent.call_id,
        state(UNKNOWN),
        call_object(intent.tool_id, intent.named or first_args(events)),
        str(last.get("error") or last.get("cause") or "no outcome reported"),
        f"unknown {intent.call_id}",
        f"sb workflow show {shlex.quote(intent.workflow)}"
        if intent.workflow
        else f"sb log show {intent.call_id}",
        intent.agent,
        since=events[-1].at if events else intent.deadline or None,
    )


def contract_need(entry: ContractEntry, now: int) -> Need | None:
    """A contract that has to be approved; None for one that need not."""
    why = _CONTRACTS.get(entry.status)
    if why is None:
        return None
    fields = changed_fields(entry)
    if entry.status is BaselineStatus.CHANGED and fields:
        why = f"{len(fields)} fields changed" if len(fields) > 1 else f"{fields[0]} changed"
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
        "conflict": f"sb stack conflicts {stack}",
        "quarantine": f"sb quarantine show {item.reference}",
        "suggested": f"sb suggestions show {item.reference} --stack {stack}",
    }
    at = int(item.at * MICROSECONDS)
    return Need(
        "review",
        item.reference,
        state(str(item.kind)),
        text,
        origin,
        item.key,
        commands[item.kind],
        since=at,
        age=age,
    )


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
