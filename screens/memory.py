"""The Memory screen: memories and suggestions, and changing them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from sb.screens.actions import LISTS, PANELS, RECORDS, Action, bindings
from sb.screens.deciding import Deciding
from sb.screens.document_view import DocumentView
from sb.screens.panel import Panel
from sb.screens.row_list import RowList
from sb.screens.searching import SEARCHING, Searching
from sb.screens.state.memory import (
    FILTER_HINT,
    VIEW_NAMES,
    MemorySearch,
    Ranking,
    change,
    memory_rows,
    question,
    ranked,
    read_records,
    view_counts,
)
from sb.screens.tab_view import TabView
from textual import on
from textual.timer import Timer
from textual.widget import Widget

from sb.base.sources import MICROSECONDS
from sb.kernel.authority.signing import Decider
from sb.log.event import Subject
from sb.memory.allowed_changes import allows
from sb.present.memories import MEMORY, Record

if TYPE_CHECKING:
    from sb.screens.state.kills import Pointed
    from sb.screens.state.memory_record import MemoryRecord

EMPTY = "No memories yet. What agents save appears here.\n\nsb memory remember TEXT saves one."
NO_HIT = "No memories match.\n\nesc clears the filter."
MOST_MARKED = 500
# By actions; of several the first that can be done.
VERBS = {
    "approve": ("accept",),
    "deny": ("dismiss",),
    "take_away": ("forget",),
    "undo": ("recover",),
    "protect": ("protect", "release"),
}
RANK_AFTER_S = 0.15  # after the filter's own pause


class MemoryScreen(Searching, Deciding, TabView):
    """All that is remembered, and the memory under the cursor in full."""

    name_ = "memory"
    parts = ("memory", LISTS, RECORDS, PANELS)
    heading = "Memory"
    failure = "not changed"
    BINDINGS = bindings("memory")

    def __init__(self) -> None:
        super().__init__()
        self.search: MemorySearch = MemorySearch()
        self.found: MemoryRecord | None = None  # the memory under the cursor, once it was read
        self._shown: tuple[int | None, str] = None, ""
        self._pause: Timer | None = None
        self._wanted_number: int | None = None  # for the cursor, once it is in the list
        self._at_top = False  # whether the cursor goes to the first line with what is shown next

    def body(self) -> Iterable[Widget]:
        yield self.split(
            self.views_panel(self.filter_box(FILTER_HINT), RowList(MEMORY.columns["list"], id="memories")),
            Panel(DocumentView(id="memory"), views=VIEW_NAMES, id="about"),
        )

    @property
    def rows(self) -> RowList:
        return self.query_one("#memories", RowList)

    def new_search(self, text: str) -> MemorySearch:
        return MemorySearch(text, int(self.records.clock.now() * MICROSECONDS))

    def show_found(self, notice: str) -> None:
        self.rows.put(self.search.headings())
        self.rows.show(self.search.arranged(), notice or NO_HIT if self.search.text else EMPTY)
        if self._at_top:
            self._at_top = False
            self.rows.action_first()
        if self._wanted_number is not None and self._wanted_number in self.rows.listing.keys:
            self.rows.select(self._wanted_number)
            self._wanted_number = None
        if not notice:
            self._read_chosen()

    def filter_changed(self) -> None:
        super().filter_changed()
        self._at_top = True
        self._rank_later()

    def _rank_later(self) -> None:
        """Rank once nothing was typed for a while."""
        if self._pause is not None:
            self._pause.stop()
        self._pause = self.set_timer(RANK_AFTER_S, self._rank) if self.search.wanted.words else None

    def _rank(self) -> None:
        search = self.search

        def work() -> Ranking:
            return ranked(self.records.memory("ranking"), search.wanted)

        def done(ranking: Ranking) -> None:
            if search is self.search:
                search.ranking = ranking
                self._at_top = not self.rows.has_focus
                self.show_found("" if search.hits.complete else SEARCHING)
                self.show_status()

        self.read("ranking", work, done)

    def refresh_records(self) -> None:
        super().refresh_records()

        def done(counts: dict[str, int]) -> None:
            self.console_app.view_counts.update(counts)
            self.show_status()

        self.read("counts", lambda: view_counts(self.records), done)

    def action_refresh(self) -> None:
        super().action_refresh()
        if self.search.wanted.words:
            self._rank()

    @on(RowList.Wanted)
    def _wanted(self, message: RowList.Wanted) -> None:
        numbers = [key for key in message.keys if key > 0]
        words = self.search.wanted.words
        self.read("rows", lambda: memory_rows(self.records.log(), numbers, words), self.rows.put)

    @on(RowList.Highlighted)
    def _highlighted(self, message: RowList.Highlighted) -> None:
        self._read_chosen()

    @property
    def current(self) -> Record | None:
        """The memory under the cursor, once it was read."""
        return self.found.row if self.found else None

    def _read_chosen(self) -> None:
        number = self.rows.listing.current

        def work() -> MemoryRecord | None:
            from sb.screens.state.memory_record import memory_record  # with what makes vectors

            if number is None or number < 0:
                return None
            return memory_record(self.records.memory("detail"), number)

        def done(found: MemoryRecord | None) -> None:
            if number == self.rows.listing.current:
                self.found = found
                self._show_detail()

        self.read("detail", work, done)

    def _show_detail(self) -> None:
        panel, found = self.query_one("#about", Panel), self.found
        shown = (found.row["id"] if found else None), panel.view
        document = found.views[panel.view] if found else ()
        panel.count(found.counts if found else {})
        self.query_one(DocumentView).show(document, same_record=shown == self._shown)
        self._shown = shown

    @on(Panel.Viewed, "#about")
    def _another_view(self) -> None:
        self._show_detail()

    @on(RowList.Opened)
    def _opened(self, message: RowList.Opened) -> None:
        self.focus_on(self.query_one(DocumentView))

    def find(self, uid: str) -> None:
        """Put the cursor on a memory, among all of them."""
        self.close_filter()
        self.read("find", lambda: self.records.memory("detail").space.records.find(uid), self._found)

    def _found(self, record: Record | None) -> None:
        if record is None:
            self.console_app.say("there is no such memory")
        else:
            self._wanted_number = record["id"]
            self.refresh_records()

    def start_over(self) -> None:
        super().start_over()
        self.found = None

    def pointed_at(self) -> Pointed:
        return Subject(agent=self.current["agent"]) if self.current else None

    def summary(self) -> str:
        marked = f"{len(self.rows.listing.marked)} marked" if self.rows.listing.marked else ""
        return " · ".join(filter(None, (marked, self.search.summary() if self.search.text else "")))

    def show_title(self) -> None:
        self.console_app.view_counts["memory"] = self.search.hits.total
        super().show_title()

    def action_mark(self) -> None:
        self.rows.mark()
        self.show_status()

    def action_mark_all(self) -> None:
        """Mark all that match the filter, or take the marks away again."""
        found = set(self.search.hits.keys[:MOST_MARKED])
        marked = self.rows.listing.marked
        if found <= marked:
            marked.clear()
        else:
            marked |= found
        self.rows.refresh()
        self.show_status()

    def possible(self, action: Action) -> bool:
        if action.id in VERBS and not self.rows.listing.marked:
            return self.current is not None and any(allows(self.current, verb) for verb in VERBS[action.id])
        return super().possible(action)

    def _change(self, *verbs: str) -> None:
        """Ask for the first of these that can be done with what is marked, or what the cursor is on."""
        listing = self.rows.listing
        numbers = sorted(listing.marked) or ([listing.current] if listing.current else [])
        self.prepare(lambda: read_records(self.records.log(), numbers), partial(self._ask_first, verbs))

    def _ask_first(self, verbs: Sequence[str], chosen: Sequence[Record]) -> None:
        for verb in verbs:
            records = [record for record in chosen if allows(record, verb)]
            if records:
                self.ask(question(verb, records), records, partial(self._act, verb))
                return
        self.console_app.say(f"nothing to {verbs[0]} here")

    def _act(self, verb: str, record: Record, by: Decider, reason: str) -> str:
        return change(self.records, verb, record, by, reason)

    def action_approve(self) -> None:
        self._change(*VERBS["approve"])

    def action_deny(self) -> None:
        self._change(*VERBS["deny"])

    def action_take_away(self) -> None:
        self._change(*VERBS["take_away"])

    def action_undo(self) -> None:
        self._change(*VERBS["undo"])

    def action_protect(self) -> None:
        self._change(*VERBS["protect"])
