"""A recovery item as a document, and the questions before a decision about it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sb.screens.state.document import Field, fields_of, value_text
from sb.screens.state.question import Question

from sb.base.fitting import short_span
from sb.base.secrets.redaction import redact, redact_json
from sb.base.sources import MICROSECONDS
from sb.base.text import counted, revealed, shorten, shorten_middle
from sb.base.values.frozen import frozen
from sb.errors import SBError
from sb.kernel.approvals.disclosure import Argument, Disclosure
from sb.kernel.approvals.queue import ApprovalQueue
from sb.kernel.calls.intents import Intent
from sb.kernel.recovery_loop.escalations import Escalation, Escalations, EscalationState
from sb.kernel.reversibility.contracts import MutationRef, MutationState, RecoveryApprovalMode
from sb.kernel.reversibility.mutations import MutationStore
from sb.log.event import Event
from sb.log.event_log import EventLog
from sb.log.kinds import TOOL_DISPATCH
from sb.present.decisions import approving_first
from sb.present.recovery import NO_UNDO, Item, argument_text, shown_state
from sb.present.times import date_and_time, when
from sb.present.undo import RESTORES

if TYPE_CHECKING:
    from sb.kernel.recovery_loop.answers import Plan

LONGEST_ARGS = 2_000  # characters of a reversal's arguments in a question
LONGEST_OBJECT = 200  # characters of what is undone in a question
MOST_PLANS = 20  # in a question
HIDDEN = "Hidden"  # the field that says that there are secrets


@frozen
class DryRun:
    """The result of a dry run of an undo.

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

    def text(self, now: int) -> str:
        """For a person, with its age."""
        word = "would fail" if not self.ok else "would succeed" if self.checked else "not known"
        return f"{when(self.at, now)}: {word}: {revealed(self.detail)}"


@frozen
class Detail:
    """Facts read for the item under the cursor.

    Args:
        ref: what the call changed. call: all about the call. called_at: in microseconds since the epoch.
        undoing: what a reversal in doubt was to undo; "" for other calls.
        request: for the reversal, where one waits or may still be used.
        people: how many have to approve a reversal. agreed: the one of several who has already.
    """

    key: int
    ref: MutationRef | None = None
    call: Sequence[Field] = ()
    trouble: str = ""
    undoing: str = ""
    request: Disclosure | None = None
    called_at: int | None = None
    people: int = 1
    agreed: str = ""


def read_detail(log: EventLog, item: Item) -> Detail:
    """Its mutation and its call, as far as both are on record."""
    about, undoing = item.about, ""
    events = list(log.events(run_id=about.run_id, call_id=about.call_id))
    dispatched = [event for event in events if event.kind == TOOL_DISPATCH]
    call, called_at = _call_fields(dispatched), dispatched[0].at if dispatched else None
    if isinstance(about, Intent) and about.reverses:
        with log.database.snapshot() as connection:
            undoing = MutationStore(log).id_of(connection.execute, about.reverses)
    try:
        ref = MutationStore(log).get(item.mutation_id) if item.mutation_id else None
        request = _request(log, item)
    except SBError as error:
        return Detail(item.key, None, call, error.message, called_at=called_at)
    people, agreed = _people(log, item, ref)
    return Detail(item.key, ref, call, "", undoing, request, called_at, people, agreed)


def _people(log: EventLog, item: Item, ref: MutationRef | None) -> tuple[int, str]:
    """The number of people who have to approve the reversal of an item, and who of several has."""
    about = item.about
    if isinstance(about, MutationRef):  # an undo that waits for the second person is an escalation of its own
        waiting = (
            found for found in Escalations(log).page(limit=0) if found.mutation_id == about.mutation_id
        )
        about = next((found for found in waiting if found.undecided), about)
    if isinstance(about, Escalation):
        return about.people, about.decided_by
    declared = json.loads(about.reversal or "{}") if isinstance(about, Intent) else {}
    mode = ref.recovery_approval_mode if ref else declared.get("recovery_approval_mode")
    return 2 if mode == RecoveryApprovalMode.DUAL_CONTROL else 1, ""


def _call_fields(events: Sequence[Event]) -> list[Field]:
    """The call and its result; the log has its events one by one."""
    if not events:
        return [Field("The call"), Field("", "it is no longer in the log")]
    facts: dict[str, Any] = {}
    for event in events:
        facts |= event.payload or {}
    fields = [Field("The call")]
    error = facts.get("error") or facts.get("reason")
    fields += [Field("Error", revealed(str(error)), tone="danger")] if error else []
    args = facts.get("args")
    fields += fields_of(args) if isinstance(args, dict) else []
    if "result" in facts:
        fields.append(Field("Result", value_text(facts["result"])))
    return fields


def _request(log: EventLog, item: Item) -> Disclosure | None:
    escalation = item.decidable
    if escalation is None or not escalation.approval_id:
        return None
    queue = ApprovalQueue(log)
    return queue.disclose(queue.get(escalation.approval_id))


def recovery_document(
    item: Item, detail: Detail | None, dry_run: DryRun | None, now: int, *, reveal: bool = False
) -> list[Field]:
    """Everything that is known about an item, what a decision rests on first; ids are folded."""
    about, read = item.about, detail if detail is not None and detail.key == item.key else Detail(item.key)
    look = shown_state(item, now)
    fields = [Field(item.call.object), Field("State", look.word, tone=look.tone, badge=look.badge)]
    if isinstance(about, Escalation):
        fields += _decision_fields(about, item.under_way, now)
    elif isinstance(about, Intent):
        what, probes = ("step", "") if about.workflow else ("call", "; t asks its tool")
        fields.append(Field("Why", f"the {what} was begun, and no outcome was reported"))
        fields.append(Field("What to do", f"o settles it{probes}"))
    if read.undoing:
        fields.append(Field("It was to undo", read.undoing))
    if read.trouble:
        fields.append(Field("Trouble", read.trouble, tone="danger"))
    if read.ref is not None:
        looked = dry_run.text(now) if dry_run else "not run yet: t runs it"
        tone = "danger" if dry_run and not dry_run.ok else ""
        fields += [
            *_reversal_fields(read.ref, _arguments(read, dry_run), reveal),
            Field("Dry run", looked, tone=tone),
        ]
        fields += _mutation_fields(read.ref, now)
    elif isinstance(about, Intent):
        fields.append(Field("Undo", "declared by its tool" if about.reversal else NO_UNDO))
    fields.append(Field("Agent", item.who))
    if read.called_at is not None:
        fields.append(Field("Called", when(read.called_at, now)))
    return [*fields, *read.call, *_ids(item, read)]


def _decision_fields(escalation: Escalation, under_way: bool, now: int) -> list[Field]:
    fields = [Field("Why", revealed(escalation.why or escalation.cause))]
    if escalation.expires_at is not None and escalation.undecided:
        fields.append(Field("Expires", _left(escalation.expires_at, now)))
    next_step = "nothing: it is running now" if under_way else _NEXT.get(escalation.state)
    fields += [Field("What to do", next_step)] if next_step else []
    fields.append(Field("Needs", _agreement(escalation)))
    if escalation.reason:
        fields.append(Field("Decided by", f"{escalation.decided_by}: {revealed(escalation.reason)}"))
    return fields


def _left(ends_at: int, now: int) -> str:
    """The time left, or when it ended; times in microseconds since the epoch."""
    return (
        f"{short_span((ends_at - now) / MICROSECONDS)} left"
        if now < ends_at
        else f"ended {when(ends_at, now)}"
    )


def _ids(item: Item, read: Detail) -> list[Field]:
    about, ref = item.about, read.ref
    dates = {"called": read.called_at}
    values = {"tool": about.tool_id, "call": about.call_id, "run": about.run_id}
    if isinstance(about, Escalation):
        values |= {
            "escalation": about.id,
            "cause": about.cause,
            "request": about.approval_id,
        }
        dates |= {"escalated": about.opened_at, "expires": about.expires_at if about.undecided else None}
    if isinstance(about, Intent):
        values |= {"idempotency key": about.idempotency_key, "step": about.step, "workflow": about.workflow}
    if ref is not None:
        values |= {"undo record": f"{ref.mutation_id}, {ref.state}", "class": str(ref.reversal_class)}
        dates["undoable until"] = ref.window_ends_at
    values["dates"] = "\n".join(f"{name} {date_and_time(at)}" for name, at in dates.items() if at is not None)
    return [Field(name, revealed(value), folded=True) for name, value in values.items() if value]


_NEXT = {
    EscalationState.WAITING: "a undoes it, d leaves it as it is",
    EscalationState.APPROVED: "approved, but not run: a runs it",
    EscalationState.FAILED: "u tries again, d dismisses it",
    EscalationState.IN_DOUBT: "settle the reversal's own call, whose outcome is unknown: it has its own line",
    EscalationState.NO_WAY_BACK: "u, if the dry run (t) succeeds; otherwise reverse it by hand, then d",
    EscalationState.EXPIRED: "u, if there is time left; d dismisses it",
}


def _agreement(escalation: Escalation) -> str:
    if not escalation.approval_id:
        return "none: nothing can be reversed"
    if escalation.people == 1:
        return "one person"
    agreed = (
        f"; {escalation.decided_by} has"
        if escalation.decided_by and escalation.state is EscalationState.WAITING
        else ""
    )
    return f"{escalation.people} people (dual control){agreed}"


def _arguments(read: Detail, dry_run: DryRun | None) -> tuple[Argument, ...]:
    """Of the reversal, in full, as far as they were read."""
    return read.request.arguments if read.request else dry_run.arguments if dry_run else ()


def _reversal_fields(ref: MutationRef, arguments: tuple[Argument, ...], reveal: bool) -> list[Field]:
    if not ref.reversal_tool:
        return [Field("Undo", f"{NO_UNDO}: {revealed(ref.no_way_back)}")]
    if not arguments:
        return [Field("Undo", f"by {ref.reversal_tool}"), Field("with, redacted", args_text(ref))]
    ids_alone = ref.reversal_tool in RESTORES  # the dialog has them; the dry run says which files come back
    given = [
        Field(f"with {argument.name}", argument_text(argument, reveal=reveal), whole=True, folded=ids_alone)
        for argument in arguments
    ]
    if reveal or any(
        argument_text(argument, reveal=False) != argument.text(reveal=True) for argument in arguments
    ):
        given.append(Field(HIDDEN, f"secrets: S {'hides' if reveal else 'shows'} them"))
    return [Field("Undo", f"by {ref.reversal_tool}"), *given]


def _mutation_fields(ref: MutationRef, now: int) -> list[Field]:
    fields = []
    if ref.window_ends_at is not None:
        fields.append(Field("Undoable", _left(ref.window_ends_at, now)))
    if ref.external_handle:
        fields.append(Field("Known there as", revealed(str(redact(ref.external_handle)))))
    if ref.assumption_refs:
        fields.append(Field("Relied on", revealed(", ".join(ref.assumption_refs))))
    return fields


def args_text(ref: MutationRef) -> str:
    """The reversal's arguments without secrets; what is invisible in them is shown."""
    return revealed(redact_json(ref.reversal_args))


PERFORMING = ("approve", "undo", "compensate")  # what is asked before a reversal
_REVERSES = "The reversal runs at once, and is logged like any other call."
_TITLES = {
    "approve": "Undo it",
    "undo": "Undo",
    "dismiss": "Dismiss this reversal",
    "happened": "It happened",
    "not_happened": "It did not happen",
    "compensate": "It happened, undo it",
}
_DOES = {
    "approve": "undoes it",
    "undo": "undoes it",
    "dismiss": "dismisses it",
    "happened": "records it",
    "not_happened": "records it",
    "compensate": "records and undoes it",
}
_CONSEQUENCES = {
    "approve": _REVERSES,
    "undo": _REVERSES,
    "dismiss": "Nothing is reversed, and the same cause does not reopen it.",
    "happened": "It is recorded as done, can be undone, and is not repeated. This is final.",
    "not_happened": "It is recorded as failed, and may be retried. This is final.",
    "compensate": f"It is recorded as done. {_REVERSES}",
}


@frozen
class Asked:
    """The subject of a question, besides the item.

    Args:
        result: what a call in doubt gave, as JSON; "" where nobody was asked.
        detail: what was read of the item.
        others: the operators who could approve after this one.
        now: microseconds since the epoch.
    """

    now: int
    detail: Detail
    dry_run: DryRun | None = None
    result: str = ""
    others: Sequence[str] = ()

    def reversal(self, *, reveal: bool) -> str:
        """The reversing tool, with its arguments."""
        ref = self.detail.ref
        if ref is None or not ref.reversal_tool:
            return ""
        arguments = _arguments(self.detail, self.dry_run)
        given = ", ".join(
            f"{argument.name} = {argument_text(argument, reveal=reveal)}" for argument in arguments
        )
        return f"{ref.reversal_tool} is called with {shorten_middle(given or args_text(ref), LONGEST_ARGS)}"


def recovery_question(verb: str, item: Item, asked: Asked) -> Question:
    """The question before an item is approved, undone, dismissed or settled."""
    about = item.about
    performs = verb in PERFORMING
    done, shown = (asked.reversal(reveal=reveal) if performs else "" for reveal in (False, True))
    facts = [("Undoes", shorten(item.call.object, LONGEST_OBJECT))] if done else []
    facts += [("Agent", item.who), ("Call", f"{about.tool_id} ({about.call_id})")]
    if isinstance(about, Escalation):
        facts.insert(0, ("Why", shorten(about.why, 400)))
    if verb in ("approve", "undo"):
        facts.insert(
            0, ("Dry run", asked.dry_run.text(asked.now) if asked.dry_run else "not run; t runs one")
        )
    if asked.result:
        facts.append(("It gave", shorten(asked.result, LONGEST_ARGS)))
    consequence = _CONSEQUENCES[verb]
    if performs and asked.detail.people > 1 and not asked.detail.agreed:
        first = approving_first(asked.detail.people, asked.others)
        consequence = f"It is recorded as done. {first}" if verb == "compensate" else first
    looked = asked.dry_run
    if looked and looked.ok and verb in ("approve", "undo") and shown == done and done.startswith(RESTORES):
        facts[0] = ("Runs", done)
        done = shown = looked.text(asked.now)  # which files come back, and how large
    no = f"the dry run says no: {looked.detail}" if verb == "undo" and looked and not looked.ok else ""
    return Question(
        _TITLES[verb],
        (done or item.call.object,),
        tuple(facts),
        consequence,
        (item.name,),
        refused=no,
        revealed=(shown,) if shown != done else (),
        does=_DOES[verb],
        tone="ok" if performs else "danger" if verb == "dismiss" else "",
    )


@frozen
class RunPlan:
    """Plan of undoing a whole run.

    Args:
        plans: with the objects of their calls, in the order in which they would be carried out.
        doubtful: the objects of its calls that are in doubt.
    """

    plans: Sequence[tuple[str, Plan]]
    doubtful: Sequence[str]

    @property
    def possible(self) -> bool:
        """True if any of it would be undone."""
        return any(plan.ok for _, plan in self.plans)

    @property
    def refusal(self) -> str:
        """The reason why nothing of it would be."""
        about, plan = self.plans[0] if self.plans else ("", None)
        return f"{shorten(about, LONGEST_OBJECT)}: {plan.detail}" if plan else "this run has no undo records"


def run_question(run_id: str, who: str, run: RunPlan) -> Question:
    """The question before a whole run is undone.

    Args:
        who: its agent and project.
    """
    before = sum(plan.ref.state is MutationState.REVERSED for _, plan in run.plans)
    plans = [
        (about, plan)
        for about, plan in run.plans
        if plan.ref.reversal_tool and plan.ref.state is not MutationState.REVERSED
    ]
    lines = [
        f"{shorten(about, LONGEST_OBJECT)}: {'' if plan.ok else 'NO: '}{shorten(plan.detail, 200)}"
        for about, plan in plans[:MOST_PLANS]
    ]
    if len(plans) > MOST_PLANS:
        lines.append(f"and {len(plans) - MOST_PLANS:,} more")
    lines += [f"{shorten(about, LONGEST_OBJECT)}: outcome unknown, left as it is" for about in run.doubtful]
    steps, without = len(plans), len(run.plans) - len(plans) - before
    left = ", ".join(
        f"{counted(number, 'call')} {why}"
        for number, why in ((without, "without undo"), (before, "reversed before"))
        if number
    )
    facts = (("Left", left), ("Agent", who), ("Run", run_id))
    consequence = "Newest first, one by one. After one that fails, only calls on other files follow."
    if any(plan.ref.recovery_approval_mode is RecoveryApprovalMode.DUAL_CONTROL for _, plan in plans):
        consequence += " It stops at the first that another operator has to approve too."
    title = f"Undo all of its run: {counted(steps, 'call')}"
    word = str(steps) if steps > 1 else ""
    return Question(title, tuple(lines), facts, consequence, (run_id,), word, tone="ok", does="undoes it")
