"""Reversals, calls with unknown outcomes and undo records: as rows, and each by its id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sb.screens.state.listing import Row, row_of

from sb.base.sources import MICROSECONDS
from sb.base.text import shorten_middle
from sb.errors import NotFoundError
from sb.kernel.calls.intents import Intent
from sb.kernel.durable_execution.doubt import in_doubt
from sb.kernel.recovery_loop.escalations import Escalation, Escalations, EscalationState
from sb.kernel.reversibility.contracts import MutationRef, MutationState
from sb.kernel.reversibility.mutations import MutationStore
from sb.kernel.review.needs import CallOrigin, call_origins
from sb.log.event_log import EventLog
from sb.present.approvals import LONGEST_CALL
from sb.present.calls import call_object
from sb.present.recovery import RECOVERY, CallFacts, Item


def change_rows(log: EventLog, seqs: Sequence[int], face: str = "list") -> dict[int, Row]:
    """The lines of undo records, by the rows of the log under which they stand."""
    store, now = MutationStore(log), int(log.clock.now() * MICROSECONDS)
    unclear = {intent.reverses for intent in in_doubt(log)}
    rows = {}
    for seq in seqs:
        ref = store.for_call(f"mut_{seq}")
        if ref is not None:
            reversing = ref.state is MutationState.REVERSING and log.first_id + seq not in unclear
            rows[seq] = Item(ref, 3 * seq, reversing)
    described = _described(log, list(rows.values()))
    return {seq: row_of(RECOVERY, item, now, face) for seq, item in zip(rows, described, strict=True)}


def _described(log: EventLog, items: Sequence[Item]) -> list[Item]:
    """The same with their calls and projects."""
    origins = call_origins(log, {item.about.run_id for item in items})
    return [
        replace(
            item,
            call=call_facts(log, item.about),
            project=origins.get(item.about.run_id, CallOrigin()).project_name,
        )
        for item in items
    ]


def call_facts(log: EventLog, about: Escalation | Intent | MutationRef) -> CallFacts:
    """The call that this is about, as the log has it."""
    events = log.events(run_id=about.run_id, call_id=about.call_id)
    found = ((event.at, event.payload) for event in events if event.payload and "args" in event.payload)
    at, payload = next(found, (0, {}))
    args = about.named if isinstance(about, Intent) and about.named else payload.get("args")
    return CallFacts(shorten_middle(call_object(about.tool_id, args), LONGEST_CALL), at)


def item_of(log: EventLog, reference: str) -> Item | None:
    """The item of an id, None where nothing is called so.

    Args:
        reference: of an undo record, an escalation, a request for a reversal, or a call: what waits of it comes first.
    """
    store, doubtful = MutationStore(log), in_doubt(log)
    intent = next((it for it in doubtful if it.call_id == reference), None)
    escalation = None if intent or reference.startswith("mut_") else _escalation(log, reference)
    ref = (
        None
        if intent or escalation
        else store.for_call(reference) or store.for_call(store.resolve(reference))
    )
    about = intent or escalation or ref
    if about is None:
        return None
    unclear = {it.reverses for it in doubtful}
    reverses = "" if isinstance(about, Intent) else about.mutation_id
    reversing = about.state in (EscalationState.IN_DOUBT, MutationState.REVERSING) if reverses else False
    under_way = reversing and store.number(reverses) not in unclear
    return _described(log, [Item(about, _key(about, store), under_way)])[0]


def _escalation(log: EventLog, reference: str) -> Escalation | None:
    """The escalation of an id; of a call only while it waits."""
    try:
        found = Escalations(log).get(reference)
    except NotFoundError:
        return None
    return found if found.unsettled or not reference.startswith("call_") else None


def _key(about: Escalation | Intent | MutationRef, store: MutationStore) -> int:
    """A number that no other item has."""
    if isinstance(about, MutationRef):
        return 3 * store.number(about.mutation_id)
    return 3 * about.number + 1 if isinstance(about, Escalation) else 3 * about.id + 2


def possible_actions(item: Item, now: int) -> frozenset[str]:
    """The ids of the actions that do something with it; `now` in microseconds since the epoch."""
    about = item.about
    if isinstance(about, Intent):
        return frozenset(("settle",) if about.workflow else ("settle", "try_out", "undo_run"))
    if isinstance(about, MutationRef):
        return frozenset(("undo", "try_out", "undo_run") if about.undoable(now) else ("undo_run",))
    possible = {
        "undo_run": True,
        "approve": about.undecided,
        "deny": about.unsettled,
        "try_out": about.may_be_tried,
        "undo": about.may_be_tried and not about.undecided,
    }
    return frozenset(name for name, holds in possible.items() if holds)
