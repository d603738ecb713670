"""Reversals, calls with unknown outcomes and undo records as rows."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import field, replace

from sb.base.text import shorten_middle
from sb.base.values.frozen import frozen
from sb.kernel.calls.intents import Intent
from sb.kernel.durable_execution.doubt import in_doubt
from sb.kernel.recovery_loop.escalations import UNDECIDED, UNSETTLED, Escalation, Escalations, EscalationState
from sb.kernel.reversibility.contracts import MutationRef, MutationState
from sb.kernel.reversibility.mutations import MutationStore
from sb.kernel.review.needs import CallOrigin, call_origins
from sb.log.event_log import EventLog
from sb.present.approvals import LONGEST_CALL
from sb.present.calls import call_object
from sb.present.recovery import CallFacts, Item

OPEN_VIEW, SETTLED_VIEW, CHANGES_VIEW = "open", "settled", "changes"
VIEWS = {OPEN_VIEW: "Open", SETTLED_VIEW: "Settled", CHANGES_VIEW: "Changes"}
MOST_ITEMS = 200
_ORDER = (
    *UNDECIDED,
    EscalationState.IN_DOUBT,
    EscalationState.FAILED,
    EscalationState.NO_WAY_BACK,
    EscalationState.EXPIRED,
)


@frozen
class Listed:
    """The rows of a view.

    Args:
        items: at most MOST_ITEMS, what a person has to look at first.
        counts: how many each view has.
    """

    view: str = OPEN_VIEW
    items: Sequence[Item] = ()
    counts: Mapping[str, int] = field(default_factory=dict)


def listed(log: EventLog, view: str, known: MutableMapping[str, CallFacts] | None = None) -> Listed:
    """Read a view: what is open (the soonest to run out first), what was settled, or every change.

    Args:
        known: calls that were read before; those that are read now are added.
    """
    store, doubtful = MutationStore(log), in_doubt(log)
    escalations = Escalations(log).page(limit=0)
    unclear = {intent.reverses for intent in doubtful}

    def under_way(mutation_id: str) -> bool:
        return store.number(mutation_id) not in unclear

    if view == CHANGES_VIEW:
        items = [
            Item(
                ref,
                3 * store.number(ref.mutation_id),
                ref.state is MutationState.REVERSING and under_way(ref.mutation_id),
            )
            for ref in store.newest(limit=MOST_ITEMS)
        ]
    elif view == SETTLED_VIEW:
        recent = Escalations(log).page(everything=True, limit=MOST_ITEMS + len(escalations))
        settled = [escalation for escalation in recent if escalation.state not in UNSETTLED][:MOST_ITEMS]
        items = [Item(escalation, 3 * escalation.number + 1) for escalation in settled]
    else:
        items = [
            Item(
                escalation,
                3 * escalation.number + 1,
                escalation.state is EscalationState.IN_DOUBT and under_way(escalation.mutation_id),
            )
            for escalation in escalations
        ]
        items += [Item(intent, 3 * intent.id + 2) for intent in doubtful]
        items = sorted(items, key=_urgency)[:MOST_ITEMS]
    rows = log.database.query("SELECT (SELECT count(*) FROM escalations), (SELECT count(*) FROM mutations)")
    counts = {
        OPEN_VIEW: len(escalations) + len(doubtful),
        SETTLED_VIEW: rows[0][0] - len(escalations),
        CHANGES_VIEW: rows[0][1],
    }
    return Listed(view, _described(log, items, known if known is not None else {}), counts)


def _described(log: EventLog, items: Sequence[Item], known: MutableMapping[str, CallFacts]) -> list[Item]:
    """The same with their calls and projects."""
    origins = call_origins(log, {item.about.run_id for item in items})
    for item in items:
        if item.about.call_id not in known:
            known[item.about.call_id] = call_facts(log, item.about)
    return [
        replace(
            item,
            call=known[item.about.call_id],
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


def _urgency(item: Item) -> tuple[int, int]:
    if item.decidable:
        return 0, item.ends_at or 0
    standing = item.about.state if isinstance(item.about, Escalation) else EscalationState.IN_DOUBT
    return (_ORDER.index(standing) if standing in _ORDER else len(_ORDER)), -item.key


def located(log: EventLog, reference: str) -> Listed:
    """The first view that shows what has this id; without items when none does."""
    for view in VIEWS:
        found = listed(log, view)
        if any(item.known_as(reference) for item in found.items):
            return found
    return Listed()


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
