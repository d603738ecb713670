"""What needs a person, line by line: a badge, the object, why, who, and since when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sb.fitting import relative_age, short_span
from sb.kernel.approvals.disclosure import Disclosure
from sb.kernel.baselines.store import BaselineStatus, ContractEntry
from sb.kernel.calls.approval import CREDENTIALS_LEAVE
from sb.kernel.calls.intents import Intent
from sb.kernel.contracts import SafetyClass
from sb.kernel.recovery.escalations import Escalation
from sb.kernel.review.needs import Need
from sb.present.approvals import short_call, state_word
from sb.present.calls import call_object
from sb.present.contracts import changed_fields, ordered
from sb.present.recovery import UNDECIDED, UNKNOWN
from sb.present.states import State, state
from sb.sources import MICROSECONDS
from sb.text import plain

if TYPE_CHECKING:  # stacks take long to import, for who reads requests alone
    from sb.stack.review_queue import ReviewItem

BETWEEN = " · "
LONGEST_EFFECT = 10  # cells
_SHELL = "host.shell."
_LEAKS = "leaks"
_EFFECTS = {
    SafetyClass.READ_ONLY: "reads",
    SafetyClass.LOCAL_WRITE: "writes",
    SafetyClass.NETWORK: "network",
    SafetyClass.DESTRUCTIVE: "destroys",
}
_PHRASES: dict[str, str] = {
    SafetyClass.READ_ONLY: "only reads",
    SafetyClass.LOCAL_WRITE: "writes on this machine",
    SafetyClass.NETWORK: "reaches other machines",
    SafetyClass.DESTRUCTIVE: "destructive: hard or impossible to take back",
}
_CONTRACTS = {
    BaselineStatus.NEW: "never approved",
    BaselineStatus.CHANGED: "changed since it was approved",
    BaselineStatus.UNREADABLE: "its approval cannot be read",
}


@dataclass(frozen=True)
class NeedLine:
    """One thing that needs a person, cell by cell.

    Args:
        kind: request, unknown, reversal, contract or review.
        reference: the id under which its screen finds it.
        left: until it is too late, or "". age: since when.
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

    @property
    def who(self) -> str:
        """The agent and its project."""
        return BETWEEN.join(filter(None, (self.agent, self.project)))

    @property
    def when(self) -> str:
        """The time left where it runs out, else the age."""
        return f"{self.left} left" if self.left else self.age


def effect_word(safety_class: str) -> str:
    """What calls of a class do, in at most eight characters."""
    return (
        _EFFECTS.get(SafetyClass(safety_class), safety_class)
        if safety_class in list(SafetyClass)
        else safety_class
    )


def effect_phrase(safety_class: str) -> str:
    """What calls of a class do, in a few words."""
    return _PHRASES.get(safety_class, safety_class)


def request_effect(disclosed: Disclosure) -> str:
    """What a call does, in a word: that credentials leave, of a command line that destroys the verb of our parser, else that of its class."""
    if CREDENTIALS_LEAVE in (rule for rule, _ in _reasons(disclosed)):
        return _LEAKS
    if disclosed.approval.tool_id == _SHELL + SafetyClass.DESTRUCTIVE:
        verb = _command_does(disclosed).rpartition(": ")[2].partition(" ")[0]
        if verb.endswith("s") and len(verb) <= LONGEST_EFFECT:
            return verb
    return effect_word(disclosed.approval.safety_class)


def request_why(disclosed: Disclosure) -> str:
    """Why a call waits: of a command line what our parser says, unless only other rules ask; else the first reason.

    A reason that names only the safety class says less than the parser.
    """
    reasons, does = _reasons(disclosed), _command_does(disclosed)
    if not does:
        return reasons[0][1] if reasons else ""
    others = [text for rule, text in reasons if rule not in list(SafetyClass)]
    return BETWEEN.join([*others, does] if len(others) < len(reasons) or not others else others)


def _command_does(disclosed: Disclosure) -> str:
    """What our parser says of a command line; "" for other calls."""
    if not disclosed.approval.tool_id.startswith(_SHELL):
        return ""
    return next((item.text() for item in disclosed.arguments if item.name == "why"), "").strip('"')


def _reasons(disclosed: Disclosure) -> list[tuple[str, str]]:
    """The rules that ask for a person, each with its reason."""
    reasons = disclosed.approval.request.get("reasons")
    return [
        (str(item.get("rule", "")), plain(str(item.get("reason", "")), one_line=True))
        for item in (reasons if isinstance(reasons, list) else ())
        if isinstance(item, dict)
    ]


def need_line(need: Need, now: int) -> NeedLine:
    """A request, a call with an unknown outcome or a reversal as lists show it; `now` in microseconds."""
    about, ends_at = need.about, None
    if isinstance(about, Disclosure):
        asked = about.approval
        reference, word, ends_at = asked.id, state_word(asked, now), asked.expires_at
        text, why, agent = short_call(about), request_why(about), asked.agent
    elif isinstance(about, Intent):
        reference, word, agent = about.call_id, UNKNOWN, about.agent
        text, why = call_object(about.tool_id, need.args), need.why or "no outcome reported"
    else:
        reference, agent, why = about.id, about.agent, about.why or about.cause
        word, text = _reversal_word(about), call_object(about.tool_id, need.args)
        ends_at = about.expires_at if about.state in UNDECIDED else None
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
    )


def _left(ends_at: int | None, now: int) -> str:
    return "" if ends_at is None or ends_at <= now else short_span((ends_at - now) / MICROSECONDS)


def _reversal_word(about: Escalation) -> str:
    return "reversal" if about.state in UNDECIDED else str(about.state)


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


def contract_needs(entries: Sequence[ContractEntry], now: int) -> list[NeedLine]:
    """The contracts that have to be approved, the most urgent first."""
    return [line for entry in ordered(entries) if (line := contract_need(entry, now))]


def review_need(item: ReviewItem, now: int) -> NeedLine:
    """Something in memory that waits; `now` in microseconds since the epoch."""
    from sb.present.memories import review_line  # 40 ms of memory's modules, for who reads requests alone

    line = review_line(item, now)
    return NeedLine("review", line.reference, line.state, line.text, line.origin, "", "", "", line.age)
