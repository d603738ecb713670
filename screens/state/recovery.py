"""Reversals, calls with unknown outcomes and undo records as rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sb.screens.state.listing import WIDE, Column, Row

from sb.kernel.calls.intents import Intent, Intents
from sb.kernel.calls.mutations import MutationStore
from sb.kernel.recovery.escalations import Escalation, Escalations, EscalationState
from sb.kernel.reversal_contracts import MutationRef, MutationState
from sb.log.event_log import EventLog
from sb.present import recovery
from sb.present.recovery import NO_UNDO, UNDECIDED, UNKNOWN

RECOVERY_COLUMNS = (
    Column("state", 11),
    Column("left", 8),
    Column("agent", 12),
    Column("tool", 16),
    Column("since (UTC)", 14, least=WIDE),
    Column("why"),
)
OPEN_VIEW, ALL_VIEW, CHANGES_VIEW = "open", "all", "changes"
VIEWS = (OPEN_VIEW, ALL_VIEW, CHANGES_VIEW)
MOST_ITEMS = 200
_ORDER = (
    *UNDECIDED,
    EscalationState.IN_DOUBT,
    EscalationState.FAILED,
    EscalationState.NO_WAY_BACK,
    EscalationState.EXPIRED,
)
_TONES = {
    "waiting": "warn",
    "approved": "warn",
    UNKNOWN: "warn",
    "failed": "error",
    NO_UNDO: "error",
    "expired": "error",
    "reversed": "ok",
    "dismissed": "muted",
    "too late": "muted",
}


@dataclass(frozen=True)
class Item:
    """One line: an escalation, a call in doubt, or what a call changed.

    Args:
        key: names it in a list of all three kinds.
        under_way: its reversal is being performed now.
    """

    key: int
    about: Escalation | Intent | MutationRef
    under_way: bool = False

    @property
    def name(self) -> str:
        """Its id."""
        return recovery.name_of(self.about)

    @property
    def mutation_id(self) -> str:
        """Of what could be undone; "" for none."""
        return "" if isinstance(self.about, Intent) else self.about.mutation_id

    @property
    def decidable(self) -> Escalation | None:
        """The escalation, while a person may agree to its reversal or has and it was not performed."""
        about = self.about
        return about if isinstance(about, Escalation) and about.state in UNDECIDED else None

    @property
    def ends_at(self) -> int | None:
        """When it is too late, in microseconds since the epoch; None where nothing runs out."""
        return recovery.ends_at(self.about)

    def known_as(self, reference: str) -> bool:
        """Whether this is an id of it, or of the call, the approval or the mutation that it is about."""
        names = {self.name, self.mutation_id, self.about.call_id}
        if isinstance(self.about, Escalation):
            names.add(self.about.approval_id)
        return bool(reference) and reference in names


@dataclass(frozen=True)
class Listed:
    """What a view shows.

    Args:
        items: at most MOST_ITEMS, what a person has to look at first.
        total: how many there are, as far as that was counted.
    """

    view: str = OPEN_VIEW
    items: Sequence[Item] = ()
    total: int = 0


def listed(log: EventLog, view: str) -> Listed:
    """Read a view: what is open (the soonest to run out first), that and what is settled, or every change."""
    store, doubtful = MutationStore(log), Intents(log).in_doubt()
    unclear = {intent.reverses for intent in doubtful}

    def under_way(mutation_id: str) -> bool:
        return store.number(mutation_id) not in unclear

    if view == CHANGES_VIEW:
        items = [
            Item(
                3 * store.number(ref.mutation_id),
                ref,
                ref.state is MutationState.REVERSING and under_way(ref.mutation_id),
            )
            for ref in store.newest(limit=MOST_ITEMS)
        ]
        return Listed(view, items, len(items))
    everything = view == ALL_VIEW
    found = Escalations(log).page(everything=everything, limit=MOST_ITEMS if everything else 0)
    items = [
        Item(3 * one.number + 1, one, one.state is EscalationState.IN_DOUBT and under_way(one.mutation_id))
        for one in found
    ]
    items += [Item(3 * intent.id + 2, intent) for intent in doubtful]
    items.sort(key=_urgency)
    return Listed(view, items[:MOST_ITEMS], len(items))


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


def state_word(item: Item, now: int) -> str:
    """Its state; `now` in microseconds since the epoch."""
    return recovery.state_word(item.about, now, under_way=item.under_way)


def recovery_row(item: Item, now: int) -> Row:
    line, word = recovery.recovery_line(item.about, now, under_way=item.under_way), state_word(item, now)
    cells = (line.state, line.left, line.agent, line.tool, line.since, line.why)
    changed = isinstance(item.about, MutationRef) and word in (NO_UNDO, "reversed")
    return Row(cells, "muted" if changed else _TONES.get(word, ""))
