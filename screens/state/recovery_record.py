"""A recovery item as a document, and the questions before a decision about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sb.screens.state.approvals import Question
from sb.screens.state.document import Field
from sb.screens.state.events import call_document
from sb.screens.state.recovery import Item, state_word

from sb.errors import SBError
from sb.kernel.approvals.disclosure import Argument, Disclosure
from sb.kernel.approvals.queue import ApprovalQueue
from sb.kernel.calls.intents import Intent
from sb.kernel.calls.mutations import MutationStore
from sb.kernel.recovery.escalations import Escalation, EscalationState
from sb.kernel.reversal_contracts import MutationRef
from sb.log.event_log import EventLog
from sb.log.kinds import TOOL_DISPATCH
from sb.redaction import redact, redact_json
from sb.sources import MICROSECONDS, iso
from sb.text import revealed, shorten, shorten_middle

if TYPE_CHECKING:
    from sb.kernel.recovery.service import Plan

LONGEST_ARGS = 2_000  # characters of a reversal's arguments in a question
MOST_PLANS = 20  # in a question


@dataclass(frozen=True)
class DryRun:
    """What a look gave whether something could be undone now.

    Args:
        at: when, in microseconds since the epoch.
        ok: whether it would be tried. checked: whether a tool looked.
        arguments: of the reversal.
    """

    at: int
    ok: bool
    checked: bool
    detail: str
    arguments: tuple[Argument, ...] = ()

    @property
    def text(self) -> str:
        """For a person, with its time."""
        word = "it would not work" if not self.ok else "it would work" if self.checked else "not known"
        return f"at {_time(self.at)}: {word}: {revealed(self.detail)}"


@dataclass(frozen=True)
class Detail:
    """What is read for the item under the cursor.

    Args:
        ref: what the call changed. call: all about the call.
        undoing: what a reversal in doubt was to undo; "" for other calls.
        request: for the reversal, where one waits or may still be used.
    """

    key: int
    ref: MutationRef | None = None
    call: Sequence[Field] = ()
    trouble: str = ""
    undoing: str = ""
    request: Disclosure | None = None


def read_detail(log: EventLog, item: Item) -> Detail:
    """Its mutation and its call, as far as both are on record."""
    about, undoing = item.about, ""
    told = log.events(run_id=about.run_id, call_id=about.call_id)
    events = [event for event in told if event.kind == TOOL_DISPATCH]
    call = call_document(events) if events else [Field("the call is not on record any more")]
    if isinstance(about, Intent) and about.reverses:
        with log.database.snapshot() as connection:
            undoing = MutationStore(log).id_of(connection.execute, about.reverses)
    try:
        ref = MutationStore(log).get(item.mutation_id) if item.mutation_id else None
        request = _request(log, item)
    except SBError as error:
        return Detail(item.key, None, call, error.message)
    return Detail(item.key, ref, call, undoing=undoing, request=request)


def _request(log: EventLog, item: Item) -> Disclosure | None:
    escalation = item.decidable
    if escalation is None or not escalation.approval_id:
        return None
    queue = ApprovalQueue(log)
    return queue.disclose(queue.get(escalation.approval_id))


def recovery_document(
    item: Item, detail: Detail | None, dry_run: DryRun | None, now: int, *, reveal: bool = False
) -> list[Field]:
    """Everything that is known about an item, what a decision rests on first."""
    about, read = item.about, detail if detail is not None and detail.key == item.key else Detail(item.key)
    fields = [Field(f"{state_word(item, now)}: {about.tool_id} by {about.agent}")]
    if isinstance(about, Escalation):
        fields += _decision_fields(about, item.under_way)
    elif isinstance(about, Intent):
        fields += _doubt_fields(about)
    if read.undoing:
        fields.append(Field("it was to undo", read.undoing))
    if read.trouble:
        fields.append(Field("trouble", read.trouble))
    if read.ref is not None:
        looked = dry_run.text if dry_run else "not made yet: d looks what undoing it would do now"
        fields += [*_reversal_fields(read.ref, _arguments(read, dry_run), reveal), Field("dry run", looked)]
    if isinstance(about, Escalation):
        fields += _escalation_fields(about)
    if read.ref is not None:
        fields += _mutation_fields(read.ref, now)
    return [*fields, *read.call]


def _decision_fields(one: Escalation, under_way: bool) -> list[Field]:
    fields = [Field("why", revealed(one.why)), Field("who has to agree", _agreement(one))]
    if one.reason:
        fields.append(Field("decided by", f"{one.decided_by}: {revealed(one.reason)}"))
    next_step = "nothing: it is being performed" if under_way else _NEXT.get(one.state)
    return fields + ([Field("what to do", next_step)] if next_step else [])


def _escalation_fields(one: Escalation) -> list[Field]:
    fields = [Field("escalation"), Field("id", one.id), Field("cause", revealed(one.cause))]
    fields.append(Field("since", _time(one.opened_at)))
    return fields + ([Field("agree until", _time(one.expires_at))] if one.expires_at is not None else [])


_NEXT = {
    EscalationState.APPROVED: "it was agreed to and not performed: a performs it",
    EscalationState.FAILED: "u tries again, x leaves it as it is",
    EscalationState.IN_DOUBT: "say whether the call in doubt that undoes it happened: it has a line of its own",
    EscalationState.NO_WAY_BACK: "u, if d says that it works now; otherwise undo it by hand, and x",
    EscalationState.EXPIRED: "u, if there is still time; x leaves it as it is",
}


def _agreement(one: Escalation) -> str:
    if not one.approval_id:
        return "nobody: nothing can be reversed"
    if one.people == 1:
        return "one person"
    agreed = f"; {one.decided_by} has" if one.decided_by and one.state is EscalationState.WAITING else ""
    return f"{one.people} people (dual control){agreed}"


def _doubt_fields(intent: Intent) -> list[Field]:
    fields = [
        Field("what to do", "h happened, n it did not, c happened and is to be undone, b asks its tool"),
        Field("idempotency key", intent.idempotency_key),
    ]
    return fields + ([Field("step", intent.step)] if intent.step else [])


def _arguments(read: Detail, dry_run: DryRun | None) -> tuple[Argument, ...]:
    """Of the reversal, in full, as far as they were read."""
    return read.request.arguments if read.request else dry_run.arguments if dry_run else ()


def _reversal_fields(ref: MutationRef, arguments: tuple[Argument, ...], reveal: bool) -> list[Field]:
    if not ref.reversal_tool:
        return [Field("no way back", revealed(ref.no_way_back))]
    if not arguments:
        return [Field("undone by", ref.reversal_tool), Field("with, redacted", args_text(ref))]
    given = [Field(f"with {one.name}", one.text(reveal=reveal), whole=True) for one in arguments]
    return [Field("undone by", ref.reversal_tool), *given]


def _mutation_fields(ref: MutationRef, now: int) -> list[Field]:
    fields = [Field("what it changed"), Field("mutation", f"{ref.mutation_id}, {ref.state}")]
    fields.append(Field("class", str(ref.reversal_class)))
    if ref.window_ends_at is not None:
        over = "" if ref.in_window(now) else ", which is over"
        fields.append(Field("can be undone until", f"{_time(ref.window_ends_at)}{over}"))
    if ref.external_handle:
        fields.append(Field("known there as", revealed(str(redact(ref.external_handle)))))
    if ref.assumption_refs:
        fields.append(Field("relied on", revealed(", ".join(ref.assumption_refs))))
    return fields


def args_text(ref: MutationRef) -> str:
    """The reversal's arguments without secrets; what is invisible in them is shown."""
    return revealed(redact_json(ref.reversal_args))


def _time(at: int) -> str:
    return iso(at / MICROSECONDS)[:19].replace("T", " ") + "Z"


PERFORMING = ("approve", "undo", "compensate")  # what is asked before a reversal
_REVERSES = "The reversal is performed at once. What it changes is on record like any other call."
_TITLES = {
    "approve": "Agree to this reversal, and perform it?",
    "undo": "Undo this?",
    "dismiss": "Leave this as it is?",
    "happened": "Say that this call happened?",
    "not_happened": "Say that this call did not happen?",
    "compensate": "Say that this call happened, and undo it?",
}
_CONSEQUENCES = {
    "approve": _REVERSES,
    "undo": _REVERSES,
    "dismiss": "Nothing is undone, and the same cause does not bring it up again.",
    "happened": "It is recorded as done, with its way back, and is not repeated. This is said once.",
    "not_happened": "It is recorded as failed, and may be tried again. This is said once.",
    "compensate": f"It is recorded as done. {_REVERSES}",
}


@dataclass(frozen=True)
class Asked:
    """What a question is about, besides the item.

    Args:
        result: what a call in doubt gave, as JSON; "" where nobody was asked.
        detail: what was read of the item. reveal: show the secrets in the reversal's arguments.
    """

    detail: Detail
    dry_run: DryRun | None = None
    result: str = ""
    reveal: bool = False

    @property
    def reversal(self) -> str:
        """What undoes it, called with what."""
        ref = self.detail.ref
        if ref is None or not ref.reversal_tool:
            return ""
        arguments = _arguments(self.detail, self.dry_run)
        given = ", ".join(f"{one.name} = {one.text(reveal=self.reveal)}" for one in arguments)
        return f"{ref.reversal_tool} is called with {shorten_middle(given or args_text(ref), LONGEST_ARGS)}"


def recovery_question(verb: str, item: Item, asked: Asked) -> Question:
    """What to ask before an item is approved, undone, dismissed or settled."""
    about = item.about
    lines = [f"{about.agent}: {about.tool_id} ({about.call_id})"]
    if isinstance(about, Escalation):
        lines.append(f"why: {shorten(about.why, 400)}")
    performs = verb in PERFORMING
    if performs and asked.reversal:
        lines.append(asked.reversal)
    if verb in ("approve", "undo"):
        looked = asked.dry_run.text if asked.dry_run else "not made; d makes one"
        lines.append(f"dry run {looked}")
    if asked.result:
        lines.append(f"it gave {shorten(asked.result, LONGEST_ARGS)}")
    consequence = _CONSEQUENCES[verb]
    if verb == "approve" and isinstance(about, Escalation) and about.people > 1 and not about.decided_by:
        consequence = "Dual control: a second person has to agree before it is performed."
    return Question(_TITLES[verb], (*lines, "", consequence), performs)


def run_question(run_id: str, plans: Sequence[Plan], doubtful: Sequence[str]) -> Question:
    """What to ask before a whole run is undone.

    Args:
        plans: in the order in which they would be carried out.
        doubtful: the ids of its calls that are in doubt.
    """
    lines = [
        f"{plan.ref.mutation_id} {plan.ref.tool_id}: {'' if plan.ok else 'NO: '}{shorten(plan.detail, 200)}"
        for plan in plans[:MOST_PLANS]
    ]
    if len(plans) > MOST_PLANS:
        lines.append(f"and {len(plans) - MOST_PLANS:,} more")
    lines += [f"{call_id} is in doubt, and stays so" for call_id in doubtful]
    consequence = "The newest first, each at once; it ends at the first that does not work."
    return Question(f"Undo what {run_id} did?", (*lines, "", consequence), True)
