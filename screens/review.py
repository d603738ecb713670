"""The review view of Memory: conflicts, quarantined memories, suggestions and triggers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from sb.screens.actions import DECIDE, LISTS, PANELS, RECORDS, Action, bindings
from sb.screens.document_view import DocumentView
from sb.screens.panel import Panel
from sb.screens.row_list import RowList
from sb.screens.state.listing import row_of
from sb.screens.state.memory import change, question
from sb.screens.state.review import (
    BOTH,
    LOCAL,
    REMOTE,
    Reviewed,
    conflict_question,
    decide_quarantine,
    quarantine_question,
    resolve,
    reviewed,
    versions,
)
from sb.screens.tab_view import ListView
from sb.screens.waiting import Waiting
from textual import on
from textual.widget import Widget

from sb.base.sources import MICROSECONDS
from sb.kernel.authority.signing import Decider
from sb.log.event import Subject
from sb.present.memories import REVIEW, Record
from sb.stack.review_queue import ReviewItem, ReviewKind

if TYPE_CHECKING:
    from sb.screens.state.kills import Pointed

EMPTY = "Nothing to review.\n\nConflicts between copies, quarantined memories and suggestions appear here."
_DECIDED = (ReviewKind.CONFLICT, ReviewKind.QUARANTINE, ReviewKind.SUGGESTED)


class ReviewScreen(ListView[ReviewItem], Waiting):
    """Review: memory items that wait, kind by kind, the one under the cursor in full."""

    name_ = "review"
    parts = ("review", LISTS, RECORDS, PANELS)
    heading = "Memory"
    failure = "not changed"
    gone = "that was decided meanwhile"
    BINDINGS = bindings("review")

    def __init__(self) -> None:
        super().__init__()
        self.chosen = LOCAL  # of a conflict's two versions
        self._found: Reviewed | None = None
        self._shown: tuple[int | None, str] = None, ""

    def body(self) -> Iterable[Widget]:
        yield self.split(
            self.views_panel(RowList(REVIEW.columns["list"], id="items")),
            Panel(DocumentView(id="item"), title="Item"),
        )

    def waiting(self) -> Sequence[int]:
        return [key for key, item in self.known.items() if item.kind is not ReviewKind.TRIGGER]

    def refresh_records(self) -> None:
        def work() -> list[ReviewItem]:
            with self.records.review() as queue:
                return queue.items()

        self.read("review", work, self._show)

    def _show(self, items: Sequence[ReviewItem]) -> None:
        self.keep(items, [(item.kind, item.reference) for item in items])
        now = int(self.records.clock.now() * MICROSECONDS)
        self.rows.put({key: row_of(REVIEW, item, now) for key, item in self.known.items()})
        self.rows.show(list(self.known), EMPTY)
        self.move_on()
        self.go_to_wanted([item.reference for item in items])
        self._read_chosen()
        self.show_status()

    @on(RowList.Highlighted)
    def _highlighted(self, message: RowList.Highlighted) -> None:
        self.chosen = LOCAL
        self._read_chosen()

    def _read_chosen(self) -> None:
        item = self.current

        def done(found: Reviewed | None) -> None:
            if item == self.current:
                self._found = found
                self._show_detail()

        self.read("detail", lambda: reviewed(self.records, item) if item else None, done)

    def _show_detail(self) -> None:
        found = self._found
        shown = self.rows.listing.current, self.chosen
        self.query_one("Split > Panel:last-child", Panel).retitle(
            str(found.item.kind).capitalize() if found else "Item"
        )
        self.query_one(DocumentView).show(
            versions(found, self.chosen) if found else (), same_record=shown == self._shown
        )
        self._shown = shown

    def start_over(self) -> None:
        self.known, self._found = {}, None
        self.rows.start_over()

    def pointed_at(self) -> Pointed:
        return Subject(agent=self.current.record["agent"]) if self.current else None

    def possible(self, action: Action) -> bool:
        if action.group == DECIDE and action.id in ("approve", "deny"):
            return self.current is not None and self.current.kind in _DECIDED
        if action.id == "choose":
            return self.current is not None and self.current.kind is ReviewKind.CONFLICT
        return super().possible(action)

    def summary(self) -> str:
        marked = len(self.rows.listing.marked)
        return f"{marked} marked" if marked else ""

    def action_choose(self) -> None:
        """Choose the other version of a conflict."""
        if self._found is not None and self._found.conflict is not None:
            self.chosen = REMOTE if self.chosen == LOCAL else LOCAL
            self._show_detail()

    def action_approve(self) -> None:
        self._answer("accept", self.chosen)

    def action_deny(self) -> None:
        self._answer("dismiss", BOTH)

    def _answer(self, verb: str, keep: str) -> None:
        """Accept or dismiss the marked suggestions, release or purge what is quarantined, or resolve a conflict."""
        marked, item = self.rows.listing.marked, self.current
        chosen = [self.known[key] for key in sorted(marked)] if marked else [item] if item else []
        records = [entry.record for entry in chosen if entry.kind is ReviewKind.SUGGESTED]
        quarantined = [entry for entry in chosen if entry.kind is ReviewKind.QUARANTINE]
        if quarantined and not records:
            which = "release" if verb == "accept" else "purge"
            self.ask(quarantine_question(quarantined, which), quarantined, partial(self._review_held, which))
        elif records:
            self.ask(question(verb, records), records, partial(self._change, verb))
        elif item is None or item.kind not in _DECIDED:
            self.console_app.say(f"nothing to {verb} here")
        elif self._found is None or self._found.item != item:
            self.console_app.say("wait: the two versions are still being read")
        elif self._found.conflict is None:
            self.console_app.say("nothing to keep here")
        else:
            self.ask(conflict_question(self._found, keep), [item], partial(self._resolve, keep))

    def _change(self, verb: str, record: Record, by: Decider, reason: str) -> str:
        return change(self.records, verb, record, by.name, reason)

    def _review_held(self, verb: str, item: ReviewItem, by: Decider, reason: str) -> str:
        return decide_quarantine(self.records, verb, item, by, reason)

    def _resolve(self, keep: str, item: ReviewItem, by: Decider, reason: str) -> str:
        return resolve(self.records, item, keep, by.name, reason)
